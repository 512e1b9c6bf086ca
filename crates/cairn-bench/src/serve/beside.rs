//! The server with all that it can do beside handing out tasks: learning, dispatch, volunteers, pages that watch.

use super::{SECONDS, SERVER, Server, TASKS, be_server, cycles};
use cairn_dag::Flow;
use cairn_engine::{Expected, KindId, Placing, Rules};
use cairn_serve::http::{Beforehand, Sight};
use cairn_serve::live::{Bound, DagMap, Subject};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So many volunteers have a token each.
pub(super) const VOLUNTEERS: u32 = 8;

pub(super) fn tokens_of_volunteers(state: &Path) -> Vec<String> {
    let of = |n: u32| std::fs::read_to_string(state.join(format!("tokens/volunteer-{n}")));
    let of = |n| of(n).expect("a token").trim().to_owned();
    (1..=VOLUNTEERS).map(of).collect()
}

/// What a server does beside handing out tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    /// It learns speeds, and goes by the order.
    Learns,
    /// It learns, and tasks go by speeds.
    Aware,
    /// It learns, and all workers are volunteers: two equal results a task.
    Volunteers,
}

impl Beside {
    pub(super) fn name(self) -> &'static str {
        match self {
            Beside::Nothing => "",
            Beside::Learns => "learns",
            Beside::Aware => "aware",
            Beside::Volunteers => "volunteers",
        }
    }

    pub(super) fn of(name: &str) -> Beside {
        let all = [Beside::Learns, Beside::Aware, Beside::Volunteers];
        let found = all.into_iter().find(|beside| beside.name() == name);
        found.unwrap_or(Beside::Nothing)
    }

    pub(super) fn rules(self) -> Rules {
        let mut rules = Rules::default();
        if self == Beside::Volunteers {
            rules.distrust.earned = None;
            rules.distrust.most = 100_000;
        }
        rules
    }

    pub(super) fn watch(self, tasks: usize) -> Beforehand {
        if self == Beside::Nothing {
            return Beforehand::default();
        }
        Beforehand {
            expected: Expected {
                seconds: vec![Some(1.0); tasks],
                kind: vec![KindId(0); tasks],
                kinds: vec!["true".to_owned()],
            },
            placing: match self {
                Beside::Aware => Placing::BySpeed,
                _ => Placing::ByOrder,
            },
            ..Beforehand::default()
        }
    }
}

/// The band as a page sees it, without a drawing and a bound: those are made once.
pub(super) struct Seen(pub(super) Arc<Flow>);

impl Sight for Seen {
    fn subject(&self) -> &dyn Subject {
        &*self.0
    }

    fn title(&self) -> String {
        "band".to_owned()
    }

    fn map(&self) -> Option<(DagMap, Vec<u32>)> {
        None
    }

    fn bound(&self) -> Option<Arc<Bound>> {
        None
    }
}

/// Somebody who watches and reads all that comes, until told to stop. How many bytes.
fn watch(server: &Server, stop: &AtomicBool) -> u64 {
    let stream = TcpStream::connect(&server.address).expect("a connection");
    let short = Some(Duration::from_millis(100));
    stream.set_read_timeout(short).expect("a socket");
    let mut stream = stream;
    let request = format!(
        "GET /api/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        server.token
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let (mut bytes, mut piece) = (0, vec![0; 1 << 16]);
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => bytes += n as u64,
            // Nothing came for a while.
            Err(_) => (),
        }
    }
    bytes
}

/// The server with all that it can do beside: cycles a second, and processor time of the server a cycle, which others who
/// use the machine change little.
pub fn run() {
    if let Some(state) = std::env::var_os(SERVER) {
        return be_server(Path::new(&state));
    }
    let seconds = std::env::var("CAIRN_BENCH_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |s| s.parse().expect("seconds"));
    let folder = tempfile::tempdir().expect("a folder");
    println!(
        "connections x batch: cycles/s, µs of the server's processors a cycle, and both beside the first row"
    );
    let rows = [
        ("nothing beside", Beside::Nothing, 0),
        ("learns speeds", Beside::Learns, 0),
        ("by speeds (aware)", Beside::Aware, 0),
        ("learns, 1 watcher", Beside::Learns, 1),
        ("learns, 50 watchers", Beside::Learns, 50),
        ("aware, 50 watchers", Beside::Aware, 50),
        ("volunteers, 50 watchers", Beside::Volunteers, 50),
    ];
    for (connections, batch) in [(64, 100), (64, 16), (64, 1)] {
        println!("  {connections} x {batch}");
        let mut first = None;
        for (number, (name, beside, watchers)) in rows.into_iter().enumerate() {
            let state = folder.path().join(format!("{batch}-{number}"));
            let server = Server::start_with(&state, TASKS, false, beside);
            let stop = AtomicBool::new(false);
            let (rate, cpu, told) = std::thread::scope(|scope| {
                let watching: Vec<_> = (0..watchers)
                    .map(|_| scope.spawn(|| watch(&server, &stop)))
                    .collect();
                std::thread::sleep(Duration::from_millis(300));
                let (before, begin) = (server.cpu(), Instant::now());
                let time = Duration::from_secs(seconds);
                let (rate, _) = cycles(&server, (connections, batch), (u64::MAX, time));
                let done = rate * begin.elapsed().as_secs_f64();
                let cpu = 1e6 * (server.cpu() - before) / done;
                stop.store(true, Ordering::Relaxed);
                let told = watching.into_iter().map(|w| w.join().expect("unharmed"));
                (rate, cpu, told.sum::<u64>())
            });
            let &mut (all, least) = first.get_or_insert((rate, cpu));
            println!(
                "    {name:24} {rate:9.0}/s {:5.2}   {cpu:7.2} µs {:5.2}   {:.1} MB told",
                rate / all,
                cpu / least,
                told as f64 / 1e6
            );
            drop(server);
            let _ = std::fs::remove_dir_all(state);
        }
    }
}
