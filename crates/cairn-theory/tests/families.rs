//! Meshes, trees and FFT dags: every statement of [RY05] against brute force, with its corrections.

mod optimality;
mod subsets;

use cairn_dag::{Dag, TaskId};
use cairn_oracle::{best_profile, ic_optimal_order};
use cairn_theory::families::{
    EvolvingMesh, Family, FamilyError, Fft, OutTree, ReductionMesh, ReductionTree,
};
use cairn_theory::memory::memory_cost;
use optimality::Optimum;
use std::collections::{BTreeMap, HashMap};
use subsets::Random;

// ---- Dags by coordinates, independent of the formulas under test. ----

fn evolving_mesh(levels: u32) -> Dag {
    let number = |x: u32, y: u32| (x + y) * (x + y + 1) / 2 + x;
    let mut arcs = Vec::new();
    for x in 0..levels {
        for y in 0..levels - x {
            if x + y + 1 < levels {
                arcs.push((number(x, y), number(x + 1, y)));
                arcs.push((number(x, y), number(x, y + 1)));
            }
        }
    }
    Dag::from_arcs((levels * (levels + 1) / 2) as usize, arcs).unwrap()
}

fn reversed(dag: &Dag) -> Dag {
    let arcs = dag.arcs().map(|(u, v)| (v.0, u.0)).collect();
    Dag::from_arcs(dag.len(), arcs).unwrap()
}

fn reduction_mesh(levels: u32) -> Dag {
    reversed(&evolving_mesh(levels))
}

fn out_tree(arity: u32, height: u32) -> Dag {
    let mut arcs = Vec::new();
    let mut level = vec![0u32];
    let mut next = 1;
    for _ in 0..height {
        let mut below = Vec::new();
        for node in level {
            for _ in 0..arity {
                arcs.push((node, next));
                below.push(next);
                next += 1;
            }
        }
        level = below;
    }
    Dag::from_arcs(next as usize, arcs).unwrap()
}

fn fft(d: u32) -> Dag {
    let number = |l: u32, x: u32| (d - l) * (1 << d) + x;
    let mut arcs = Vec::new();
    for l in 1..=d {
        for x in 0..1 << d {
            arcs.push((number(l, x), number(l - 1, x)));
            arcs.push((number(l, x), number(l - 1, x ^ 1 << (l - 1))));
        }
    }
    Dag::from_arcs(((d + 1) << d) as usize, arcs).unwrap()
}

/// A random full binary tree, every task but the leaves with two parents.
fn random_tree(random: &mut Random, leaves: usize) -> Dag {
    let mut tips = vec![0u32];
    let mut arcs = Vec::new();
    let mut next = 1;
    while tips.len() < leaves {
        let child = tips.swap_remove(random.below(tips.len()));
        arcs.extend([(next, child), (next + 1, child)]);
        tips.extend([next, next + 1]);
        next += 2;
    }
    let label = random.permutation(next as usize);
    let arcs = arcs
        .iter()
        .map(|&(u, v)| (label[u as usize], label[v as usize]));
    Dag::from_arcs(next as usize, arcs.collect()).unwrap()
}

// ---- Brute force over ideals as bit masks, for up to 64 tasks. ----

struct Masks {
    tasks: usize,
    parents: Vec<u64>,
    children: Vec<u64>,
}

impl Masks {
    fn new(dag: &Dag) -> Masks {
        let mask = |row: &[TaskId]| row.iter().map(|t| 1u64 << t.0).sum();
        Masks {
            tasks: dag.len(),
            parents: dag.tasks().map(|t| mask(dag.parents(t))).collect(),
            children: dag.tasks().map(|t| mask(dag.children(t))).collect(),
        }
    }

    fn eligible(&self, ideal: u64) -> impl Iterator<Item = usize> + '_ {
        (0..self.tasks).filter(move |&t| ideal >> t & 1 == 0 && self.parents[t] & !ideal == 0)
    }

    fn memory(&self, ideal: u64) -> usize {
        (0..self.tasks)
            .filter(|&t| ideal >> t & 1 == 1 && self.children[t] & !ideal != 0)
            .count()
    }

    /// Over all schedules that keep to ideals with `keep(ideal)`: how many there are, and the least and the largest
    /// memory cost.
    fn schedules(&self, keep: impl Fn(u64) -> bool) -> (u64, usize, usize) {
        let mut layer = HashMap::from([(0u64, (1u64, 0, 0))]);
        for _ in 0..self.tasks {
            let mut next: HashMap<u64, (u64, usize, usize)> = HashMap::new();
            for (&ideal, &(ways, least, most)) in &layer {
                for task in self.eligible(ideal) {
                    let grown = ideal | 1 << task;
                    if !keep(grown) {
                        continue;
                    }
                    let memory = self.memory(grown);
                    let entry = next.entry(grown).or_insert((0, usize::MAX, 0));
                    entry.0 += ways;
                    entry.1 = entry.1.min(least.max(memory));
                    entry.2 = entry.2.max(most.max(memory));
                }
            }
            layer = next;
        }
        layer.into_values().next().unwrap_or((0, usize::MAX, 0))
    }

    /// The same over IC-optimal schedules.
    fn optimal_schedules(&self, best: &[u32]) -> (u64, usize, usize) {
        self.schedules(|ideal| {
            self.eligible(ideal).count() as u32 == best[ideal.count_ones() as usize]
        })
    }

    /// Calls `visit` with every ideal.
    fn ideals(&self, mut visit: impl FnMut(u64)) {
        let mut layer = std::collections::BTreeSet::from([0u64]);
        for _ in 0..=self.tasks {
            layer.iter().for_each(|&ideal| visit(ideal));
            layer = layer
                .iter()
                .flat_map(|&ideal| self.eligible(ideal).map(move |t| ideal | 1 << t))
                .collect();
        }
    }
}

/// Calls `visit` with every schedule of a dag.
fn all_schedules(dag: &Dag, mut visit: impl FnMut(&[u64])) {
    let masks = Masks::new(dag);
    let mut order: Vec<u64> = Vec::new();
    fn go(masks: &Masks, ideal: u64, order: &mut Vec<u64>, visit: &mut impl FnMut(&[u64])) {
        if order.len() == masks.tasks {
            visit(order);
        }
        for task in masks.eligible(ideal) {
            order.push(task as u64);
            go(masks, ideal | 1 << task, order, visit);
            order.pop();
        }
    }
    go(&masks, 0, &mut order, &mut visit);
}

fn tasks(order: &[u64]) -> Vec<TaskId> {
    order.iter().map(|&t| TaskId(t as u32)).collect()
}

/// Eligible tasks after every step; checks that the order is a schedule. Linear, for large dags.
fn profile(dag: &Dag, order: &[TaskId]) -> Vec<u64> {
    let mut waiting: Vec<usize> = dag.tasks().map(|t| dag.parents(t).len()).collect();
    let mut executed = vec![false; dag.len()];
    let mut eligible = dag.sources().count() as u64;
    let mut out = vec![eligible];
    for &task in order {
        assert_eq!(waiting[task.index()], 0, "{task:?} is not eligible");
        assert!(!std::mem::replace(&mut executed[task.index()], true));
        eligible -= 1;
        for &child in dag.children(task) {
            waiting[child.index()] -= 1;
            eligible += u64::from(waiting[child.index()] == 0);
        }
        out.push(eligible);
    }
    assert_eq!(order.len(), dag.len());
    out
}

/// A family member as a stored dag.
fn materialise(family: &impl Family) -> Dag {
    let tasks = family.task_count().unwrap();
    let arcs = (0..tasks).flat_map(|task| {
        let parents = family.parents(task);
        parents.map(move |p| (p as u32, task as u32))
    });
    Dag::from_arcs(tasks as usize, arcs.collect()).unwrap()
}

/// Parents, children, level, order and profile of an implicit family against a dag built by coordinates.
fn check_family(family: &impl Optimum, dag: &Dag, level: impl Fn(u64) -> u64) {
    assert_eq!(family.task_count(), Some(dag.len() as u64));
    assert_eq!(materialise(family), *dag);
    for task in dag.tasks() {
        let children: Vec<u64> = family.children(u64::from(task.0)).collect();
        assert_eq!(tasks(&children), dag.children(task));
        assert_eq!(family.level(u64::from(task.0)), level(u64::from(task.0)));
    }
    let order: Vec<u64> = family.order().collect();
    let got = profile(dag, &tasks(&order));
    let formula: Vec<u64> = (0..got.len() as u64)
        .map(|t| family.best_eligible(t))
        .collect();
    assert_eq!(got, formula);
    assert_eq!(family.best_eligible(got.len() as u64), 0);
    if dag.len() <= 16 {
        let best: Vec<u64> = best_profile(dag).into_iter().map(u64::from).collect();
        assert_eq!(got, best);
    }
}

fn mesh_level(task: u64) -> u64 {
    (0..).find(|l| (l + 1) * (l + 2) / 2 > task).unwrap()
}

#[test]
fn formulas_and_orders_of_meshes() {
    for levels in (1..=12).chain([40]) {
        let evolving = EvolvingMesh::with_levels(levels).unwrap();
        check_family(&evolving, &evolving_mesh(levels as u32), mesh_level);
        let reduction = ReductionMesh::with_levels(levels).unwrap();
        check_family(&reduction, &reduction_mesh(levels as u32), mesh_level);
        assert!(optimality::of_mesh(&reduction, reduction.order()));
    }
    assert_eq!(EvolvingMesh::with_levels(0).unwrap().order().count(), 0);
    assert_eq!(ReductionMesh::with_levels(0).unwrap().order().count(), 0);
}

#[test]
fn formulas_and_orders_of_trees() {
    for (arity, heights) in [(2, 0..=7), (3, 0..=4), (4, 0..=3), (7, 0..=2)] {
        for height in heights {
            let dag = out_tree(arity as u32, height as u32);
            let level = |mut v: u64| {
                let mut level = 0;
                while v > 0 {
                    v = u64::from(dag.parents(TaskId(v as u32))[0].0);
                    level += 1;
                }
                level
            };
            check_family(&OutTree::new(arity, height).unwrap(), &dag, level);
            let reduction = ReductionTree::new(arity, height).unwrap();
            let reduced = reversed(&dag);
            check_family(&reduction, &reduced, level);
            assert!(optimality::of_tree(&reduction, reduction.order()));
            let stored = tasks(&reduction.order().collect::<Vec<_>>());
            assert_eq!(optimality::of_stored_tree(&reduced, &stored), Some(true));
            assert_eq!(postorder_execute(&reduced).unwrap(), stored);
        }
    }
}

#[test]
fn formulas_and_orders_of_fft_dags() {
    for d in 0..=8 {
        let family = Fft::new(d).unwrap();
        check_family(&family, &fft(d as u32), |task| d - (task >> d));
        assert!(optimality::of_fft(&family, family.order()));
    }
}

#[test]
fn infinite_mesh_goes_on_like_the_finite_ones() {
    let (infinite, finite) = (
        EvolvingMesh::infinite(),
        EvolvingMesh::with_levels(50).unwrap(),
    );
    assert_eq!(infinite.task_count(), None);
    assert!(infinite.order().zip(finite.order()).all(|(a, b)| a == b));
    for task in 0..49 * 50 / 2 {
        assert!(infinite.children(task).eq(finite.children(task)));
        assert!(infinite.parents(task).eq(finite.parents(task)));
        assert_eq!(infinite.best_eligible(task), finite.best_eligible(task));
    }
    assert_eq!(infinite.best_eligible(1_000_000), 1414);
    // Far out, arithmetic alone.
    let far = 1 << 62;
    let level = infinite.level(far);
    assert!(
        infinite
            .parents(far)
            .all(|p| infinite.level(p) + 1 == level)
    );
    assert!(
        infinite
            .children(far)
            .all(|c| infinite.parents(c).any(|p| p == far))
    );
}

#[test]
fn impossible_members_are_refused() {
    assert_eq!(OutTree::new(1, 3), Err(FamilyError::TooNarrow));
    assert_eq!(ReductionTree::new(0, 3), Err(FamilyError::TooNarrow));
    assert_eq!(ReductionTree::new(2, 64), Err(FamilyError::TooLarge));
    assert!(ReductionTree::new(2, 62).is_ok());
    assert_eq!(Fft::new(59), Err(FamilyError::TooLarge));
    assert_eq!(Fft::new(58).unwrap().task_count(), Some(59 << 58));
    assert!(ReductionMesh::with_levels(u64::MAX).is_err());
}

// ---- Reduction-meshes: [RY05] §3. ----

/// Theorem 3.1: all schedules up to 4 levels; up to 6, the number of IC-optimal ones is the number the rule admits.
#[test]
fn mesh_schedules_are_optimal_iff_level_by_level_and_consecutive() {
    for levels in 1..=4 {
        let dag = reduction_mesh(levels);
        let family = ReductionMesh::with_levels(u64::from(levels)).unwrap();
        let best: Vec<u64> = best_profile(&dag).into_iter().map(u64::from).collect();
        all_schedules(&dag, |order| {
            let optimal = profile(&dag, &tasks(order)) == best;
            assert_eq!(
                optimality::of_mesh(&family, order.iter().copied()),
                optimal,
                "{order:?}"
            );
        });
    }
    for levels in 1..=6u32 {
        let dag = reduction_mesh(levels);
        let (ways, ..) = Masks::new(&dag).optimal_schedules(&best_profile(&dag));
        // A level of w tasks is filled from any start to both sides: 2^(w−1) ways.
        assert_eq!(ways, 1 << (levels * (levels - 1) / 2));
    }
    let family = ReductionMesh::with_levels(3).unwrap();
    for wrong in [
        &[3, 4, 5, 1, 2][..],
        &[3, 4, 5, 1, 2, 0, 0],
        &[3, 4, 4, 1, 2, 0],
        &[],
    ] {
        assert!(!optimality::of_mesh(&family, wrong.iter().copied()));
    }
}

/// Lemma 3.1 with (3.1): of all ideals with the same number executed on each level, the best has c + 1 − X_c eligible,
/// c being the lowest level with an eligible or executed task.
#[test]
fn mesh_lemma_3_1() {
    for levels in 1..=5u32 {
        let dag = reduction_mesh(levels);
        let masks = Masks::new(&dag);
        let mut best: BTreeMap<Vec<i64>, (i64, i64)> = BTreeMap::new();
        masks.ideals(|ideal| {
            if ideal.count_ones() as usize == dag.len() {
                return;
            }
            let mut executed = vec![0i64; levels as usize];
            let mut eligible = vec![0i64; levels as usize];
            for t in (0..dag.len()).filter(|t| ideal >> t & 1 == 1) {
                executed[mesh_level(t as u64) as usize] += 1;
            }
            for t in masks.eligible(ideal) {
                eligible[mesh_level(t as u64) as usize] += 1;
            }
            let c = (0..levels as usize)
                .find(|&l| executed[l] + eligible[l] > 0)
                .unwrap();
            for l in c..levels as usize - 1 {
                assert!(eligible[l] < executed[l + 1] - executed[l]);
            }
            let total: i64 = eligible.iter().sum();
            let entry = best.entry(executed.clone()).or_insert((0, 0));
            if total > entry.0 {
                *entry = (total, c as i64 + 1 - executed[c]);
            }
        });
        assert!(best.values().all(|(most, formula)| most == formula));
    }
}

/// Lemma 3.2 and Theorem 3.2, and a correction: ℓ open results are the least of any schedule and enough when going
/// end to end; an IC-optimal schedule that starts amid a level needs ℓ + 1.
#[test]
fn mesh_memory_is_l_end_to_end_and_one_more_from_the_middle() {
    for levels in 2..=6u32 {
        let dag = reduction_mesh(levels);
        let masks = Masks::new(&dag);
        let (_, least, _) = masks.schedules(|_| true);
        assert_eq!(least, levels as usize);
        let (_, least, most) = masks.optimal_schedules(&best_profile(&dag));
        // After the sources, a level needs three tasks to have a middle.
        let middle = levels as usize + usize::from(levels > 3);
        assert_eq!((least, most), (levels as usize, middle));
    }
    for levels in [10u32, 60] {
        let family = ReductionMesh::with_levels(u64::from(levels)).unwrap();
        let order: Vec<u64> = family.order().collect();
        assert_eq!(
            memory_cost(&reduction_mesh(levels), &tasks(&order)),
            levels as usize
        );
    }
}

/// §3.4: the eager schedule, diagonal by diagonal, has at most ℓ − k + 1 tasks eligible after C(k,2) + q steps.
#[test]
fn mesh_eager_schedule_falls_behind() {
    let levels = 12u64;
    let dag = reduction_mesh(levels as u32);
    let number = |x: u64, y: u64| (x + y) * (x + y + 1) / 2 + x;
    let mut order = Vec::new();
    for j in 1..=levels {
        // Diagonal x = ℓ − j, from level ℓ − 1 down.
        order.extend((0..j).rev().map(|i| number(levels - j, i)));
    }
    let got = profile(&dag, &tasks(&order));
    for k in 1..=levels {
        for q in 1..=k {
            let t = (k * (k - 1) / 2 + q) as usize;
            assert!(got[t] <= levels - k + 1);
            assert!(q == k || got[t] == levels - k + 1);
        }
    }
}

// ---- Reduction-trees: [RY05] §4. ----

/// Correction to the proof of Lemma 4.1 (⌊Xᵢ/2⌋ should be ⌈Xᵢ/2⌉): the optimum is S − ⌈t/2⌉. And the lemma itself: with Xₗ
/// executed on level l, at most S − t/2 − (number of odd Xₗ)/2 are eligible, exactly so iff all levels are sibling-paired.
#[test]
fn tree_optimum_is_sources_minus_half_the_steps_rounded_up() {
    let mut random = Random(1);
    for round in 0..60 {
        let leaves = 1 + round % 8;
        let dag = random_tree(&mut random, leaves);
        let best = best_profile(&dag);
        for (t, &e) in best.iter().enumerate() {
            assert_eq!(e as usize, leaves - t.div_ceil(2), "{t} of {leaves}");
        }
        let masks = Masks::new(&dag);
        let mut depth = vec![0usize; dag.len()];
        for &t in dag.topological_order().iter().rev() {
            depth[t.index()] = dag.children(t).first().map_or(0, |c| depth[c.index()] + 1);
        }
        masks.ideals(|ideal| {
            let is_executed = |t: usize| ideal >> t & 1 == 1;
            let mut executed = vec![0; dag.len()];
            let mut alone = vec![0; dag.len()];
            for t in (0..dag.len()).filter(|&t| is_executed(t)) {
                executed[depth[t]] += 1;
                let siblings = masks.children[t].trailing_zeros();
                let paired = siblings == 64 || masks.parents[siblings as usize] & !ideal == 0;
                alone[depth[t]] += usize::from(!paired);
            }
            let t: usize = executed.iter().sum();
            let odd = executed.iter().filter(|x| **x % 2 == 1).count();
            let (twice, bound) = (2 * masks.eligible(ideal).count(), 2 * leaves - t - odd);
            assert!(twice <= bound);
            // The root is alone on its level.
            assert_eq!(twice == bound, alone.iter().all(|&a| a <= 1));
        });
    }
}

/// Theorem 4.1: siblings in consecutive steps, and nothing else. All schedules of random trees.
#[test]
fn tree_schedules_are_optimal_iff_siblings_are_consecutive() {
    let mut random = Random(2);
    let mut seen = [0; 2];
    for round in 0..25 {
        let dag = random_tree(&mut random, 1 + round % 5);
        let best: Vec<u64> = best_profile(&dag).into_iter().map(u64::from).collect();
        all_schedules(&dag, |order| {
            let order = tasks(order);
            let optimal = profile(&dag, &order) == best;
            assert_eq!(optimality::of_stored_tree(&dag, &order), Some(optimal));
            seen[usize::from(optimal)] += 1;
        });
    }
    assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
    // Ternary, and the formula for complete trees.
    let (family, dag) = (ReductionTree::new(3, 1).unwrap(), reversed(&out_tree(3, 1)));
    all_schedules(&dag, |order| {
        assert!(optimality::of_tree(&family, order.iter().copied()))
    });
    let (family, dag) = (ReductionTree::new(2, 2).unwrap(), reversed(&out_tree(2, 2)));
    let best: Vec<u64> = best_profile(&dag).into_iter().map(u64::from).collect();
    all_schedules(&dag, |order| {
        let optimal = profile(&dag, &tasks(order)) == best;
        assert_eq!(optimality::of_tree(&family, order.iter().copied()), optimal);
    });
    // What is no schedule is not optimal.
    for wrong in [
        &[3, 4, 5, 6, 1, 2][..],
        &[1, 2, 3, 4, 5, 6, 0],
        &[3, 3, 4, 5, 6, 1, 0],
        &[3, 4, 3, 4, 1, 2, 0],
    ] {
        assert!(!optimality::of_tree(&family, wrong.iter().copied()));
    }
    assert!(!optimality::of_tree(&family, [3, 4, 5, 6, 1, 2, 99]));
}

/// Corollary 4.1: level by level, each from one end to the other, is IC-optimal.
#[test]
fn tree_level_by_level_is_optimal() {
    for height in 0..=3 {
        let dag = reversed(&out_tree(2, height));
        // The numbers of the tree go level by level from the root.
        let order: Vec<TaskId> = (0..dag.len() as u32).rev().map(TaskId).collect();
        let best: Vec<u64> = best_profile(&dag).into_iter().map(u64::from).collect();
        assert_eq!(profile(&dag, &order), best);
    }
    for height in [5, 12] {
        let dag = reversed(&out_tree(2, height));
        let order: Vec<TaskId> = (0..dag.len() as u32).rev().map(TaskId).collect();
        let family = ReductionTree::new(2, u64::from(height)).unwrap();
        let found = profile(&dag, &order);
        assert!((0..found.len()).all(|t| found[t] == family.best_eligible(t as u64)));
    }
}

/// Corollary 5.1, as corrected: level by level with partners one after the other is IC-optimal (the sinks are the last
/// level).
#[test]
fn fft_level_by_level_with_partners_is_optimal() {
    for d in 0..=5u32 {
        let dag = fft(d);
        let family = Fft::new(u64::from(d)).unwrap();
        // Partners on level l > 0 differ in the bit that level l − 1 mixes: they have the same children.
        let mut order = Vec::new();
        for level in 0..=d {
            let mut rest: Vec<u32> = (0..1 << d).map(|x| (level << d) + x).collect();
            while let Some(&task) = rest.first() {
                let same = |&t: &u32| dag.children(TaskId(t)) == dag.children(TaskId(task));
                let (now, later): (Vec<u32>, Vec<u32>) = rest.iter().partition(|t| same(t));
                order.extend(now.into_iter().map(TaskId));
                rest = later;
            }
        }
        let found = profile(&dag, &order);
        assert!((0..found.len()).all(|t| found[t] == family.best_eligible(t as u64)));
        if d <= 2 {
            let best: Vec<u64> = best_profile(&dag).into_iter().map(u64::from).collect();
            assert_eq!(found, best);
        }
    }
}

/// An IC-optimal order of a stored reduction-tree that spares memory: Postorder-Execute, at every task the parent whose
/// subtree needs more memory first. (On small trees of any shape no IC-optimal order needs less, by brute force.)
/// `None` if the dag is no reduction-tree, see `optimality::arity`. O(n log arity).
fn postorder_execute(dag: &Dag) -> Option<Vec<TaskId>> {
    let arity = optimality::arity(dag)? as u64;
    // The most open results while everything above a task is executed, and its parents, heaviest first.
    let mut need = vec![0u64; dag.len()];
    let mut parents: Vec<Vec<TaskId>> = vec![Vec::new(); dag.len()];
    for &task in dag
        .topological_order()
        .iter()
        .filter(|&&t| !dag.is_source(t))
    {
        let mut row = dag.parents(task).to_vec();
        // Heaviest first, as Sethi and Ullman do with registers: what is kept meanwhile is the same for each, so the
        // largest need should meet the fewest results.
        row.sort_by_key(|p| std::cmp::Reverse(need[p.index()]));
        let inner = row.iter().filter(|p| need[p.index()] > 0);
        // Each subtree done before holds `arity` results until all parents can be executed together.
        let peak = inner.zip(0..).map(|(p, i)| i * arity + need[p.index()]);
        need[task.index()] = peak.max().unwrap_or(0).max(arity);
        parents[task.index()] = row;
    }
    let root = *dag.topological_order().last()?;
    let mut order = Vec::with_capacity(dag.len());
    // Each task with the number of its parents already seen to.
    let mut stack = vec![(root, 0)];
    while let Some((task, done)) = stack.pop() {
        let row = &parents[task.index()];
        if let Some(&parent) = row.get(done) {
            stack.push((task, done + 1));
            stack.push((parent, 0));
        } else {
            order.extend(row);
        }
    }
    order.push(root);
    Some(order)
}

/// Only trees of one arity are reduction-trees here.
#[test]
fn other_dags_are_no_reduction_trees() {
    let mixed = Dag::from_arcs(5, vec![(0, 2), (1, 2), (2, 3), (3, 4)]).unwrap();
    let two_sinks = Dag::from_arcs(4, vec![(0, 1), (2, 3)]).unwrap();
    for dag in [mixed, two_sinks, evolving_mesh(3), Dag::empty()] {
        assert_eq!(optimality::arity(&dag), None);
        assert_eq!(
            optimality::of_stored_tree(&dag, dag.topological_order()),
            None
        );
        assert_eq!(postorder_execute(&dag), None);
    }
    let one = Dag::from_arcs(1, vec![]).unwrap();
    assert_eq!(optimality::of_stored_tree(&one, &[TaskId(0)]), Some(true));
}

/// Theorem 4.2 with Lemmas 4.2 and 4.3: h + 1 open results are the least of any schedule of the complete tree, 2h the
/// least of any IC-optimal one, and Postorder-Execute attains it.
#[test]
fn tree_memory_is_2h_for_ic_optimal_schedules_and_h_plus_1_without() {
    for h in 1..=3u64 {
        let dag = reversed(&out_tree(2, h as u32));
        let masks = Masks::new(&dag);
        let (_, least, _) = masks.schedules(|_| true);
        assert_eq!(least as u64, h + 1);
        let (_, least, most) = masks.optimal_schedules(&best_profile(&dag));
        // Level by level is the worst: 2^h ([RY05] §4.3).
        assert_eq!((least as u64, most), (2 * h, 1 << h));
    }
    for (arity, height) in [(2, 4), (2, 10), (3, 1), (3, 5), (4, 4), (5, 3)] {
        let family = ReductionTree::new(arity, height).unwrap();
        let order: Vec<u64> = family.order().collect();
        let memory = memory_cost(&materialise(&family), &tasks(&order)) as u64;
        assert_eq!(memory, arity + (height - 1) * arity * (arity - 1));
    }
}

/// Postorder-Execute on trees of any shape: IC-optimal, and no IC-optimal order needs less memory.
#[test]
fn postorder_execute_spares_memory_on_any_reduction_tree() {
    let mut random = Random(3);
    for round in 0..300 {
        let dag = random_tree(&mut random, 1 + round % 9);
        let order = postorder_execute(&dag).unwrap();
        assert_eq!(optimality::of_stored_tree(&dag, &order), Some(true));
        let (_, least, _) = Masks::new(&dag).optimal_schedules(&best_profile(&dag));
        assert_eq!(memory_cost(&dag, &order), least);
    }
    for leaves in [100, 5000] {
        let dag = random_tree(&mut random, leaves);
        let order = postorder_execute(&dag).unwrap();
        assert_eq!(optimality::of_stored_tree(&dag, &order), Some(true));
    }
}

/// §4.4: after executing complete subtrees of heights 0..=k, 2^(k+2) − (k+3) steps, 2^h − 2^(k+1) + 1 tasks are eligible.
#[test]
fn tree_eager_schedule_falls_behind() {
    let h = 6u32;
    let dag = reversed(&out_tree(2, h));
    // Plain postorder.
    let mut order = Vec::new();
    let mut stack = vec![(0u32, false)];
    while let Some((v, below_done)) = stack.pop() {
        if below_done || dag.is_source(TaskId(v)) {
            order.push(u64::from(v));
        } else {
            stack.extend([(v, true), (2 * v + 2, false), (2 * v + 1, false)]);
        }
    }
    let order = tasks(&order);
    let got = profile(&dag, &order);
    for k in 0..h {
        // Postorder executes the heights k, k − 1, …, 0 of the last subtrees; count when these are done.
        let t: u64 = (0..=k).map(|i| (2 << i) - 1).sum();
        assert_eq!(t, (4 << k) - u64::from(k + 3));
        assert_eq!(got[t as usize], (1 << h) - (2 << k) + 1);
    }
    assert_eq!(memory_cost(&dag, &order), h as usize + 1);
}

// ---- FFT dags: [RY05] §5. ----

/// Correction to Theorem 5.1: partners in consecutive steps do not suffice; on F_2 executing two sinks early loses.
#[test]
fn fft_f2_needs_its_sinks_last() {
    let dag = fft(2);
    let partners_together = tasks(&[0, 2, 1, 3, 4, 5, 8, 9, 6, 7, 10, 11]);
    let best: Vec<u64> = best_profile(&dag).into_iter().map(u64::from).collect();
    let got = profile(&dag, &partners_together);
    assert_eq!(best, [4, 3, 4, 3, 4, 3, 4, 3, 4, 3, 2, 1, 0]);
    assert_eq!(got, [4, 3, 4, 3, 4, 3, 4, 3, 2, 1, 2, 1, 0]);
    let sinks_early = [0, 2, 1, 3, 4, 5, 8, 9, 6, 7, 10, 11];
    assert!(!optimality::of_fft(&Fft::new(2).unwrap(), sinks_early));
}

/// Theorem 5.1 and Corollary 5.1, corrected: partners consecutively and sinks last is sufficient and necessary. For d ≤ 2
/// the number of IC-optimal schedules is the number the rule admits, and each of those is IC-optimal.
#[test]
fn fft_schedules_are_optimal_iff_partners_are_consecutive_and_sinks_last() {
    for (d, ways) in [(0u32, 1), (1, 2 * 2), (2, 2 * 2 * 16 * 24)] {
        let dag = fft(d);
        let family = Fft::new(u64::from(d)).unwrap();
        let best = best_profile(&dag);
        let masks = Masks::new(&dag);
        let (optimal, ..) = masks.optimal_schedules(&best);
        assert_eq!(optimal, ways);
        let best: Vec<u64> = best.into_iter().map(u64::from).collect();
        // Walk all IC-optimal schedules and some others one step off.
        let mut accepted = 0;
        let mut stack = vec![Vec::new()];
        while let Some(order) = stack.pop() {
            let ideal = order.iter().map(|t| 1u64 << t).sum();
            if order.len() == dag.len() {
                assert!(optimality::of_fft(&family, order.iter().copied()));
                accepted += 1;
            }
            for task in masks.eligible(ideal) {
                let eligible = masks.eligible(ideal | 1 << task).count() as u64;
                if eligible == best[order.len() + 1] {
                    stack.push([&order[..], &[task as u64]].concat());
                }
            }
        }
        assert_eq!(accepted, ways);
    }
    // Random schedules of F_2 and F_3: accepted iff they attain the optimum.
    let mut random = Random(4);
    let mut seen = [0; 2];
    for round in 0..4000 {
        let d = 2 + round % 2;
        let family = Fft::new(d).unwrap();
        let dag = fft(d as u32);
        let order = random_fft_schedule(&mut random, &family, &dag);
        let got = profile(&dag, &tasks(&order));
        let optimal = (0..got.len()).all(|t| got[t] == family.best_eligible(t as u64));
        assert_eq!(
            optimality::of_fft(&family, order.iter().copied()),
            optimal,
            "{order:?}"
        );
        seen[usize::from(optimal)] += 1;
    }
    assert!(seen.iter().all(|&n| n > 300), "{seen:?}");
    let family = Fft::new(1).unwrap();
    for wrong in [
        &[0, 1, 2][..],
        &[0, 1, 2, 2],
        &[2, 3, 0, 1],
        &[0, 1, 2, 3, 3],
        &[0, 0, 2, 3],
        &[0, 1, 2, 9],
    ] {
        assert!(!optimality::of_fft(&family, wrong.iter().copied()));
    }
}

/// Mostly partners together and sinks last, sometimes not.
fn random_fft_schedule(random: &mut Random, family: &Fft, dag: &Dag) -> Vec<u64> {
    let masks = Masks::new(dag);
    let (mut ideal, mut order) = (0u64, Vec::new());
    let slips = random.below(3) * 2;
    while order.len() < dag.len() {
        let slip = random.below(60) < slips;
        let eligible: Vec<u64> = masks.eligible(ideal).map(|t| t as u64).collect();
        let nonsinks: Vec<u64> = eligible
            .iter()
            .copied()
            .filter(|&t| family.level(t) > 0)
            .collect();
        let last_partner = order.last().and_then(|&t| optimality::partner(family, t));
        let next = match last_partner.filter(|p| ideal >> p & 1 == 0 && !slip) {
            Some(partner) if eligible.contains(&partner) => partner,
            _ if !nonsinks.is_empty() && !slip => {
                let whole = nonsinks
                    .iter()
                    .copied()
                    .filter(|&t| eligible.contains(&optimality::partner(family, t).unwrap()));
                let whole: Vec<u64> = whole.collect();
                let from = if whole.is_empty() { &nonsinks } else { &whole };
                from[random.below(from.len())]
            }
            _ => eligible[random.below(eligible.len())],
        };
        ideal |= 1 << next;
        order.push(next);
    }
    order
}

/// Lemma 5.1: with Xₗ executed on level l, at most 2^d − X₀ − (number of odd X₁ … X_d) are eligible; attained whenever the
/// executed tasks of every level are butterfly-paired.
#[test]
fn fft_lemma_5_1() {
    for d in 1..=2u32 {
        let dag = fft(d);
        let masks = Masks::new(&dag);
        let family = Fft::new(u64::from(d)).unwrap();
        masks.ideals(|ideal| {
            let mut executed = vec![0u32; d as usize + 1];
            let mut alone = vec![0u32; d as usize + 1];
            for t in (0..dag.len() as u64).filter(|t| ideal >> t & 1 == 1) {
                let level = family.level(t) as usize;
                executed[level] += 1;
                alone[level] +=
                    u32::from(optimality::partner(&family, t).is_some_and(|p| ideal >> p & 1 == 0));
            }
            let odd = executed[1..].iter().filter(|x| **x % 2 == 1).count() as u32;
            let bound = (1 << d) - executed[0] - odd;
            let eligible = masks.eligible(ideal).count() as u32;
            assert!(eligible <= bound);
            if alone.iter().all(|&a| a <= 1) {
                assert_eq!(eligible, bound);
            }
        });
    }
}

/// Correction to Theorem 5.2 (2^d + 1): the least memory of an IC-optimal schedule is 2^d + 2 for d = 2 and 3, by trying
/// them all; the quad order attains it for every d ≥ 2. Partners in the order of their numbers cost 1.5·2^d.
#[test]
fn fft_memory_of_ic_optimal_schedules_is_2_to_the_d_plus_2() {
    for (d, least) in [(1u32, 2), (2, 6), (3, 10)] {
        let family = Fft::new(u64::from(d)).unwrap();
        let dag = fft(d);
        let best: Vec<u32> = (0..=dag.len() as u64)
            .map(|t| family.best_eligible(t) as u32)
            .collect();
        let (_, found, _) = Masks::new(&dag).optimal_schedules(&best);
        assert_eq!(found, least);
    }
    for d in 2..=9u32 {
        let family = Fft::new(u64::from(d)).unwrap();
        let dag = fft(d);
        let quads: Vec<u64> = family.order().collect();
        assert_eq!(memory_cost(&dag, &tasks(&quads)), (1 << d) + 2);
        // Corollary 5.1 word by word: level by level, a task and its partner, tasks in the order of their numbers.
        let mut plain = Vec::new();
        for task in 0..dag.len() as u64 {
            match optimality::partner(&family, task) {
                Some(partner) if partner < task => {}
                partner => plain.extend([Some(task), partner].into_iter().flatten()),
            }
        }
        assert!(optimality::of_fft(&family, plain.iter().copied()));
        let memory = memory_cost(&dag, &tasks(&plain));
        assert_eq!(memory, 3 << (d - 1));
        assert_ne!(memory, (1 << d) + 1);
    }
}

/// Lemma 5.2: every schedule of F_d needs 2^d open results.
#[test]
fn fft_memory_of_any_schedule_is_at_least_2_to_the_d() {
    for d in 1..=2u32 {
        let (_, least, _) = Masks::new(&fft(d)).schedules(|_| true);
        assert!(least >= 1 << d, "{least}");
    }
}

/// Correction to §5.4: after executing one i-level sub-FFT for each i = 1..=k, (k − 1)·2^k + 1 steps, the eager schedule
/// has 2^d − 2^k + 1 tasks eligible, not 2^d − 2^(k+1) + 1.
#[test]
fn fft_eager_schedule_has_2_to_the_d_minus_2_to_the_k_plus_1_eligible() {
    let d = 6u32;
    let dag = fft(d);
    // An i-level sub-FFT: all x that agree in the low d − i + 1 bits, on the levels d, …, d − i + 1. With these bits 10…0, no
    // two overlap.
    for k in 1..=d {
        let mut executed = vec![false; dag.len()];
        let mut steps = 0u64;
        for i in 1..=k {
            let fixed = d + 1 - i;
            let low = 1u32 << (fixed - 1);
            for high in 0..1u32 << (i - 1) {
                let x = high << fixed | low;
                for level in d - i + 1..=d {
                    let task = ((d - level) << d) + x;
                    assert!(!std::mem::replace(&mut executed[task as usize], true));
                    steps += 1;
                }
            }
        }
        let eligible = dag
            .tasks()
            .filter(|t| !executed[t.index()] && dag.parents(*t).iter().all(|p| executed[p.index()]))
            .count() as u64;
        let closed = (dag.tasks().filter(|t| executed[t.index()]))
            .all(|t| dag.parents(t).iter().all(|p| executed[p.index()]));
        assert!(closed, "no state of any schedule");
        assert_eq!(steps, u64::from(k - 1) * (1 << k) + 1);
        assert_eq!(eligible, (1 << d) - (1 << k) + 1);
    }
}

/// Every member small enough for the oracle has an IC-optimal order at all.
#[test]
fn the_oracle_agrees_that_the_families_admit_optimal_orders() {
    for dag in [
        evolving_mesh(5),
        reduction_mesh(5),
        out_tree(2, 3),
        reversed(&out_tree(3, 2)),
        fft(2),
    ] {
        assert!(ic_optimal_order(&dag).is_some());
    }
}

/// Steps and tasks are told apart and together by formulas; sources come in the order; places on levels are dense.
#[test]
fn steps_and_sources_are_those_of_the_order() {
    fn check(family: &impl Family) {
        let order: Vec<u64> = family.order().collect();
        let tasks = family.task_count().unwrap();
        assert_eq!(order.len() as u64, tasks);
        for (step, &task) in order.iter().enumerate() {
            assert_eq!(
                (family.at(step as u64), family.step(task)),
                (task, step as u64)
            );
        }
        let sources: Vec<u64> = (order.iter().copied())
            .filter(|&task| family.parents(task).count() == 0)
            .collect();
        let told: Vec<u64> = (0..family.source_count())
            .map(|k| family.source(k))
            .collect();
        assert_eq!(told, sources);
        let mut places = BTreeMap::new();
        for task in 0..tasks {
            let next = places.entry(family.level(task)).or_insert(0);
            assert_eq!(family.index(task), *next);
            *next += 1;
        }
    }
    for size in 0..7 {
        check(&EvolvingMesh::with_levels(size).unwrap());
        check(&ReductionMesh::with_levels(size).unwrap());
        check(&Fft::new(size).unwrap());
        for arity in 2..5 {
            check(&OutTree::new(arity, size.min(5)).unwrap());
            check(&ReductionTree::new(arity, size.min(5)).unwrap());
        }
    }
}
