//! A bound across parts: what cannot begin before enough of another part is executed gains nothing until then. Knows the
//! parts' best gains, not how they were found.
//!
//! A part of a later group often cannot begin at once. Its *entries* are the tasks that wait for nothing in the part:
//! whatever is executed of it, an entry is, and with it everything that comes before that entry. If at least k tasks of
//! another part come before every entry, then nothing of the part is executed before k tasks of that one are. Each part
//! takes one such *controller* from an earlier group, so they form a forest; and along it the best sums are found from the
//! leaves to the roots.

use crate::exact::LOOK;
use crate::parts::{Placed, sum};
use crate::width::{long, wide};
use crate::work::Work;
use cairn_dag::{Dag, TaskId};

/// Parts with a bound for each, `profiles[i][x]`: what x tasks of part i gain at most, never falling. Returns what t tasks
/// of all parts gain at most; `None` if that is too much to find out.
pub(crate) fn bound(
    dag: &Dag,
    parts: &[Placed],
    profiles: &[Vec<u64>],
    work: &mut Work,
) -> Option<Vec<u64>> {
    let controllers = controllers(dag, parts, work)?;
    // By part: what it controls, and after how many of its tasks.
    let mut controlled: Vec<Vec<(usize, usize)>> = vec![Vec::new(); parts.len()];
    let mut roots = Vec::new();
    for (part, controller) in controllers.into_iter().enumerate() {
        match controller {
            Some((other, after)) => controlled[other].push((after, part)),
            None => roots.push(part),
        }
    }
    let mut leaves_first: Vec<usize> = (0..parts.len()).collect();
    // A controller is of an earlier group, so that all it controls is done before it.
    leaves_first.sort_by_key(|&i| std::cmp::Reverse(parts[i].group));
    // By part: what it gains at most with all that it controls.
    let mut best: Vec<Vec<u64>> = vec![Vec::new(); parts.len()];
    for part in leaves_first {
        let mut below = std::mem::take(&mut controlled[part]);
        below.sort_unstable();
        let mut below = below.into_iter().peekable();
        // What the parts that may have begun gain together.
        let mut begun = vec![0];
        let mut total: Vec<u64> = Vec::new();
        for (done, own) in profiles[part].iter().enumerate() {
            while let Some((_, other)) = below.next_if(|&(after, _)| after <= done) {
                begun = sum(&[&begun, &best[other]], work)?;
            }
            work.take(long(begun.len()))?;
            total.resize(total.len().max(done + begun.len()), 0);
            for (most, more) in total[done..].iter_mut().zip(&begun) {
                *most = (*most).max(own + more);
            }
        }
        best[part] = total;
    }
    let lists: Vec<&[u64]> = roots.iter().map(|&root| best[root].as_slice()).collect();
    sum(&lists, work)
}

/// By part: the part of an earlier group, as late as can be, of which the most tasks come before every entry; and how
/// many. `None` if that is too much to find out.
fn controllers(
    dag: &Dag,
    parts: &[Placed],
    work: &mut Work,
) -> Option<Vec<Option<(usize, usize)>>> {
    let before = work.lend(LOOK, |work| Before::new(dag, parts, work))?;
    let mut controllers = Vec::with_capacity(parts.len());
    for placed in parts {
        let entries = (placed.tasks.iter().zip(&placed.part.before))
            .filter(|(_, before)| before.is_empty())
            .map(|(&task, _)| task);
        work.take(long(parts.len()))?;
        // By part: the fewest tasks of it before any entry.
        let mut fewest = vec![usize::MAX; parts.len()];
        for entry in entries {
            work.take(long(before.words + parts.len()))?;
            for (fewest, count) in fewest.iter_mut().zip(before.counts(entry)) {
                *fewest = (*fewest).min(count);
            }
        }
        let earlier = (fewest.into_iter().enumerate())
            // Every part has an entry, its first task: so no `usize::MAX` is left.
            .filter(|&(other, count)| count > 0 && parts[other].group < placed.group);
        // Any controller gives a valid bound; the latest binds most.
        controllers.push(earlier.max_by_key(|&(other, count)| (parts[other].group, count)));
    }
    Some(controllers)
}

/// For each task of the parts, those that come before it: one bit each, sorted by part.
struct Before {
    /// By task: its row, and its bit in the other rows.
    row: Vec<usize>,
    /// `words` a row.
    bits: Vec<u64>,
    words: usize,
    /// By part: where its bits end.
    ends: Vec<usize>,
}

impl Before {
    fn new(dag: &Dag, parts: &[Placed], work: &mut Work) -> Option<Before> {
        let mut row = vec![0; dag.len()];
        let mut ends = Vec::with_capacity(parts.len());
        let mut tasks = 0usize;
        for placed in parts {
            for task in &placed.tasks {
                row[task.index()] = tasks;
                tasks += 1;
            }
            ends.push(tasks);
        }
        let words = tasks.div_ceil(64);
        // Memory counts too.
        work.take(long((4 * tasks + dag.arc_count()) * words))?;
        let mut bits = vec![0; tasks * words];
        for &task in dag.topological_order().iter().filter(|&&t| !dag.is_sink(t)) {
            let own = row[task.index()] * words;
            for parent in dag.parents(task) {
                let theirs = row[parent.index()];
                for word in 0..words {
                    bits[own + word] |= bits[theirs * words + word];
                }
                bits[own + theirs / 64] |= 1 << (theirs % 64);
            }
        }
        Some(Before {
            row,
            bits,
            words,
            ends,
        })
    }

    /// How many tasks of each part come before this one.
    fn counts(&self, task: TaskId) -> impl Iterator<Item = usize> + '_ {
        let row = &self.bits[self.row[task.index()] * self.words..][..self.words];
        // How many of the first `end` bits are set, for rising ends.
        let (mut word, mut whole, mut last) = (0, 0, 0);
        self.ends.iter().map(move |&end| {
            while word < end / 64 {
                whole += wide(row[word].count_ones());
                word += 1;
            }
            let below = (1u64 << (end % 64)) - 1;
            let rest = row.get(word).map_or(0, |bits| (bits & below).count_ones());
            let so_far = whole + wide(rest);
            so_far - std::mem::replace(&mut last, so_far)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::exact::Solver;
    use crate::ground::{Ground, across, exact_sum};
    use crate::parts::parts;
    use crate::testing::Known;
    use crate::{bound, hull};
    use cairn_dag::Dag;
    use cairn_oracle::{Random, any_dag, random_tangle};
    use proptest::prelude::*;

    /// Whatever intervals are taken as one: no set gains more than the bound. Nor is what must wait thought better than
    /// what need not. Returns at how many steps the bound is lower than the hull's.
    fn lower_and_true(dag: &Dag, solver: impl Fn() -> Solver, has_steps: bool) -> usize {
        let known = Known::new(dag);
        let order = dag.topological_order();
        let certificate = known.certificate(order, known.best.clone(), None);
        let hull = hull::check(dag, order, &certificate.evidence.hull).unwrap();
        let ground = Ground::new(&known.flow, &hull);
        let is_true = |bound: &[u64]| bound.iter().zip(&known.best).all(|(b, best)| b >= best);
        let by_hull = ground.by_hull();
        let mut lower = 0;
        let intervals = hull.corners.len() as u32 - 1;
        for (first, last) in (0..intervals).flat_map(|a| (a..intervals).map(move |b| (a, b))) {
            let Some(gains) = across(&ground, (first, last), &mut solver()) else {
                assert!(!has_steps, "{dag:?}");
                continue;
            };
            let eligible = gains
                .iter()
                .enumerate()
                .map(|(t, &g)| ground.eligible(t, g));
            let bound: Vec<u64> = eligible.collect();
            assert!(is_true(&bound), "{dag:?}: {first} to {last}");
            lower += bound.iter().zip(&by_hull).filter(|(b, h)| b < h).count();
            if has_steps {
                let group = |&j: &u32| {
                    if (first..=last).contains(&j) {
                        first
                    } else {
                        j
                    }
                };
                let groups: Vec<u32> = hull.interval.iter().map(group).collect();
                let apart = exact_sum(&parts(dag, &groups, true), &mut Solver::new()).unwrap();
                assert!(
                    gains
                        .iter()
                        .zip(&apart)
                        .all(|(with, without)| with <= without)
                );
            }
        }
        let all = bound::across_intervals(&known.best, &ground, &solver());
        assert!(is_true(&all), "{dag:?}");
        lower
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn no_set_lies_above_the_bound(dag in any_dag(12), size in 5usize..13, seed: u64, steps in 0u64..20_000) {
            for dag in [dag, random_tangle(size, seed)] {
                lower_and_true(&dag, || Solver::with(steps, 0), false);
                lower_and_true(&dag, Solver::new, true);
            }
        }
    }

    /// Layers of tasks, each with one to three parents on the layer before: parts that wait for each other.
    #[test]
    fn no_set_of_layers_lies_above_the_bound() {
        let mut lower = 0;
        for seed in 0..120 {
            let mut random = Random::new(seed);
            let (levels, width) = [(4, 5), (5, 4), (3, 7), (6, 3)][seed as usize % 4];
            let mut arcs = Vec::new();
            for child in width..levels * width {
                let before = (child / width - 1) * width;
                for _ in 0..1 + random.below(3) {
                    arcs.push(((before + random.below(width)) as u32, child as u32));
                }
            }
            arcs.sort_unstable();
            arcs.dedup();
            let dag = Dag::from_arcs(levels * width, arcs).unwrap();
            lower += lower_and_true(&dag, Solver::new, true);
        }
        assert!(lower > 300, "{lower}");
    }
}
