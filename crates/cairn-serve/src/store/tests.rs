use super::schema::{APPLICATION, MIGRATIONS};
use super::*;
use cairn_engine::{Cause, ClientId, Digest, Event, Gone, Offer, Record, Release, Token, WorkerId};
use proptest::prelude::*;

fn token() -> impl Strategy<Value = Token> {
    (any::<u32>(), any::<u32>()).prop_map(|(epoch, attempt)| Token { epoch, attempt })
}

fn offer() -> impl Strategy<Value = Offer> {
    let tags = prop::collection::vec(".{0,4}", 0..3);
    (
        any::<u32>(),
        any::<Option<u64>>(),
        tags,
        any::<Option<u64>>(),
        any::<Option<u32>>(),
        any::<bool>(),
    )
        .prop_map(|(cpus, memory, tags, until, client, is_shared)| Offer {
            cpus,
            memory,
            tags,
            until,
            client: client.map(ClientId),
            is_shared,
            disk: until,
            benchmark: client,
        })
}

/// Every kind of event, with any content.
fn event() -> impl Strategy<Value = Event> {
    let task = || any::<u64>().prop_map(Task);
    let worker = || any::<u32>().prop_map(WorkerId);
    let cause = prop::sample::select(vec![
        Cause::Exit,
        Cause::Signal,
        Cause::Memory,
        Cause::Time,
        Cause::Output,
        Cause::Start,
    ]);
    let release = prop::sample::select(vec![
        Release::GivenBack,
        Release::Lost,
        Release::Unheard,
        Release::Overdue,
        Release::Redundant,
    ]);
    prop_oneof![
        any::<u32>().prop_map(|epoch| Event::Opened { epoch }),
        any::<u32>().prop_map(|plan| Event::Ordered { plan }),
        (worker(), ".*", offer()).prop_map(|(worker, name, offer)| Event::Joined {
            worker,
            name,
            offer
        }),
        (worker(), any::<bool>()).prop_map(|(worker, lost)| Event::Departed {
            worker,
            why: if lost { Gone::Lost } else { Gone::Left },
        }),
        (task(), token(), worker(), any::<Option<u64>>()).prop_map(|(task, token, worker, due)| {
            Event::Leased {
                task,
                token,
                worker,
                due: due.map(Moment),
            }
        }),
        (task(), token(), worker()).prop_map(|(task, token, worker)| Event::Executed {
            task,
            token,
            worker
        }),
        (task(), token(), any::<i32>(), cause, any::<bool>()).prop_map(
            |(task, token, exit, cause, for_good)| Event::Failed {
                task,
                token,
                exit,
                cause,
                for_good
            }
        ),
        (task(), token(), release, any::<bool>()).prop_map(|(task, token, why, for_good)| {
            Event::Released {
                task,
                token,
                why,
                for_good,
            }
        }),
        (task(), token(), any::<u32>(), any::<[u64; 2]>()).prop_map(
            |(task, token, worker, digest)| Event::Returned {
                task,
                token,
                worker: WorkerId(worker),
                digest: Digest(digest),
            }
        ),
        (any::<u32>(), any::<u64>()).prop_map(|(client, valid)| {
            let mut record = Record::default();
            record.valid += valid;
            Event::Remembered {
                client: ClientId(client),
                record,
            }
        }),
        worker().prop_map(|worker| Event::Forgotten { worker }),
        task().prop_map(|task| Event::Disputed { task }),
        task().prop_map(|task| Event::Cancelled { task }),
        task().prop_map(|task| Event::Revived { task }),
        task().prop_map(|task| Event::Reopened { task }),
        Just(Event::Paused),
        Just(Event::Unpaused),
        any::<i32>().prop_map(|exit| Event::Halted { exit }),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let at = any::<u64>().prop_map(Moment);
    prop::collection::vec(
        (at, event()).prop_map(|(at, event)| Entry { at, event }),
        0..40,
    )
}

fn all(store: &Store) -> Vec<Entry> {
    let mut found = Vec::new();
    let read = store.each_entry(|entry| {
        found.push(entry);
        Ok::<(), String>(())
    });
    read.unwrap();
    found
}

fn flow(digest: u64) -> FlowRecord {
    FlowRecord {
        digest,
        fingerprints: vec![1, u64::MAX],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Whatever happened is read back as it was, also after a restart, however it was grouped.
    #[test]
    fn every_event_comes_back_from_the_store(groups in prop::collection::vec(entries(), 1..4)) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(folder.path(), Sync::Normal).unwrap();
        for group in &groups {
            store.append(group).unwrap();
        }
        let written = groups.concat();
        prop_assert_eq!(&all(&store), &written);
        drop(store);
        let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
        prop_assert_eq!(&all(&store), &written);
        store.append(&groups[0]).unwrap();
        prop_assert_eq!(all(&store), [written, groups[0].clone()].concat());
    }
}

fn leased(task: u64) -> Entry {
    let event = Event::Leased {
        task: Task(task),
        token: Token::default(),
        worker: WorkerId(0),
        due: None,
    };
    let at = Moment(7);
    Entry { at, event }
}

#[test]
fn a_flow_its_order_its_stamps_and_values_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    assert_eq!(store.flow().unwrap(), None);
    assert_eq!(store.names().unwrap(), Vec::<String>::new());
    let stamp = Stamp {
        task: Task(1),
        inputs: u64::MAX,
        outputs: 3,
    };
    let group = Group {
        entries: vec![leased(1)],
        stamps: vec![stamp],
        orders: vec![(4, vec![1, 0])],
        ..Group::default()
    };
    let names = ["a\n\0\"", "b ▷"];
    store
        .begin_flow(&flow(5), names.into_iter(), &group)
        .unwrap();
    store.set_meta("boot", "x").unwrap();
    drop(store);
    let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    assert_eq!(store.flow().unwrap(), Some(flow(5)));
    assert_eq!(store.names().unwrap(), names);
    assert_eq!(store.stamps().unwrap(), [stamp]);
    assert_eq!(store.order(4).unwrap(), Some(vec![1, 0]));
    assert_eq!(store.order(5).unwrap(), None);
    assert_eq!(store.meta("boot").unwrap().as_deref(), Some("x"));
    assert_eq!(store.meta("other").unwrap(), None);
    assert_eq!(all(&store), [leased(1)]);
    store.set_fingerprints(&[9, 9], &Group::default()).unwrap();
    assert_eq!(store.flow().unwrap().unwrap().fingerprints, [9, 9]);
    // Another flow: its log begins anew, the old one stays in the file.
    let group = Group {
        entries: vec![leased(0)],
        ..Group::default()
    };
    store
        .begin_flow(&flow(6), ["c", "d"].into_iter(), &group)
        .unwrap();
    assert_eq!(all(&store), [leased(0)]);
    assert_eq!(store.names().unwrap(), ["c", "d"]);
    assert_eq!(store.stamps().unwrap(), []);
    let rows = "SELECT count(*) FROM history";
    let rows: i64 = store
        .db
        .database
        .query_row(rows, [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 2);
    store.check().unwrap();
}

#[test]
fn after_a_snapshot_only_later_events_are_read_and_numbers_never_come_again() {
    let dag = cairn_dag::Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let position = cairn_engine::Frozen::new(&dag);
    let rules = cairn_engine::Rules::default();
    let engine = cairn_engine::Engine::new(position, rules, cairn_engine::Order::AsNumbered);
    let snapshot = engine.snapshot();
    for forget in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
        store
            .begin_flow(&flow(1), ["a", "b"].into_iter(), &Group::default())
            .unwrap();
        assert_eq!(store.snapshot().unwrap(), None);
        store.append(&[leased(0), leased(1)]).unwrap();
        store.save_snapshot(Moment(1), &snapshot, forget).unwrap();
        assert_eq!(all(&store), []);
        drop(store);
        let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
        assert_eq!(store.snapshot().unwrap(), Some(snapshot.clone()));
        store.append(&[leased(2)]).unwrap();
        assert_eq!(all(&store), [leased(2)]);
        let last = "SELECT max(seq) FROM event";
        let last: i64 = store
            .db
            .database
            .query_row(last, [], |row| row.get(0))
            .unwrap();
        assert_eq!(last, 3);
        // A snapshot of an earlier flow is none of this one.
        store
            .begin_flow(&flow(2), ["c"].into_iter(), &Group::default())
            .unwrap();
        assert_eq!(store.snapshot().unwrap(), None);
    }
}

/// Whatever an earlier start left beside: the new store is empty, whole and alone in its folder.
#[test]
fn a_new_store_has_nothing_of_what_was_left_half_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut old = Store::create_or_open(at, Sync::Full).unwrap();
    old.append(&[leased(1)]).unwrap();
    // Its log, as a killed process leaves it, once as that of a half-made file and once as that of a lost one.
    for name in ["cairn.new", "cairn.db"] {
        let log = at.join(format!("{name}-wal"));
        let other = at.join("kept");
        std::fs::copy(at.join("cairn.db-wal"), &other).unwrap();
        drop(old);
        std::fs::remove_file(at.join(FILE)).unwrap();
        std::fs::rename(other, log).unwrap();
        std::fs::write(at.join("cairn.new"), "half").unwrap();
        old = Store::create_or_open(at, Sync::Full).unwrap();
        old.check().unwrap();
        assert_eq!(all(&old), [], "{name}");
        let beside = std::fs::read_dir(at)
            .unwrap()
            .map(|e| e.unwrap().file_name());
        let half = |name: &std::ffi::OsString| name.to_string_lossy().contains("new");
        assert_eq!(beside.filter(half).count(), 0, "{name}");
        old.append(&[leased(1)]).unwrap();
    }
}

#[test]
fn a_store_is_open_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    let pid = Some(std::process::id());
    let again = Store::create_or_open(folder.path(), Sync::Full).unwrap_err();
    let folder_ = folder.path().to_owned();
    assert_eq!(
        again,
        StoreError::InUse {
            folder: folder_,
            pid
        }
    );
    drop(store);
    Store::create_or_open(folder.path(), Sync::Full).unwrap();
}

#[test]
fn what_is_newer_foreign_or_damaged_is_refused_and_left_alone() {
    let open = |folder: &Path| Store::create_or_open(folder, Sync::Full).map(|_| ());
    let with = |sql: &str| {
        let folder = tempfile::tempdir().unwrap();
        let other = Connection::open(folder.path().join(FILE)).unwrap();
        other.execute_batch(sql).unwrap();
        folder
    };
    let newer = with(&format!(
        "CREATE TABLE event (seq); PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 99"
    ));
    let look = |folder: &Path| Reader::open(folder).map(|_| ());
    for opened in [open(newer.path()), look(newer.path())] {
        assert!(matches!(opened, Err(StoreError::Newer { found: 99, .. })));
    }
    let foreign = with("CREATE TABLE bookmark (url)");
    for opened in [open(foreign.path()), look(foreign.path())] {
        assert!(matches!(opened, Err(StoreError::NotOurs { .. })));
    }
    let text = tempfile::tempdir().unwrap();
    let content = "no database at all, but long enough to be one. ".repeat(200);
    std::fs::write(text.path().join(FILE), &content).unwrap();
    assert!(matches!(open(text.path()), Err(StoreError::Damaged { .. })));
    let kept = std::fs::read_to_string(text.path().join(FILE)).unwrap();
    assert_eq!(kept, content);
}

/// A store as a program of version 1 left it is read, goes on, and is refused by that program from then on, as one of a newer
/// version and not as damaged.
#[test]
fn a_store_of_version_1_goes_on_and_tells_earlier_programs_that_it_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let (earlier, words) = (
        &MIGRATIONS[..1],
        [
            "(1, 10, 'opened', NULL, 1, 0, NULL, NULL, NULL, NULL, NULL)",
            "(2, 11, 'joined', NULL, NULL, NULL, 0, NULL, NULL, NULL, '{\"name\":\"w\",\"offer\":{\"cpus\":2,\"memory\":null,\"tags\":[],\"until\":null}}')",
            "(3, 12, 'leased', 7, 1, 1, 0, NULL, NULL, NULL, NULL)",
            "(4, 13, 'failed', 7, 1, 1, NULL, 2, 'exit', 0, NULL)",
            "(5, 14, 'leased', 7, 1, 2, 0, NULL, NULL, NULL, NULL)",
            "(6, 15, 'released', 7, 1, 2, NULL, NULL, 'given-back', 0, NULL)",
            "(7, 16, 'departed', NULL, NULL, NULL, 0, NULL, 'left', NULL, NULL)",
        ],
    );
    let mut old = Connection::open(&path).unwrap();
    migrate(&mut old, &path, earlier).unwrap().unwrap();
    old.execute_batch(&format!("INSERT INTO event VALUES {}", words.join(", ")))
        .unwrap();
    drop(old);
    // Whoever only looks needs no step, and takes none.
    let seen = Reader::open(folder.path())
        .unwrap()
        .entries(0, 100)
        .unwrap();
    assert_eq!(seen.len(), words.len());
    let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    let before = all(&store);
    assert_eq!(before, seen.into_iter().map(|(_, e)| e).collect::<Vec<_>>());
    assert!(matches!(&before[1].event, Event::Joined { offer, .. } if offer.cpus == 2));
    let token = Token {
        epoch: 1,
        attempt: 3,
    };
    let news = [
        Event::Forgotten {
            worker: WorkerId(0),
        },
        Event::Released {
            task: Task(7),
            token,
            why: Release::Redundant,
            for_good: false,
        },
    ]
    .map(|event| Entry {
        at: Moment(17),
        event,
    });
    store.append(&news).unwrap();
    assert_eq!(all(&store), [&before[..], &news].concat());
    drop(store);
    let mut again = Connection::open(&path).unwrap();
    let refused = migrate(&mut again, &path, earlier).unwrap();
    let (found, known) = (2, 1);
    assert_eq!(
        refused,
        Err(StoreError::Newer {
            path: path.clone(),
            found,
            known
        })
    );
    drop(again);
    let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    assert_eq!(all(&store).len(), words.len() + news.len(), "left as it is");
}

#[test]
fn an_event_that_nobody_can_have_written_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    let ok = |_| Ok::<(), String>(());
    for sql in [
        "INSERT INTO event (at, kind) VALUES (1, 'sung')",
        "INSERT INTO event (at, kind) VALUES (1, 'leased')",
        "INSERT INTO event (at, kind, task, epoch, attempt, exit, cause, for_good) VALUES (1, 'failed', 1, 1, 1, 1, 'why', 0)",
        "INSERT INTO event (at, kind, worker, info) VALUES (1, 'joined', 1, '{')",
        "INSERT INTO event (at, kind, task, epoch, attempt, worker) VALUES (1, 'leased', 1, 99999999999, 1, 1)",
    ] {
        store.db.database.execute(sql, []).unwrap();
        let read = store.each_entry(ok);
        assert!(
            matches!(read, Err(StoreError::Damaged { .. })),
            "{sql}: {read:?}"
        );
        store.db.database.execute("DELETE FROM event", []).unwrap();
    }
    store.append(&[leased(1)]).unwrap();
    let read = store.each_entry(|_| Err("cannot have happened"));
    let error = read.unwrap_err().to_string();
    assert!(error.contains("cannot have happened"), "{error}");
}

#[test]
fn the_writer_commits_all_in_order_and_gives_the_store_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    let writer = Writer::new(store, std::time::Duration::from_millis(10)).unwrap();
    let group = |tasks: std::ops::Range<u64>| Group {
        entries: tasks.map(leased).collect(),
        ..Group::default()
    };
    for i in 0..50 {
        writer.send(&mut group(10 * i..10 * i + 10)).unwrap();
        if i % 20 == 0 {
            writer.flush().unwrap();
        }
    }
    let store = writer.close().unwrap();
    assert_eq!(all(&store), (0..500).map(leased).collect::<Vec<_>>());
}

/// Needs no right to fill disks: the database refuses to grow as if the disk were full.
#[test]
fn a_full_disk_is_said_and_what_was_committed_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    store.append(&[leased(0)]).unwrap();
    let pages: i64 = (store
        .db
        .database
        .pragma_query_value(None, "page_count", |row| row.get(0)))
    .unwrap();
    store
        .db
        .database
        .pragma_update(None, "max_page_count", pages + 1)
        .unwrap();
    let writer = Writer::new(store, std::time::Duration::ZERO).unwrap();
    let mut many = Group {
        entries: (0..5000).map(leased).collect(),
        ..Group::default()
    };
    writer.send(&mut many).unwrap();
    assert!(matches!(writer.flush(), Err(StoreError::Full { .. })));
    let mut more = Group {
        entries: vec![leased(1)],
        ..Group::default()
    };
    assert!(matches!(
        writer.send(&mut more),
        Err(StoreError::Full { .. })
    ));
    assert!(writer.close().is_err());
    let store = Store::create_or_open(folder.path(), Sync::Full).unwrap();
    assert_eq!(all(&store), [leased(0)]);
}

/// Seconds of a processor that this thread has had.
fn spent() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split_whitespace().next().unwrap().parse::<f64>();
    nanoseconds.unwrap() / 1e9
}

#[test]
fn events_are_appended_fast_enough() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(folder.path(), Sync::Normal).unwrap();
    let group: Vec<Entry> = (0..1000).map(leased).collect();
    let before = spent();
    for _ in 0..50 {
        store.append(&group).unwrap();
    }
    let rate = 50_000.0 / (spent() - before);
    // Ten times less than an idle machine does with optimised code. Of the processor: how long a disk takes is not ours.
    assert!(rate > 20_000.0, "{rate:.0} events/s");
}

/// A family that is never written down: the log is replaced by what it comes to now and then, the file stays small, and what
/// is read back is the state.
#[test]
fn a_compacted_log_stays_small_and_says_the_same() {
    use cairn_engine::{Engine, Implicit, Order, Outbox, Outcome, Position, Rules};
    use cairn_theory::families::EvolvingMesh;
    use cairn_theory::game::Standing;
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create_or_open(folder.path(), Sync::Normal).unwrap();
    let mesh = || Implicit::new(Box::new(EvolvingMesh::infinite()));
    let mut engine = Engine::new(mesh(), Rules::default(), Order::AsNumbered);
    let (mut out, now) = (Outbox::default(), Moment(0));
    engine.open(now, &mut out);
    let worker = engine.join(now, "w", Offer::cpus(3), &mut out);
    let record = FlowRecord {
        digest: 1,
        fingerprints: Vec::new(),
    };
    (store.begin_flow(&record, std::iter::empty(), &Group::default())).unwrap();
    let mut pending = Group::default();
    for round in 0..60 {
        for _ in 0..1000 {
            engine.ask(now, worker, 3, &mut out).ok();
            let held = &engine.workers()[0].holds;
            let (task, token) = held[round % held.len()];
            engine.give_back(now, task, token, Outcome::Executed, &mut out);
        }
        let mut group = Group::default();
        group.entries.append(&mut out.entries);
        if round % 10 == 4 {
            group.snapshot = Some(Condensed {
                after: group.entries.len(),
                at: now,
                state: engine.snapshot(),
                forgets: true,
            });
        }
        pending.take(&mut group);
        if round % 3 == 0 {
            store.append_group(&pending).unwrap();
            pending = Group::default();
        }
    }
    store.append_group(&pending).unwrap();
    let snapshot = store.snapshot().unwrap().expect("there is one");
    let mut again = Engine::restore(mesh(), Rules::default(), Order::AsNumbered, snapshot).unwrap();
    let mut replayed = 0;
    let replay = |entry: Entry| {
        replayed += 1;
        again.replay(&entry)
    };
    store.each_entry(replay).unwrap();
    assert!(replayed < 20_000, "{replayed}");
    assert_eq!(again.snapshot(), engine.snapshot());
    let executed = again.position().count(Standing::Executed);
    assert_eq!(executed, Some(60_000));
    drop(store);
    let size = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
    assert!(size < 3_000_000, "{size} bytes");
}
