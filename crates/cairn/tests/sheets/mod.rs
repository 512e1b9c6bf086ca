//! What is asked for each sheet of the snapshots: command lines, requests, wrong texts, files.

pub(crate) mod bad;
pub(crate) mod commands;
pub(crate) mod files;
