//! Which tasks of a large dag are drawn as one: first by kind, then by what ties, hides or passes on, at last by size.
//! Knows nothing of drawing, nor what a group is called.

use crate::absorb::absorb;
use crate::budgets::groups::MERGEABLE;
use crate::fewer::{Enough, fewer};
use crate::inside;
use crate::kinds::{KindId, Kinds};
use crate::knots::untangle;
use crate::partition::Parts;
use crate::phases::phases;
use crate::ties::ties;
use cairn_dag::{Dag, narrow, wide};

/// A kind cut into more phases than this says little about where a task stands.
// Chosen by eye, as those below, when Montage and a build of 25,149 tasks were drawn.
const LOOSE: usize = 4;
/// Circles of kinds are cut into waves where there are at least so many tasks for each kind.
// By eye: with fewer, a circle of kinds is a tangle of some tasks, and waves of it would hold one or two each.
const PER_KIND: usize = 20;
/// How much more a task weighs than one of a kind that says little, when groups are merged.
// By eye: so much that a kind which says something is merged away only when hardly anything else is left.
const SOLID: usize = 8;

/// Items (tasks, or a few tasks that belong together), the parts that the items are in, and the kinds that say little.
pub(crate) fn grouped(dag: &Dag, kinds: &Kinds, most: usize) -> (Parts, Parts, Vec<bool>) {
    let parts = phases(dag, &kinds.of, kinds.names.len());
    let loose = loose_kinds(&parts, &kinds.of, kinds.names.len());
    let mut now = Grouping {
        units: Parts::singles(dag.len()),
        dag: dag.clone(),
        kind: kinds.of.clone(),
        parts,
        loose,
    };
    let mut enough = Enough {
        most,
        least: 0,
        few: most / 2,
    };
    if now.parts.count > most {
        now.tie(dag, kinds);
    }
    // Where there are hardly more tasks than kinds, kinds are too telling to be taken apart.
    if now.parts.count > most && dag.len() >= PER_KIND * kinds.names.len() && now.take_waves(most) {
        // Many kinds in circles leave crumbs, which tell nothing.
        // A four-hundredth of the tasks: with 48 boxes such a crumb is a tenth of a fair share.
        enough.least = SOLID * dag.len() / 400;
    }
    if now.parts.count > most && now.loose.contains(&true) && now.loose.contains(&false) {
        now.absorb_loose(kinds);
    }
    let hiding = inside::hiding(&now.dag, &now.parts);
    if now.parts.count < most && hiding.contains(&true) {
        now.open(&hiding, most);
    }
    if now.parts.count > MERGEABLE {
        now.band(kinds, most);
    }
    if now.parts.count > most || enough.least > 0 {
        now.merge(kinds, enough);
    }
    (now.units, now.parts, now.loose)
}

/// A grouping in the making.
struct Grouping {
    /// Tasks that became items.
    units: Parts,
    /// The dag of the items.
    dag: Dag,
    /// By item: its kind.
    kind: Vec<KindId>,
    /// Items that became parts.
    parts: Parts,
    /// By kind: whether it says little.
    loose: Vec<bool>,
}

impl Grouping {
    /// Tasks that belong together become one item.
    fn tie(&mut self, dag: &Dag, kinds: &Kinds) {
        self.units = ties(&self.dag, &self.kind, kinds.names.len());
        self.dag = self.units.quotient(dag).expect("ties close no circle");
        // The last task of a unit is what the others are for.
        let mut of_unit = vec![KindId::default(); self.units.count];
        for &task in dag.topological_order() {
            of_unit[wide(self.units.of[task.index()])] = self.kind[task.index()];
        }
        self.kind = of_unit;
        self.parts = phases(&self.dag, &self.kind, kinds.names.len());
        // A kind that was mostly tied away stays what it was.
        let now_loose = loose_kinds(&self.parts, &self.kind, kinds.names.len());
        let (tasks, left) = (kinds.counts(), kinds.counts_in(&self.kind));
        for k in (0..kinds.names.len()).filter(|&k| 2 * left[k] > tasks[k]) {
            self.loose[k] = now_loose[k];
        }
    }

    /// Circles of kinds are cut into waves, unless that mixes too much; says whether they are.
    fn take_waves(&mut self, most: usize) -> bool {
        let waves = untangle(&self.dag, &self.kind, most);
        let is_better = 2 * largest_mixture(&waves, &self.kind) <= self.dag.len();
        if is_better {
            self.loose.fill(false);
            self.parts = waves;
        }
        is_better
    }

    /// Items of kinds that say little go to those that they serve.
    fn absorb_loose(&mut self, kinds: &Kinds) {
        let is_loose: Vec<bool> = self.kind.iter().map(|&k| self.loose[k.index()]).collect();
        let hosts = absorb(&self.dag, &is_loose);
        // The kind of a unit is that of its one item that is not loose, if there is one.
        let mut of_unit = vec![None; hosts.count];
        for (item, &unit) in hosts.of.iter().enumerate() {
            let slot = &mut of_unit[wide(unit)];
            if slot.is_none() || !is_loose[item] {
                *slot = Some(self.kind[item]);
            }
        }
        self.dag = hosts
            .quotient(&self.dag)
            .expect("only arcs that close no circle are contracted");
        self.units = self.units.then(&hosts);
        self.kind = of_unit
            .into_iter()
            .map(|k| k.expect("no item is empty"))
            .collect();
        self.parts = phases(&self.dag, &self.kind, kinds.names.len());
    }

    /// Parts that hide what is inside are opened, as far as there is room.
    fn open(&mut self, hiding: &[bool], most: usize) {
        let chains = inside::chains(&self.dag, &self.parts, hiding);
        self.parts = on_parts(&chains, &self.parts);
        self.dag = chains.quotient(&self.dag).expect("chains close no circle");
        self.units = self.units.then(&chains);
        self.parts = inside::open(&self.dag, &self.parts, hiding, most);
        self.kind = firsts(&chains, &self.kind);
    }

    /// Far too many parts are cut down by kinds and levels.
    fn band(&mut self, kinds: &Kinds, most: usize) {
        // Half of the room for kinds, half for levels.
        let few = kinds.commonest(most / 2);
        let depth = self.dag.levels();
        let kind = firsts(&self.units, &few.of);
        let all = depth.depth();
        let per_band = narrow(all.div_ceil(2 * most));
        self.parts = Parts::by_key((0..self.dag.len()).map(|u| {
            let band = depth.as_slice()[u] / per_band.max(1);
            // Within a band only tasks of one depth have no arcs between them.
            let kind = (per_band <= 1).then(|| kind[u]);
            (band, kind)
        }));
    }

    /// Parts are merged one by one until there are few enough.
    fn merge(&mut self, kinds: &Kinds, enough: Enough) {
        let parts = &self.parts;
        let small = parts
            .quotient(&self.dag)
            .expect("parts wait for each other in no circle");
        let mut weight = vec![0usize; parts.count];
        for (&unit, &kind) in self.units.of.iter().zip(&kinds.of) {
            // Tasks of loose kinds are merged before others.
            let is_loose = self.loose[kind.index()];
            weight[wide(parts.of[wide(unit)])] += if is_loose { 1 } else { SOLID };
        }
        // Of one kind, or of several.
        let mut kind_of = vec![None; parts.count];
        let mut seen = vec![false; parts.count];
        for (&part, &kind) in parts.of.iter().zip(&self.kind) {
            let slot = &mut kind_of[wide(part)];
            let is_first = !std::mem::replace(&mut seen[wide(part)], true);
            *slot = (is_first || *slot == Some(kind)).then_some(kind);
        }
        let arcs = parts.arcs_between(&self.dag);
        let merged = fewer(&small, &weight, &kind_of, &arcs, enough);
        self.parts = parts.then(&merged);
    }
}

/// The size of the largest part of several kinds.
fn largest_mixture(parts: &Parts, kind: &[KindId]) -> usize {
    let mut sizes: Vec<(usize, Option<KindId>, bool)> = vec![(0, None, false); parts.count];
    for (&part, &kind) in parts.of.iter().zip(kind) {
        let (size, first, mixed) = &mut sizes[wide(part)];
        *size += 1;
        *mixed |= *first.get_or_insert(kind) != kind;
    }
    let mixed = sizes.iter().filter(|(_, _, mixed)| *mixed);
    mixed.map(|&(size, _, _)| size).max().unwrap_or(0)
}

/// Kinds whose tasks are spread over many phases.
fn loose_kinds(parts: &Parts, kind: &[KindId], kinds: usize) -> Vec<bool> {
    let mut seen = vec![false; parts.count];
    let mut phases = vec![0; kinds];
    for (&part, &kind) in parts.of.iter().zip(kind) {
        phases[kind.index()] += usize::from(!std::mem::replace(&mut seen[wide(part)], true));
    }
    phases.iter().map(|&p| p > LOOSE).collect()
}

/// The parts of `units` when each of them lies in one part of `parts`.
fn on_parts(units: &Parts, parts: &Parts) -> Parts {
    Parts::by_key(firsts(units, &parts.of).into_iter())
}

/// What stands at the first item of each unit.
fn firsts<T: Copy>(units: &Parts, of: &[T]) -> Vec<T> {
    let mut first = vec![None; units.count];
    for (&unit, &what) in units.of.iter().zip(of) {
        first[wide(unit)].get_or_insert(what);
    }
    first
        .into_iter()
        .map(|what| what.expect("no unit is empty"))
        .collect()
}
