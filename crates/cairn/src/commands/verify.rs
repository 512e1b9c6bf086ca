//! `cairn verify`: accepts or rejects a certificate. The checker is a crate of its own.

use crate::cli;
use crate::failure::Failure;
use crate::input::{self, Named, Read};
use crate::layout;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::plain;
use cairn_formats::{ReadLimits, Report, Source};
use cairn_verify::{Accepted, parse, verify};
use serde_json::json;

/// Which certificate is checked, against what, checked itself as far as flags go.
pub(crate) struct Settings {
    flags: cli::Verify,
}

impl Settings {
    pub(crate) fn new(flags: cli::Verify) -> Result<Settings, Failure> {
        let read = Named::new(&flags.input, &flags.executed);
        read.and("the certificate", [&flags.certificate])
            .checked()?;
        Ok(Settings { flags })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    let read = input::read_rest(&flags.input, &flags.executed, out)?;
    let mut report = Report::default();
    let source = Source::load(&flags.certificate, &ReadLimits::default(), &mut report);
    // A certificate that cannot be read is no rejection: exit codes tell them apart.
    let source = source.ok_or(Failure::Input(report))?;
    let name = &*plain(source.name());
    let certificate = parse(source.text().as_bytes()).map_err(|e| {
        Failure::usage(
            format!("{name} is no certificate: {e}"),
            "make one with `cairn plan FILE --certificate CERTIFICATE`",
        )
    })?;
    if let Some(remark) = other_moment(&read, certificate.dag.tasks) {
        out.remark(&remark);
    }
    match verify(&read.flow, &certificate) {
        Ok(accepted) => {
            let Accepted { proved, asserted } = &accepted;
            let mut value =
                json!({ "accepted": true, "proved": proved, "asserted": asserted, "reason": null });
            read.done.tell(&mut value);
            let verdict = certificate.verdict.to_string();
            out.done(&value, &text(name, &verdict, &accepted))?;
            match asserted.is_empty() || flags.allow_asserted {
                true => Ok(()),
                false => Err(Failure::Unproved),
            }
        }
        Err(rejected) => {
            let reason = rejected.to_string();
            let mut value =
                json!({ "accepted": false, "proved": [], "asserted": [], "reason": reason });
            read.done.tell(&mut value);
            let words = format!("rejected: {}", plain(&reason));
            out.answer(&value, &layout::heading(name, &words, layout::width()))?;
            Err(Failure::No)
        }
    }
}

/// What to say where the certificate may be about the same workflow with other tasks left.
fn other_moment(read: &Read, certified: u64) -> Option<String> {
    let left = read.flow.dag().len();
    // No more than the whole workflow has: else it is a certificate of something else, and the rejection says so.
    let is_other = certified != left as u64 && certified <= read.done.whole() as u64;
    is_other.then(|| {
        format!(
            "the certificate is about {certified} tasks, and {left} are left here{}: a certificate of a half-run \
             workflow is checked with the same tasks executed (--executed, --no-rescue)",
            read.done.aside()
        )
    })
}

fn text(name: &str, verdict: &str, accepted: &Accepted) -> String {
    let Accepted { proved, asserted } = accepted;
    let how = match asserted.len() {
        0 => "all of it proved".to_owned(),
        count => format!("{} only asserted", counted(count, "claim")),
    };
    let width = layout::width();
    let words = format!("accepted, verdict {}, {how}", plain(verdict));
    let mut text = layout::heading(name, &words, width);
    let lines = (proved.iter().map(|line| ("proved", line)))
        .chain(asserted.iter().map(|line| ("asserted", line)));
    for (kind, line) in lines {
        // What a certificate says is quoted in these lines, and must not look like one: no line end and no row of blanks
        // of it is left, and where a line is folded, the rest of it hangs far from the margin.
        text += &layout::hanging(&format!("  {kind:<9} "), &plain(line), width);
    }
    text
}
