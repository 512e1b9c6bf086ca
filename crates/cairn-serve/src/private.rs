//! Files that only their owner reads, and names that nobody guesses. Knows nothing of what they are for.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// A folder, made where it is missing, with mode 700.
pub(crate) fn folder(path: &Path) -> std::io::Result<()> {
    (DirBuilder::new().recursive(true).mode(0o700)).create(path)?;
    // One that was there before may be open to others.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// Writes a file with mode 600, whole or not at all; a link of that name is replaced, not followed.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let temporary = folder.join(format!(".{name}.new"));
    // Left by somebody who was killed: a new one could not be made beside it.
    match std::fs::remove_file(&temporary) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => (),
    }
    let mut file =
        (OpenOptions::new().write(true).create_new(true).mode(0o600)).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    // Before it takes its name: after a power cut there is the old one or the new one, never an empty one.
    file.sync_all()?;
    std::fs::rename(&temporary, folder.join(name))
}

/// What is read here is no longer than this.
// Tokens, keys and secrets are far shorter. A larger file is not one of ours, and must not be taken into memory.
const LONGEST: u64 = 1 << 16;

/// Reads a small file.
pub(crate) fn read(folder: &Path, name: &str) -> std::io::Result<String> {
    let mut text = String::new();
    (std::fs::File::open(folder.join(name))?.take(LONGEST)).read_to_string(&mut text)?;
    Ok(text)
}

/// So many random bytes, as hexadecimal digits.
pub(crate) fn random(bytes: usize) -> std::io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
