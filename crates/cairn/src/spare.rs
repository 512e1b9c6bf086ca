//! Nothing that was read is written over. Knows paths, not what is in the files.

use crate::failure::Failure;
use std::path::Path;

/// Refuses to write onto one of the files that are `read`; in both, '-' is what it is on the command line.
pub(crate) fn none_of<P: AsRef<Path>>(read: &[P], out: &Path, cure: &str) -> Result<(), Failure> {
    if out == Path::new("-") {
        return Ok(());
    }
    // What is piped in may still be a file: `cairn convert - x.dag < x.dag`.
    let mut read = read.iter().map(|path| match path.as_ref() {
        path if path == Path::new("-") => Path::new("/dev/stdin"),
        path => path,
    });
    match read.find(|read| is_same_file(read, out)) {
        None => Ok(()),
        Some(same) => Err(Failure::usage(
            format!(
                "{} is {}, which was read: it would be overwritten",
                out.display(),
                same.display()
            ),
            cure,
        )),
    }
}

/// Whether both paths lead to one file, by whatever links.
#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (a.metadata(), b.metadata()) {
        // Devices may be read and written: /dev/stdin and /dev/stdout can be one terminal.
        (Ok(a), Ok(b)) => a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
