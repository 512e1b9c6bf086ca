//! Runs in this process of tasks that have nothing to run: what is kept of many of them, in memory and in the store.
#![cfg(target_os = "linux")]

use cairn_dag::{Dag, Flow, TaskId};
use cairn_engine::{Offer, Rules, Span, Task};
use cairn_serve::run::{
    FamilySetup, FlowPrograms, FlowSetup, News, Orders, Summary, TaskPrograms, Wishes, rules, run,
    run_family,
};
use cairn_serve::spawn::Program;
use cairn_serve::store::{Store, Sync};
use cairn_serve::{About, Found};
use cairn_theory::families::EvolvingMesh;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Nothing to run.
struct Nothing;

impl TaskPrograms for Nothing {
    fn program(&self, _: Task, _: u32, _: PathBuf) -> Option<Program> {
        None
    }

    fn name(&self, task: Task) -> Cow<'_, str> {
        task.0.to_string().into()
    }
}

impl FlowPrograms for Nothing {
    fn directory(&self, _: TaskId) -> Option<PathBuf> {
        None
    }

    fn fingerprint(&self, _: TaskId) -> u64 {
        1
    }
}

fn bytes(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|f| f.unwrap().metadata().unwrap().len()).sum()
}

/// The most that this process ever had in memory, in bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .unwrap();
    let kibibytes: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
    1024 * kibibytes
}

/// The mesh without end, 300,000 tasks of it or CAIRN_FAMILY_TASKS of them: little is kept, here and on the disk, however many
/// there are. Stopped in the middle, it goes on.
#[test]
fn a_large_family_takes_little_memory_and_little_store() {
    let tasks: u64 = std::env::var("CAIRN_FAMILY_TASKS").map_or(300_000, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let go = |until: u64| -> Summary {
        let setup = FamilySetup {
            name: "mesh".to_owned(),
            command: "cell".to_owned(),
            shape: Box::new(EvolvingMesh::infinite()),
            until: Some(until),
            programs: &Nothing,
            rules: Rules {
                silence: Span(u64::MAX / 4),
                ..Rules::default()
            },
            slots: 2,
        };
        let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
        run_family(store, setup, &|| 0, &mut |_, _, _| ()).unwrap()
    };
    let first = go(tasks / 2);
    assert_eq!(first.executed_now as u64, tasks / 2);
    let second = go(tasks);
    assert!(second.is_complete);
    assert_eq!(second.counts.executed as u64, tasks);
    assert_eq!(second.executed_now as u64, tasks - tasks / 2);
    let (store, memory) = (bytes(folder.path()), most_memory());
    let said = format!("{tasks} tasks: store {store} bytes, memory {memory} bytes at the most\n");
    let _ = std::io::stdout().write_all(said.as_bytes());
    assert!(store < 100_000_000, "{store}");
    assert!(memory < 100_000_000, "{memory}");
}

fn layered(layers: usize, width: usize) -> Flow {
    let arc = |i: usize| (i as u32, (i + width) as u32);
    let arcs: Vec<_> = (0..(layers - 1) * width).map(arc).collect();
    Flow::numbered(&Dag::from_arcs(layers * width, arcs).unwrap())
}

fn go(folder: &Path, flow: &Flow, stop_after: usize) -> (Summary, Vec<TaskId>) {
    let mut order: Vec<TaskId> = flow.dag().topological_order().to_vec();
    order.sort_unstable_by_key(|t| (t.0 % 7, t.0));
    let (_keep, never) = channel();
    let mut never = Some(never);
    let orders = Orders {
        policy: "test".to_owned(),
        quick: &|| order.clone(),
        // A plan that is never found.
        better: &mut || never.take().unwrap(),
        patience: Duration::from_millis(20),
    };
    let setup = FlowSetup {
        flow,
        programs: &Nothing,
        done: &[],
        wanted: None,
        only_failed: false,
        rules: rules(flow, &Wishes::default()).unwrap(),
        offer: Offer::cpus(1),
        minds_files: false,
        limits_memory: false,
        disk: None,
        is_touch: false,
        is_dry: false,
    };
    let store = Store::create_or_open(folder, Sync::Full).unwrap();
    let started = Mutex::new(Vec::new());
    let asked = || u32::from(started.lock().unwrap().len() >= stop_after);
    let summary = run(store, setup, orders, &asked, &mut |_, news, _| {
        if let News::Started { task, .. } = news {
            let task = task.frozen().unwrap();
            started.lock().unwrap().push(task);
        }
    });
    (summary.unwrap(), started.into_inner().unwrap())
}

/// After many events a resume begins with what the log came to. The events stay, and the order in force too.
#[test]
fn a_long_log_is_condensed_and_stays_readable() {
    let folder = tempfile::tempdir().unwrap();
    let flow = layered(300, 100);
    let (first, mut started) = go(folder.path(), &flow, 28_000);
    assert!(first.was_stopped && !first.is_complete);
    let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    assert!(store.snapshot().unwrap().is_some());
    let mut replayed = 0;
    let count = |_| -> Result<(), String> {
        replayed += 1;
        Ok(())
    };
    store.each_entry(count).unwrap();
    assert!(replayed < 20_000, "{replayed}");
    drop(store);
    let reader = cairn_serve::store::Reader::open(folder.path()).unwrap();
    let entries = reader.entries(0, usize::MAX).unwrap().len();
    assert!(entries >= 2 * first.executed_now, "{entries}");
    drop(reader);
    let (second, more) = go(folder.path(), &flow, usize::MAX);
    assert!(second.is_complete);
    assert_eq!(first.executed_now + second.executed_now, 30_000);
    started.extend(more);
    // On one slot: the stored order, exactly, with and without a stop between.
    let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    let (_, order) = store.newest_order().unwrap().unwrap();
    let game = |order: &[u32]| -> Vec<TaskId> {
        let mut rank = vec![0; order.len()];
        (order.iter().enumerate()).for_each(|(place, &t)| rank[t as usize] = place);
        let mut ready: std::collections::BTreeSet<(usize, u32)> = flow
            .dag()
            .sources()
            .map(|t| (rank[t.index()], t.0))
            .collect();
        let mut parents: Vec<usize> = flow
            .dag()
            .tasks()
            .map(|t| flow.dag().parents(t).len())
            .collect();
        let mut played = Vec::new();
        while let Some((_, task)) = ready.pop_first() {
            played.push(TaskId(task));
            for child in flow.dag().children(TaskId(task)) {
                parents[child.index()] -= 1;
                if parents[child.index()] == 0 {
                    ready.insert((rank[child.index()], child.0));
                }
            }
        }
        played
    };
    assert_eq!(started, game(&order));
}

/// A run that ended before its order was settled looks again the next time; once it is settled, nobody looks any more.
#[test]
fn an_order_that_is_settled_is_looked_for_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let flow = layered(10, 10);
    let tasks: Vec<TaskId> = flow.dag().topological_order().to_vec();
    let mut looked = 0;
    let mut go = |found: Vec<Found>, stop_after: usize| -> (Summary, u32, usize) {
        let mut found = Some(found);
        looked = 0;
        let orders = Orders {
            policy: "auto".to_owned(),
            quick: &|| tasks.clone(),
            better: &mut || {
                looked += 1;
                let (send, receive) = channel();
                for found in found.take().unwrap() {
                    send.send(found).unwrap();
                }
                receive
            },
            patience: Duration::from_millis(500),
        };
        let setup = FlowSetup {
            flow: &flow,
            programs: &Nothing,
            done: &[],
            wanted: None,
            only_failed: false,
            rules: rules(&flow, &Wishes::default()).unwrap(),
            offer: Offer::cpus(1),
            minds_files: false,
            limits_memory: false,
            disk: None,
            is_touch: false,
            is_dry: false,
        };
        let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
        let started = AtomicUsize::new(0);
        let asked = || u32::from(started.load(Ordering::Relaxed) >= stop_after);
        let summary = run(store, setup, orders, &asked, &mut |_, news, _| {
            let is_start = matches!(news, News::Started { .. });
            started.fetch_add(usize::from(is_start), Ordering::Relaxed);
        });
        let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
        let number = store.newest_order().unwrap().unwrap().0;
        (summary.unwrap(), number, looked)
    };
    let about = |chosen: &str, settled: bool| About {
        policy: "auto".to_owned(),
        chosen: chosen.to_owned(),
        settled,
        ..About::default()
    };
    let mut backwards = tasks.clone();
    backwards.sort_by_key(|t| (t.0 / 10, std::cmp::Reverse(t.0)));
    let first = Found {
        order: Some(tasks.clone()),
        about: about("first", false),
    };
    let (summary, number, looked) = go(vec![first.clone()], 0);
    assert_eq!((number, looked), (1, 1));
    assert_eq!(summary.about.unwrap().chosen, "first");
    // It looks again, and what was chosen last is in force: one order, however many came in time.
    let second = Found {
        order: Some(backwards),
        about: about("second", false),
    };
    let same = Found {
        order: None,
        about: about("second", true),
    };
    let (summary, number, looked) = go(vec![first, second, same], 0);
    assert_eq!((number, looked), (2, 1));
    assert_eq!(summary.about, Some(about("second", true)));
    let (summary, number, looked) = go(Vec::new(), usize::MAX);
    assert_eq!((number, looked), (2, 0));
    assert_eq!(summary.about, Some(about("second", true)));
    assert!(summary.is_complete);
}
