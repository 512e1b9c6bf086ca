//! WfCommons WfFormat (JSON): reads schema 1.0 to 1.6, writes 1.5. Knows nothing of how instances were made.

mod read;
mod write;

pub(crate) use read::{HELD, read};
pub(crate) use write::write;
