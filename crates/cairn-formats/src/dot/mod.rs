//! Graphviz DOT, as `snakemake --dag`, Nextflow and `ninja -t graph` write it. Knows nothing of drawing.
//!
//! Every node is a task, named by its id (labels need not be unique); every `->` is an arc. Of the attributes of
//! a node, `seconds`, `command`, `cpus`, `retries`, `priority` and `done` are kept, and all others are ignored, as
//! are those of edges and graphs.

mod lexer;
mod read;
mod spots;
mod write;

pub(crate) use read::read;
pub(crate) use spots::spots;
pub(crate) use write::write;
