//! Graphviz DOT, as `snakemake --dag`, Nextflow and `ninja -t graph` write it. Knows nothing of drawing.
//!
//! Every node is a task, named by its id; every `->` is an arc. Of the attributes of a node, `seconds`, `time_limit`,
//! `command`, `cpus`, `memory`, `scratch`, `retries`, `priority`, `done` and `kind` are kept; what people see is its
//! `label`, or else its `xlabel`, or else, where the label is given and empty, that of the first edge that leaves it, or
//! enters it. All others are ignored, as are those of edges and graphs.

mod attributes;
mod label;
mod lexer;
mod read;
mod spots;
mod unheld;
mod write;

pub(crate) use read::read;
pub(crate) use spots::spots;
pub(crate) use unheld::unheld;
pub(crate) use write::write;
