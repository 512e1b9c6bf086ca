//! In which order tasks are tried under a cap. Knows no cap.

use super::Storage;
use cairn_dag::TaskId;

/// The tasks that free at least as many bytes as they leave behind first, each group as `order` has it. What a file is
/// worth to one reader is its share. A list of priorities, no schedule.
///
/// ```
/// use cairn_dag::TaskId;
/// use cairn_plan::storage::{Storage, Stored, shrink_first};
/// // a writes a large file, of which b makes a small one.
/// let [a, b] = [TaskId(0), TaskId(1)];
/// let large = Stored { producer: Some(a), bytes: 100, is_kept: false, consumers: vec![b] };
/// let small = Stored { producer: Some(b), bytes: 1, is_kept: true, consumers: vec![] };
/// let (storage, _) = Storage::new(2, vec![large, small], vec![]).unwrap();
/// assert_eq!(shrink_first(&storage, &[a, b]), [b, a]);
/// ```
pub fn shrink_first(storage: &Storage, order: &[TaskId]) -> Vec<TaskId> {
    let shrinks = |&task: &TaskId| {
        let freed = (storage.inputs(task))
            .filter(|&f| !storage.is_kept(f))
            .map(|f| storage.bytes(f) as f64 / storage.consumer_slots(f).len() as f64);
        freed.sum::<f64>() >= storage.lasting(task) as f64
    };
    let (mut first, rest): (Vec<TaskId>, Vec<TaskId>) = order.iter().partition(|t| shrinks(t));
    first.extend(rest);
    first
}
