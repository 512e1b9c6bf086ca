//! `cairn info`: counts and structure of a dag.

use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::plural::counted;
use cairn_theory::split::Decomposition;
use serde_json::json;

pub(crate) fn run(settings: &cli::Input, out: &Output) -> Result<(), Failure> {
    let read = input::read(settings)?;
    out.warnings(&read.report);
    let dag = read.flow.dag();
    let levels = dag.levels();
    let components = dag.components();
    let skeleton = dag.skeleton();
    // Of the skeleton: shortcuts would join blocks that the theory keeps apart.
    let decomposition = Decomposition::new(&skeleton.dag);
    let isolated = dag.isolated_count();
    let (sources, sinks) = (dag.sources().count(), dag.sinks().count());
    let composite = decomposition.is_composite();
    let value = json!({
        "file": read.name,
        "format": read.format.name(),
        "tasks": dag.len(),
        "edges": dag.arc_count(),
        "arcs": dag.arc_count(),
        "sources": sources,
        "sinks": sinks,
        "depth": levels.depth(),
        "max_width_by_level": levels.width(),
        "shortcut_arcs": skeleton.removed,
        "weakly_connected_components": components.count(),
        "isolated": isolated,
        "composite": composite,
        "blocks": decomposition.len(),
    });
    let not = if composite { "" } else { ", not composite" };
    let rows = [
        ("format", read.format.name().to_owned()),
        ("tasks", dag.len().to_string()),
        ("arcs", dag.arc_count().to_string()),
        ("sources", sources.to_string()),
        ("sinks", sinks.to_string()),
        ("depth", counted(levels.depth(), "level")),
        (
            "width",
            format!("{} on the widest level", counted(levels.width(), "task")),
        ),
        (
            "shortcuts",
            format!(
                "{} that a longer path implies",
                counted(skeleton.removed, "arc")
            ),
        ),
        ("components", components.count().to_string()),
        (
            "isolated",
            format!("{} without any arc", counted(isolated, "task")),
        ),
        ("blocks", format!("{}{not}", decomposition.len())),
    ];
    let mut text = format!("{}\n", read.name);
    for (name, value) in rows {
        text += &format!("  {name:11} {value}\n");
    }
    out.answer(&value, &text)
}
