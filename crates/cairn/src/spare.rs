//! Where things are written: nothing that was read is written over, and the folder is there. Knows paths, not what is in the files.

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

/// Refuses a file in a folder that is not there, as writing it would: before the work that it is to hold.
pub(crate) fn has_folder(out: &Path) -> Result<(), Failure> {
    let folder = out.parent().filter(|folder| *folder != Path::new(""));
    let found = folder.map_or(Ok(true), |folder| folder.metadata().map(|f| f.is_dir()));
    let error = match found {
        Ok(true) => return Ok(()),
        Ok(false) => std::io::ErrorKind::NotADirectory.into(),
        Err(error) => error,
    };
    Err(Failure::writing(&out.display().to_string(), &error))
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
