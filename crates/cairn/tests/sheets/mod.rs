//! What is asked for each sheet of the snapshots: command lines, wrong texts, files; and what no sheet has, with the reason.

pub(crate) mod bad;
pub(crate) mod commands;
pub(crate) mod files;
pub(crate) mod unheard;
