//! Where runs keep their state when nobody says. Knows no store.

use crate::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of all states, here.
const STATES: &str = ".cairn";

/// Where the state of a family is kept.
pub(crate) fn of_family(family: &str) -> PathBuf {
    // Not every file system takes a colon.
    Path::new(STATES).join(family.replace(':', "-"))
}

/// Where the state of a workflow is kept: under the name of its file, here; with a number where the file is elsewhere, so that
/// files of one name have states of their own.
pub(crate) fn of_file(file: &Path) -> Result<PathBuf, Failure> {
    if file == Path::new("-") {
        return Err(Failure::usage(
            "a workflow from standard input has no name for its state",
            "give it a folder, such as --state state",
        ));
    }
    let mut folder = file.file_name().map_or_else(OsString::new, OsString::from);
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let home = real.parent();
    if home.is_some_and(|home| here.is_ok_and(|here| here != home)) {
        // None of the standard library's: a later version must find the same folder.
        let digest = cairn_serve::digest(real.as_os_str().as_encoded_bytes());
        // Thirty-two bits: names of files are told apart by it, not secrets.
        folder.push(format!("-{:08x}", digest as u32));
    }
    Ok(Path::new(STATES).join(folder))
}
