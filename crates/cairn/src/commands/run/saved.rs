//! `cairn run --report`: what happened, as one HTML file. That it cannot be written does not change how a run ended.

use crate::budgets::BOUNDING;
use crate::commands::family::Wanted;
use crate::commands::pictures::{short_name, write_bytes};
use crate::commands::sight::{self, Cells};
use crate::failure::Failure;
use crate::output::Output;
use crate::screen;
use cairn_dag::{Flow, plain};
use cairn_engine::Rules;
use cairn_serve::live::{StorageTold, Subject};
use cairn_serve::report::{Shown, of_store};
use cairn_serve::run::Summary;
use std::path::Path;

/// Where it goes, if it is wanted, and the state of the run that it tells of.
#[derive(Clone, Copy)]
pub(super) struct Report<'a> {
    pub(super) path: Option<&'a Path>,
    pub(super) state: &'a Path,
}

/// After the run of a flow, where a report is wanted.
pub(super) fn write_flow(
    report: Report<'_>,
    flow: &Flow,
    rules: &Rules,
    name: &str,
    summary: &Summary,
    out: &Output,
) {
    let bound = sight::bound_within(flow, BOUNDING);
    let storage = summary.usage.as_ref().map(|usage| StorageTold {
        used: usage.used,
        cap: usage.cap,
        reserved: usage.reserved,
        peak: Some(usage.peak),
    });
    let shown = Shown {
        title: short_name(&plain(name)).to_owned(),
        tasks: Some(flow.dag().len() as u64),
        map: sight::map(flow),
        bound: Some(&bound),
        profile: None,
        storage,
    };
    write(report, flow, rules, shown, out);
}

/// The same of a family.
pub(super) fn write_family(report: Report<'_>, wanted: &Wanted, rules: &Rules, out: &Output) {
    let cells = Cells::of_run(wanted);
    let known = cells.own_profile();
    let (profile, bound) = known.map_or((None, None), |(p, bound)| (Some(p), Some(bound)));
    let shown = Shown {
        title: wanted.name.clone(),
        tasks: wanted.shape().tasks(),
        map: None,
        bound: bound.as_ref(),
        profile,
        storage: None,
    };
    write(report, &cells, rules, shown, out);
}

fn write(report: Report<'_>, subject: &dyn Subject, rules: &Rules, shown: Shown<'_>, out: &Output) {
    let Some(path) = report.path else {
        return;
    };
    let saved = of_store(report.state, subject, rules, shown).map_err(|e| e.to_string());
    // A run may have taken hours: for want of a folder nothing is thrown away.
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let written = saved.and_then(|saved| {
        write_bytes(path, saved.html().as_bytes()).map_err(|e| match e {
            // The run has ended as it has: its exit code must not hang on a report.
            Failure::Usage { message, .. } => message,
            _ => "nobody reads it".to_owned(),
        })
    });
    match written {
        Ok(()) => out.remark(&format!("wrote {}", screen::path(path))),
        Err(why) => out.complain(&format!("warning: no report was written: {}", plain(&why))),
    }
}
