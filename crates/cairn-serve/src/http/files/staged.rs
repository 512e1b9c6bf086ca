//! Files that a trusted worker made, beside their places in the folder of the workflow until their attempt counts. Knows no engine.

use super::{Counted, Files};
use crate::beneath::Pending;
use crate::http::types::Made;
use crate::tokens::Who;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};

/// What is read at once.
// Few calls a file, and little memory: at most so much for each of the threads that may be at whole files (`LONG` of `http.rs`).
const PIECE: usize = 1 << 20;

/// A file that takes its place when the attempt that made it counts. One that does not, and was moved here, is an upload again.
#[derive(Debug)]
pub(crate) struct Staged {
    pending: Option<Pending>,
    /// Where it was uploaded, if it was moved.
    home: Option<PathBuf>,
    bytes: Counted,
}

impl Staged {
    pub(crate) fn place(mut self) -> Result<()> {
        self.pending.take().map_or(Ok(()), Pending::place)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let (Some(pending), Some(home)) = (self.pending.take(), &self.home)
            // The same may have been uploaded again meanwhile.
            && !home.exists()
            && pending.back_to(home).is_ok()
        {
            self.bytes.bytes = 0; // it counts as an upload, as before
        }
    }
}

impl Files {
    /// What an attempt made, moved beside its places: it is never there twice. Where that is another disk, it is copied, and
    /// the upload stays until it is forgotten; of equal files all but the last are copied, too. Who uploaded the same content
    /// for another task uploads it again.
    pub(crate) fn stage(&self, who: Who, made: &[Made]) -> Result<Vec<Staged>> {
        let digests = made.iter().map(|made| made.digest.as_str());
        // Equal outputs have one upload. Moved with the first of them, it would be gone for the others.
        let last: HashMap<&str, usize> = digests.enumerate().map(|(n, d)| (d, n)).collect();
        let stage = |(number, made): (usize, &Made)| {
            let upload = self.whole(who, &made.digest);
            let is_last = last.get(made.digest.as_str()) == Some(&number);
            let staged = match is_last.then(|| self.moved(&upload, made)) {
                None => self.copied(&upload, made, true),
                Some(Err(e)) if e.kind() == ErrorKind::CrossesDevices => {
                    self.copied(&upload, made, false)
                }
                Some(staged) => staged,
            };
            staged.inspect_err(|e| {
                if e.kind() == ErrorKind::InvalidData {
                    // It was spoilt here since its digest was checked: only another upload helps, and
                    // this one would be in its way.
                    self.remove(&upload);
                }
            })
        };
        made.iter().enumerate().map(stage).collect()
    }

    fn moved(&self, upload: &Path, made: &Made) -> Result<Staged> {
        let bytes = std::fs::metadata(upload)?.len();
        let pending = self.flow.adopt(upload, &made.path, made.executable)?;
        Ok(Staged {
            pending: Some(pending),
            home: Some(upload.to_owned()),
            bytes: self.counted(bytes),
        })
    }

    /// A copy beside its place, which has the digest that it should have, or there is none. Whether it counts beside the upload.
    pub(super) fn copied(&self, from: &Path, made: &Made, counts: bool) -> Result<Staged> {
        let mut from = File::open(from)?;
        let bytes = from.metadata()?.len();
        let (mut file, pending) = self.flow.create(&made.path, made.executable)?;
        let counted = if counts { bytes } else { 0 };
        self.transit.found(counted);
        let staged = Staged {
            pending: Some(pending),
            home: None,
            bytes: self.counted(counted),
        };
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE];
        loop {
            match from.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => {
                    // Digested on the way: what is copied may have changed on the disk since it was
                    // checked.
                    hasher.update(&piece[..n]);
                    file.write_all(&piece[..n])?;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => (),
                Err(e) => return Err(e),
            }
        }
        match hasher.finalize().to_hex().as_str() == made.digest {
            true => Ok(staged),
            false => Err(Error::new(
                ErrorKind::InvalidData,
                "what is kept no longer has its digest",
            )),
        }
    }

    fn counted(&self, bytes: u64) -> Counted {
        Counted {
            transit: self.transit.clone(),
            whose: None,
            bytes,
        }
    }
}
