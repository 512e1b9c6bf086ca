//! `cairn run --report`: what happened, as one HTML file. That it cannot be written does not change how a run ended.

use super::Settings;
use crate::commands::family::Wanted;
use crate::commands::pictures::{short_name, write_bytes};
use crate::commands::sight::{self, Cells};
use crate::failure::Failure;
use crate::output::Output;
use crate::{screen, spare};
use cairn_dag::{Flow, plain};
use cairn_engine::Rules;
use cairn_serve::live::{StorageTold, Subject};
use cairn_serve::report::{Shown, of_store};
use cairn_serve::run::Summary;
use std::time::Duration;

/// The longest that a bound is looked for.
const BOUNDING: Duration = Duration::from_secs(10);

/// The workflow is never written over.
pub(super) fn check(settings: &Settings) -> Result<(), Failure> {
    let cure = "give another name to --report";
    match &settings.flags.report {
        Some(path) => spare::none_of(&[&settings.input.file], path, cure),
        None => Ok(()),
    }
}

/// After the run of a flow, where a report is wanted.
pub(super) fn write_flow(
    settings: &Settings,
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
    write(settings, flow, rules, shown, out);
}

/// The same of a family.
pub(super) fn write_family(settings: &Settings, wanted: &Wanted, rules: &Rules, out: &Output) {
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
    write(settings, &cells, rules, shown, out);
}

fn write(
    settings: &Settings,
    subject: &dyn Subject,
    rules: &Rules,
    shown: Shown<'_>,
    out: &Output,
) {
    let Some(path) = &settings.flags.report else {
        return;
    };
    let saved = of_store(&settings.state, subject, rules, shown).map_err(|e| e.to_string());
    let written = saved.and_then(|saved| {
        write_bytes(path, saved.html().as_bytes()).map_err(|e| match e {
            Failure::Usage { message, .. } => message,
            _ => "nobody reads it".to_owned(),
        })
    });
    match written {
        Ok(()) => out.remark(&format!("wrote {}", screen::path(path))),
        Err(why) => out.complain(&format!("warning: no report was written: {}", plain(&why))),
    }
}
