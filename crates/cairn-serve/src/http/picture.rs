//! The state of a run in the words of status, metrics and journal. Knows no requests.

use super::desk::{Picture, Tally};
use super::tasks::Tasks;
use super::types::{Presence, Status, TrustStatus, WorkerStatus};
use cairn_engine::{Entry, Task};
use cairn_theory::game::Standing;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What `status` says.
pub(crate) fn status(tasks: Option<u64>, picture: Picture) -> Status {
    let [
        waiting,
        eligible,
        leased,
        executed,
        failed,
        aborted,
        cancelled,
    ] = picture.counts;
    let workers =
        picture
            .workers
            .into_iter()
            .zip(picture.learnt)
            .map(|((id, worker, record), learnt)| WorkerStatus {
                worker: id.0,
                trust: worker
                    .client()
                    .zip(record)
                    .map(|(client, record)| TrustStatus {
                        volunteer: client.0,
                        valid: record.valid,
                        invalid: record.invalid,
                        errors: record.errors,
                        late: record.late,
                        in_a_row: record.row,
                        quota: record.quota,
                    }),
                state: match (worker.is_here, worker.was_lost) {
                    (true, _) => Presence::Here,
                    (false, true) => Presence::Lost,
                    (false, false) => Presence::Left,
                },
                speed: learnt.map(|l| l.speed),
                turnaround: learnt.and_then(|l| l.turnaround),
                reliability: learnt.map(|l| l.reliability),
                leased: worker.holds.len() as u64,
                lost: worker.lost,
                executed: worker.executed,
                failed: worker.failed,
                last_seen: worker.last_seen.0 as f64 / 1e6,
                cpus: worker.offer.cpus,
                tags: worker.offer.tags,
                name: worker.name,
            });
    Status {
        tasks,
        waiting,
        eligible,
        leased,
        executed,
        failed,
        aborted,
        cancelled,
        paused: picture.is_paused,
        finished: picture.is_over,
        halted: picture.halted,
        epoch: picture.epoch,
        plan: picture.plan,
        order: picture.about,
        uptime_seconds: picture.uptime.as_secs_f64(),
        copies: picture.volunteering.map(|(copies, _)| copies),
        validating: picture.volunteering.map(|(_, validating)| validating),
        late: picture.late,
        workers: workers.collect(),
        storage: picture.storage,
    }
}

/// The text that Prometheus reads.
pub(crate) fn metrics(picture: &Picture) -> String {
    let mut text = Exposition(String::new());
    let tasks: Vec<_> = (Standing::ALL.iter().zip(picture.counts))
        .filter_map(|(standing, count)| Some((label("state", standing.name()), count? as f64)))
        .collect();
    text.all("cairn_tasks", "gauge", "Tasks by state.", &tasks);
    let here = picture.workers.iter().filter(|(_, w, _)| w.is_here).count() as f64;
    text.gauge("cairn_workers", "Workers that are here.", here);
    let help = "Attempts that should be back and are not.";
    text.gauge("cairn_late", help, picture.late as f64);
    let polls = picture.tally.polls as f64;
    text.gauge("cairn_long_polls", "Requests that wait for a task.", polls);
    text.commits(&picture.tally);
    let paused = f64::from(u8::from(picture.is_paused));
    text.gauge("cairn_paused", "1 while nothing is leased.", paused);
    if let Some(storage) = &picture.storage {
        let kinds = [
            ("cap", storage.cap),
            ("cap_now", storage.cap_now),
            ("used", storage.used),
            ("reserved", storage.reserved),
            ("peak", storage.peak),
            ("free", storage.free),
        ];
        let kinds = kinds.map(|(kind, bytes)| (label("kind", kind), bytes as f64));
        let help = "The disk under its cap.";
        text.all("cairn_storage_bytes", "gauge", help, &kinds);
    }
    let uptime = picture.uptime.as_secs_f64();
    let help = "How long this start has lasted.";
    text.gauge("cairn_uptime_seconds", help, uptime);
    text.0
}

fn label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{value}\"}}")
}

/// Numbers in the form that Prometheus reads.
struct Exposition(String);

impl Exposition {
    /// One metric: each value behind what tells it from the others.
    fn all(&mut self, name: &str, kind: &str, help: &str, values: &[(String, f64)]) {
        let text = &mut self.0;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.all(name, "gauge", help, &[(String::new(), value)]);
    }

    fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.all(name, "counter", help, &[(String::new(), value)]);
    }

    fn commits(&mut self, tally: &Tally) {
        let mut values: Vec<(String, f64)> = (["0.5", "0.99", "0.999", "1"].iter())
            .map(|q| {
                (
                    label("quantile", q),
                    tally.commit_quantile(q.parse().unwrap_or(1.0)),
                )
            })
            .collect();
        let (commits, events) = (tally.commits as f64, tally.events as f64);
        values.push(("_sum".to_owned(), tally.commit_micros as f64 / 1e6));
        values.push(("_count".to_owned(), commits));
        let help = "How long commits took since the start.";
        self.all("cairn_commit_seconds", "summary", help, &values);
        let help = "Groups of events on the disk since the start.";
        self.counter("cairn_commits_total", help, commits);
        let help = "Events on the disk since the start.";
        self.counter("cairn_events_total", help, events);
    }
}

/// An event as one line of JSON: its number and time, its kind, and its fields side by side; tasks by name.
pub(crate) fn line(seq: i64, entry: &Entry, tasks: &dyn Tasks) -> String {
    let mut line = Map::new();
    line.insert("seq".into(), json!(seq));
    line.insert("at".into(), json!(entry.at.0 as f64 / 1e6));
    let event = serde_json::to_value(&entry.event).unwrap_or(Value::Null);
    match event {
        Value::Object(kinds) => {
            for (kind, fields) in kinds {
                line.insert("event".into(), Value::String(kind));
                if let Value::Object(mut fields) = fields {
                    // The number as well: it is what leases and logs go by.
                    if let Some(id) = fields.remove("task") {
                        let name = id.as_u64().and_then(|id| tasks.name(Task(id)));
                        line.insert("task".into(), json!(name));
                        line.insert("id".into(), id);
                    }
                    if let Some(Value::Object(token)) = fields.remove("token") {
                        line.extend(token);
                    }
                    if let Some(due) = fields.remove("due").and_then(|due| due.as_u64()) {
                        line.insert("due".into(), json!(due as f64 / 1e6));
                    }
                    line.extend(fields);
                }
            }
        }
        bare => drop(line.insert("event".into(), bare)),
    }
    format!("{}\n", Value::Object(line))
}
