//! `cairn gen`: writes a dag of a known family.

use super::convert;
use crate::cli;
use crate::failure::Failure;
use crate::output::Output;
use crate::plural::counted;
use crate::screen;
use crate::spare;
use cairn_dag::{Family, FamilyError, FamilyOptions, Flow};
use cairn_formats::Format;

/// What to make and how to write it, checked.
pub(crate) struct Settings {
    flags: cli::Gen,
    family: Family,
    format: Format,
}

impl Settings {
    pub(crate) fn new(flags: cli::Gen) -> Result<Settings, Failure> {
        let format = convert::output_format(&flags.out, flags.to.as_deref())?;
        spare::has_folder(&flags.out)?;
        let args: Vec<&str> = flags.args.iter().map(String::as_str).collect();
        let options = FamilyOptions {
            arity: flags.arity,
            dim: flags.dim,
            skip: flags.skip,
            size: flags.size,
            blocks: flags.blocks,
            dual: flags.dual,
            shuffle: flags.shuffle,
        };
        let family = Family::parse(&flags.family, &args, &options).map_err(|e| cannot(&e))?;
        Ok(Settings {
            family,
            // What needs least memory on both ends of a pipe.
            format: format.unwrap_or(Format::FlowJsonLines),
            flags,
        })
    }
}

/// Options are flags here: the library names them without dashes, and arguments in capitals.
fn cannot(error: &FamilyError) -> Failure {
    let words = match error {
        FamilyError::ForeignOption { family, option } => {
            format!("the family '{family}' has no option --{option}")
        }
        FamilyError::TooSmall { what, .. } if what.starts_with(char::is_lowercase) => {
            format!("--{error}")
        }
        _ => error.to_string(),
    };
    Failure::usage(words, "cairn gen --help lists the families")
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    let dag = (settings.family.build(flags.seed)).map_err(|e| cannot(&e))?;
    let (tasks, arcs) = (dag.len(), dag.arc_count());
    convert::write(&Flow::numbered(&dag), settings.format, &flags.out)?;
    // Standard output has the dag itself then.
    if out.json && flags.out.as_os_str() != "-" {
        let value = serde_json::json!({ "family": flags.family, "tasks": tasks, "edges": arcs, "arcs": arcs, "seed": flags.seed });
        return out.answer(&value, "");
    }
    if flags.out.as_os_str() != "-" {
        out.remark(&format!(
            "wrote {}: {}, {}",
            screen::path(&flags.out),
            counted(tasks, "task"),
            counted(arcs, "arc")
        ));
    }
    Ok(())
}
