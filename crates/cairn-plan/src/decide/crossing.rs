//! Which vertices of the hull are in the way of a set that no order through all of them reaches. Knows bounds, not how
//! they are found.

use super::ids::IntervalId;
use super::refusal::Crossing;
use super::windows::Windows;
use cairn_dag::TaskId;
use cairn_kernel::Work;
use hashbrown::HashSet;

/// Leaves out one of the two vertices where the other alone is in the way. Of two that are the nearer one stays.
pub(super) fn with_fewer_corners(
    mut crossing: Crossing,
    windows: &Windows<'_>,
    work: &mut Work<'_>,
) -> Crossing {
    let (Some(before), Some(after)) = (&crossing.before, &crossing.after) else {
        return crossing;
    };
    let (step, gain) = (crossing.step, crossing.gain);
    let last = windows.last();
    let interval = crossing.interval;
    // The nearer vertex makes the shorter story, so it is tried first.
    let is_after_nearer = after.step - step < step - before.step;
    for is_after in [is_after_nearer, !is_after_nearer] {
        let window = if is_after {
            [IntervalId::new(0), interval]
        } else {
            [interval, last]
        };
        // A vertex whose set is nested with the witness is in nobody's way: no bound need be asked for.
        let is_in_the_way = match (&crossing.set, is_after) {
            (Some(set), true) => !contains(&after.set, set),
            (Some(set), false) => !contains(set, &before.set),
            (None, _) => true,
        };
        let most = is_in_the_way
            .then(|| windows.most(window, step, gain, work))
            .flatten();
        if let Some(inside) = most.filter(|&most| most < gain) {
            crossing.inside = inside;
            match is_after {
                true => crossing.before = None,
                false => crossing.after = None,
            }
            return crossing;
        }
    }
    crossing
}

fn contains(large: &[TaskId], small: &[TaskId]) -> bool {
    // Sets as they were found, in no order.
    let large: HashSet<TaskId> = large.iter().copied().collect();
    small.iter().all(|task| large.contains(task))
}
