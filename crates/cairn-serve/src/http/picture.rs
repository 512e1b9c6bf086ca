//! The state of a run in the words of status, metrics and journal. Knows no requests.

use super::desk::Picture;
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
    let mut text = String::new();
    let mut head = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let tasks: Vec<_> = (Standing::ALL.iter().zip(picture.counts))
        .filter_map(|(standing, count)| {
            Some((format!("{{state=\"{}\"}}", standing.name()), count? as f64))
        })
        .collect();
    head("cairn_tasks", "gauge", "Tasks by state.", &tasks);
    let one = |value: f64| [(String::new(), value)];
    let here = picture.workers.iter().filter(|(_, w, _)| w.is_here).count() as f64;
    head(
        "cairn_workers",
        "gauge",
        "Workers that are here.",
        &one(here),
    );
    head(
        "cairn_late",
        "gauge",
        "Attempts that should be back and are not.",
        &one(picture.late as f64),
    );
    let tally = &picture.tally;
    let polls = tally.polls as f64;
    head(
        "cairn_long_polls",
        "gauge",
        "Requests that wait for a task.",
        &one(polls),
    );
    let quantile = |q: &str| format!("{{quantile=\"{q}\"}}");
    let quantiles = ["0.5", "0.99", "0.999", "1"];
    let quantiles =
        quantiles.map(|q| (quantile(q), tally.commit_quantile(q.parse().unwrap_or(1.0))));
    let (commits, events) = (tally.commits as f64, tally.events as f64);
    let sums = [
        ("_sum".to_owned(), tally.commit_micros as f64 / 1e6),
        ("_count".to_owned(), commits),
    ];
    head(
        "cairn_commit_seconds",
        "summary",
        "How long commits took since the start.",
        &[&quantiles[..], &sums[..]].concat(),
    );
    head(
        "cairn_commits_total",
        "counter",
        "Groups of events on the disk since the start.",
        &one(commits),
    );
    head(
        "cairn_events_total",
        "counter",
        "Events on the disk since the start.",
        &one(events),
    );
    let paused = f64::from(u8::from(picture.is_paused));
    head(
        "cairn_paused",
        "gauge",
        "1 while nothing is leased.",
        &one(paused),
    );
    if let Some(storage) = &picture.storage {
        let kinds = [
            ("cap", storage.cap),
            ("cap_now", storage.cap_now),
            ("used", storage.used),
            ("reserved", storage.reserved),
            ("peak", storage.peak),
            ("free", storage.free),
        ];
        let kinds = kinds.map(|(kind, bytes)| (format!("{{kind=\"{kind}\"}}"), bytes as f64));
        head(
            "cairn_storage_bytes",
            "gauge",
            "The disk under its cap.",
            &kinds,
        );
    }
    let uptime = picture.uptime.as_secs_f64();
    head(
        "cairn_uptime_seconds",
        "gauge",
        "How long this start has lasted.",
        &one(uptime),
    );
    text
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
