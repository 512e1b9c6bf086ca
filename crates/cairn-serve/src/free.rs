//! How much space is left on the disk that holds a folder. Knows no cap.

use std::io;
use std::path::Path;

/// As many bytes as one likes: where nothing limits them, or where nobody can tell what is free.
// A number and no `Option`: it is only ever compared with others and told, and so is the largest limit there is.
pub const NO_LIMIT: u64 = u64::MAX;

/// Bytes that anybody but the superuser can still write there. Of a folder that is not there yet, the nearest above it.
///
/// # Errors
/// If no folder above it can be asked.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let whole = std::path::absolute(folder)?;
    let mut refused = None;
    for place in whole.ancestors() {
        match rustix::fs::statvfs(place) {
            Ok(disk) => return Ok(disk.f_bavail.saturating_mul(disk.f_frsize)),
            // The first says most: those above are asked only because it is not there.
            Err(error) => refused.get_or_insert(error),
        };
    }
    Err(refused.map_or_else(|| io::ErrorKind::NotFound.into(), io::Error::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_of_a_folder_that_is_not_there_is_that_above_it() {
        let here = free_bytes(Path::new(".")).unwrap();
        assert!(here > 0);
        assert!(free_bytes(Path::new("./not/yet/there")).unwrap() > 0);
    }
}
