//! `cairn gen`: writes a dag of a known family.

use super::convert;
use crate::cli;
use crate::failure::Failure;
use crate::output::Output;
use crate::plural::counted;
use crate::screen;
use cairn_dag::{Family, FamilyOptions, Flow};
use cairn_formats::Format;

pub(crate) fn run(settings: &cli::Gen, out: &Output) -> Result<(), Failure> {
    let format = convert::output_format(&settings.out, settings.to.as_deref())?;
    let format = format.unwrap_or(Format::FlowJsonLines);
    let args: Vec<&str> = settings.args.iter().map(String::as_str).collect();
    let options = FamilyOptions {
        arity: settings.arity,
        dim: settings.dim,
        skip: settings.skip,
        size: settings.size,
        blocks: settings.blocks,
        dual: settings.dual,
        shuffle: settings.shuffle,
    };
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::usage(error.to_string(), "cairn gen --help lists the families")
    };
    let family = Family::parse(&settings.family, &args, &options).map_err(|e| cannot(&e))?;
    let dag = family.build(settings.seed).map_err(|e| cannot(&e))?;
    let (tasks, arcs) = (dag.len(), dag.arc_count());
    convert::write(&Flow::numbered(&dag), format, &settings.out)?;
    if out.json && settings.out.as_os_str() != "-" {
        let value = serde_json::json!({ "family": settings.family, "tasks": tasks, "edges": arcs, "arcs": arcs, "seed": settings.seed });
        return out.answer(&value, "");
    }
    if settings.out.as_os_str() != "-" {
        out.remark(&format!(
            "wrote {}: {}, {}",
            screen::path(&settings.out),
            counted(tasks, "task"),
            counted(arcs, "arc")
        ));
    }
    Ok(())
}

/// The families, for `--help`.
pub(crate) fn families_help() -> String {
    let mut text = "Families:\n".to_owned();
    for entry in Family::catalogue() {
        let usage = format!("{} {}", entry.name, entry.arguments)
            .trim()
            .to_owned();
        let options: String = entry.options.iter().map(|o| format!(" [{o}]")).collect();
        text += &format!("  {usage}  {}{options}\n", entry.about);
    }
    text + "\nExamples:\n  cairn gen mesh 100 -o mesh.dag\n  cairn gen layered 100 1000 3 --seed 7 -o random.jsonl\n  cairn gen fft 4 --to dot"
}
