//! A million tasks: what they run costs little time and no memory beside the flow.

use cairn_dag::{FlowBuilder, TaskId};
use cairn_formats::{Format, Jobs, Report, Run, Source};
use std::sync::Arc;
use std::time::Instant;

#[test]
fn a_million_tasks_are_checked_at_once_and_made_one_by_one() {
    let mut build = FlowBuilder::new();
    let n = 1_000_000;
    for i in 0..n {
        let task = build.declare(&format!("task-{i}"), 0).unwrap();
        build.set_command(task, &format!("./simulate --seed {i} > out/{i}.txt"));
    }
    let flow = Arc::new(build.finish().unwrap());
    let source = Source::from_text("f.jsonl", "");
    let started = Instant::now();
    let jobs = Jobs::of(
        &source,
        Format::FlowJsonLines,
        flow,
        None,
        &mut Report::default(),
    );
    let (jobs, checked) = (jobs.unwrap(), started.elapsed());
    // Generous: the machine may be busy. It takes some milliseconds.
    assert!(checked.as_secs() < 5, "{checked:?}");
    let started = Instant::now();
    let (mut shells, mut sum) = (0, 0u64);
    for task in (0..n).map(TaskId) {
        shells += usize::from(matches!(jobs.job(task).run, Run::Shell(_)));
        sum ^= u64::from(jobs.fingerprint(task)[0]);
    }
    let made = started.elapsed();
    // Generous, too: about a second.
    assert!(made.as_secs() < 30, "{made:?}");
    assert_eq!((shells, sum != 0), (n as usize, true));
}
