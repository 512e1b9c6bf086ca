//! A run as one HTML file that stands alone: the code of the page, and what it would be told. Serves nothing.

use crate::assets::{SCRIPT, SCRIPT_DIGEST, STYLE, STYLE_DIGEST};
use crate::budgets::report::{LINES, LOGS, NAMED};
use crate::clock::Clock;
use crate::live::{Bound, DagMap, Live, Plan, Scene, StorageTold, Subject, Update, few, profile};
use crate::run::log_name;
use crate::spawn::tail;
use crate::store::{EVENTS, Reader, StoreError};
use cairn_engine::{Illegal, Rules, Task, Token};
use serde::Serialize;
use std::path::Path;

/// What a report has inside.
#[derive(Debug, Serialize)]
pub struct Saved {
    /// When it was made, in seconds since 1970.
    pub made: f64,
    /// What the run is.
    pub scene: Scene,
    /// What its order should give.
    pub plan: Option<Plan>,
    /// Where it stands.
    pub update: Update,
    /// By number of the task; none where there are too many.
    pub names: Option<Vec<String>>,
}

/// What is shown beside what the store has.
pub struct Shown<'a> {
    /// What the run is called.
    pub title: String,
    /// How many tasks there are; none where there is no end of them.
    pub tasks: Option<u64>,
    /// The dag in boxes, and the box of each task.
    pub map: Option<(DagMap, Vec<u32>)>,
    /// What no order exceeds.
    pub bound: Option<&'a Bound>,
    /// What the order gives, where it is not in the store.
    pub profile: Option<Vec<(u64, u64)>>,
    /// How the disk stands, under a cap.
    pub storage: Option<StorageTold>,
}

/// The run in a folder of `cairn run`, as it stands.
///
/// # Errors
/// If the store cannot be read, or is of something else.
pub fn of_store(
    state: &Path,
    subject: &dyn Subject,
    rules: &Rules,
    shown: Shown<'_>,
) -> Result<Saved, StoreError> {
    let (map, box_of) = (shown.map).map_or((None, Vec::new()), |(map, of)| (Some(map), of));
    let reader = Reader::open(state)?;
    let damaged = |e: Illegal| StoreError::Damaged {
        path: state.to_owned(),
        what: e.0,
    };
    let mut live = Live::new(subject, rules, &box_of);
    // Of a family only what happened since is still there.
    if subject.dag().is_none()
        && let Some((seq, at, snapshot)) = reader.snapshot()?
    {
        live.restore(seq, at, &snapshot).map_err(damaged)?;
    }
    loop {
        let entries = reader.entries(live.seq(), EVENTS)?;
        if entries.is_empty() {
            break;
        }
        for (seq, entry) in &entries {
            live.hear(*seq, entry).map_err(damaged)?;
        }
    }
    let now = Clock::new().now();
    let mut update = live.whole(now);
    update.storage = shown.storage;
    for failure in update.failures.iter_mut().flatten().take(LOGS) {
        let token = Token {
            epoch: 0,
            attempt: failure.attempt,
        };
        let name = log_name(&failure.task, Task(failure.id), token);
        failure.log = tail(&state.join("logs").join(name), LINES).ok();
    }
    let order = reader.order(live.plan())?;
    let order = order.map(|order| order.into_iter().map(|task| Task(task.into())));
    // Of the order in force at the end: earlier ones are not on the page either.
    let in_store = order.map(|order| few(&profile(subject, order)));
    let named = shown.tasks.filter(|&many| many <= NAMED);
    Ok(Saved {
        made: now.0 as f64 / 1e6,
        scene: Scene {
            title: shown.title,
            tasks: shown.tasks,
            map,
        },
        plan: shown.profile.or(in_store).map(|profile| Plan {
            order: live.plan(),
            profile,
            bound: shown.bound.map(|bound| few(&bound.eligible)),
            verdict: shown.bound.map(|bound| bound.verdict),
        }),
        update,
        names: named.map(|many| (0..many).map(|t| subject.name(Task(t))).collect()),
    })
}

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

impl Saved {
    /// The file. It asks nobody for anything: only its own script and style may run, and nothing may be fetched.
    pub fn html(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        // Nothing in it ends the element that it is in.
        // In JSON `<` is only ever inside a string, where this stands for it.
        let json = json.replace('<', "\\u003c");
        let (script, style) = (SCRIPT_DIGEST.trim(), STYLE_DIGEST.trim());
        let title = escaped(&self.scene.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; \
             img-src data:; script-src 'sha256-{script}'; style-src 'sha256-{style}'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <noscript>This report needs JavaScript to be shown.</noscript>\n\
             <script type=\"application/json\" id=\"cairn-report\">{json}</script>\n\
             <script>{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_engine::Moment;

    #[test]
    fn nothing_in_a_report_ends_its_script() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
        let dag = cairn_dag::Dag::from_arcs(2, vec![(0, 1)]).unwrap();
        let flow = cairn_dag::Flow::numbered(&dag);
        let rules = Rules::default();
        let live = Live::new(&flow, &rules, &[]);
        let evil = "</script><script>alert(1)</script><!--";
        let saved = Saved {
            made: 0.0,
            scene: Scene {
                title: evil.to_owned(),
                tasks: Some(2),
                map: None,
            },
            plan: None,
            update: live.whole(Moment(5)),
            names: Some(vec![evil.to_owned()]),
        };
        let html = saved.html();
        assert_eq!(html.matches("</script>").count(), 2);
        assert_eq!(html.matches("<script").count(), 2);
        let begin = html.find("id=\"cairn-report\">").unwrap() + "id=\"cairn-report\">".len();
        let end = begin + html[begin..].find("</script>").unwrap();
        let back: serde_json::Value = serde_json::from_str(&html[begin..end]).unwrap();
        assert_eq!(back["names"][0], evil);
    }
}
