//! Where things are written: nothing that was read is written over, and the folder is there. Knows paths, not what is in the files.

use crate::failure::Failure;
use std::io::ErrorKind;
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

/// Refuses a file in a folder that is not there, or that is a folder itself, as writing it would: before the work that it is to
/// hold.
pub(crate) fn has_folder(out: &Path) -> Result<(), Failure> {
    let folder = out.parent().filter(|folder| *folder != Path::new(""));
    let found = folder.map_or(Ok(true), |folder| folder.metadata().map(|f| f.is_dir()));
    let error = match found {
        Ok(true) if out == Path::new("-") || !out.is_dir() => return Ok(()),
        Ok(true) => ErrorKind::IsADirectory.into(),
        Ok(false) => ErrorKind::NotADirectory.into(),
        Err(error) => error,
    };
    Err(Failure::writing(&out.display().to_string(), &error))
}

/// Refuses a file that cannot be made even with its folders: where a folder lies, or beneath a file. For what is written when all is
/// over, into folders that tasks may make meanwhile.
pub(crate) fn can_be_file(out: &Path) -> Result<(), Failure> {
    if out.is_dir() {
        return has_folder(out);
    }
    out.parent().map_or(Ok(()), can_be_folder)
}

/// Refuses a folder that cannot be made, as making it would: beneath a file, or where one lies.
pub(crate) fn can_be_folder(folder: &Path) -> Result<(), Failure> {
    // What is not there is made; the first that is there holds it.
    let mut there = folder.ancestors().filter_map(|f| f.metadata().ok());
    match there.next() {
        Some(found) if !found.is_dir() => {
            let error = ErrorKind::NotADirectory.into();
            Err(Failure::writing(&folder.display().to_string(), &error))
        }
        _ => Ok(()),
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
