//! Uploads: what comes in piece by piece goes on where it was cut, must have its digest, and goes when nobody wants it. Knows no
//! requests and no tasks.

use super::{Counted, Files, Over, digest_of, shelves};
use crate::http::transit::NoRoom;
use crate::http::types::Stored;
use crate::mutex::lock;
use crate::private;
use crate::tokens::Who;
use std::fs::File;
use std::io::{Error, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An upload that nobody touched for so long makes room for others: whoever made it uploads it again.
// A worker that was cut off goes on within seconds. Far shorter, and whole files go while their worker uploads the next one of the
// same task; far longer, and what lost workers left keeps those out whose tasks would end and make room (docs/storage.md). A judgement.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// One that nobody touched for so long goes, whether there is need or not; and so often they are looked for.
// A worker returns an upload within moments, unless server or worker were away: a day covers a night without either. Looking takes a
// call for every upload that lies there, so not with each new one; ten minutes are nothing beside a day.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
const SWEPT: Duration = Duration::from_secs(600);

/// Why an upload was not taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// Go on from here.
    Offset(u64),
    /// Another upload of the same content is under way.
    Busy,
    /// The content is not what its digest says.
    Digest,
    /// More than was said.
    Long,
    /// There is no room for it under the cap.
    Room(NoRoom),
    /// A volunteer would have too much here.
    Over(Over),
    Disk(Error),
}

impl From<Error> for NotTaken {
    fn from(error: Error) -> NotTaken {
        NotTaken::Disk(error)
    }
}

/// An upload that is under way.
#[derive(Debug)]
pub(crate) struct Upload {
    alone: Alone,
    whole: PathBuf,
    digest: String,
    file: File,
    bytes: u64,
    written: u64,
    /// What was let in and is not written yet.
    left: Counted,
}

/// Whoever has this writes the upload at this place, and nobody else.
#[derive(Debug)]
struct Alone {
    files: Arc<Files>,
    partial: PathBuf,
}

impl Drop for Alone {
    fn drop(&mut self) {
        lock(&self.files.busy).remove(&self.partial);
    }
}

impl Files {
    /// How much of it somebody has uploaded.
    pub(crate) fn stored(&self, who: Who, digest: &str) -> Stored {
        let bytes = |path: PathBuf| std::fs::metadata(path).map(|m| m.len()).ok();
        match bytes(self.whole(who, digest)) {
            Some(bytes) => Stored {
                bytes,
                complete: true,
            },
            None => Stored {
                bytes: bytes(self.partial(who, digest)).unwrap_or(0),
                complete: false,
            },
        }
    }

    /// Begins to take what comes after the first `offset` bytes of a file of so many bytes. From 0 on it begins anew, whatever is
    /// there.
    pub(crate) fn upload(
        self: &Arc<Self>,
        who: Who,
        digest: &str,
        offset: u64,
        bytes: u64,
    ) -> Result<Upload, NotTaken> {
        self.sweep();
        private::folder(&self.shelf(who).join("partial"))?;
        let partial = self.partial(who, digest);
        // Before it is opened: two who write into one file would spoil it.
        if !lock(&self.busy).insert(partial.clone()) {
            return Err(NotTaken::Busy);
        }
        let files = self.clone();
        let alone = Alone { files, partial };
        let mut options = File::options();
        let mut file =
            (options.create(true).truncate(false).write(true).read(true)).open(&alone.partial)?;
        let there = file.seek(SeekFrom::End(0))?;
        if there != offset && offset > 0 {
            return Err(NotTaken::Offset(there));
        }
        if there != offset {
            file.set_len(0)?;
            file.rewind()?;
            self.gone(&alone.partial, there);
        }
        let left = self.let_in(who, bytes.saturating_sub(offset))?;
        Ok(Upload {
            alone,
            whole: self.whole(who, digest),
            digest: digest.to_owned(),
            file,
            bytes,
            written: offset,
            left,
        })
    }

    /// Lets so many bytes come in, all or none: then two uploads never stand half done in each other's way.
    fn let_in(&self, who: Who, bytes: u64) -> Result<Counted, NotTaken> {
        let whose = match who {
            Who::Trusted => None,
            Who::Volunteer(number) => {
                let taken = self.allowance.take(number, bytes).or_else(|over| {
                    if over == Over::Ever {
                        return Err(over);
                    }
                    // Its own alone: no volunteer makes others upload anything again.
                    let shelf = self.shelf(who);
                    self.drop_older(FORGOTTEN, vec![shelf.join("partial"), shelf]);
                    self.allowance.take(number, bytes)
                });
                taken.map_err(NotTaken::Over)?;
                Some((self.allowance.clone(), number))
            }
        };
        // With nothing yet: what it has is given back when it is dropped.
        let mut counted = Counted {
            transit: self.transit.clone(),
            whose,
            bytes: 0,
        };
        let taken = self.transit.take(bytes).or_else(|_| {
            self.drop_older(FORGOTTEN, shelves(&self.folder));
            self.transit.take(bytes)
        });
        if let Err(no_room) = taken {
            if let Some((allowance, number)) = &counted.whose {
                allowance.give(*number, bytes);
            }
            return Err(NotTaken::Room(no_room));
        }
        counted.bytes = bytes;
        Ok(counted)
    }

    /// Now and then, what was abandoned goes.
    fn sweep(&self) {
        let mut swept = lock(&self.swept);
        if swept.elapsed() > SWEPT {
            *swept = Instant::now();
            // Others need not wait while all shelves are looked through.
            drop(swept);
            self.drop_older(ABANDONED, shelves(&self.folder));
        }
    }

    /// Uploads on these shelves that nobody touched for so long go.
    pub(super) fn drop_older(&self, limit: Duration, shelves: Vec<PathBuf>) {
        let entries = |inside: PathBuf| std::fs::read_dir(inside).into_iter().flatten().flatten();
        for entry in shelves.into_iter().flat_map(entries) {
            let path = entry.path();
            // Held until it is gone: whoever goes on with it meanwhile would write into a file without a name, and what it was let
            // in for would count for ever. And from before its age is looked at: another may take its place until then.
            let busy = lock(&self.busy);
            let Ok(meta) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
            if meta.is_file() && age.is_some_and(|age| age > limit) && !busy.contains(&path) {
                self.remove(&path);
            }
        }
    }
}

impl Upload {
    /// Takes the next bytes.
    pub(crate) fn write(&mut self, piece: &[u8]) -> Result<(), NotTaken> {
        let written = self.written + piece.len() as u64;
        if written > self.bytes {
            return Err(NotTaken::Long);
        }
        self.file.write_all(piece)?;
        self.written = written;
        // What is written counts on, as a file, when this is dropped.
        self.left.bytes -= piece.len() as u64;
        Ok(())
    }

    /// That was all for now. When it is all of the file, the digest is checked.
    pub(crate) fn finish(mut self) -> Result<Stored, NotTaken> {
        let (bytes, complete) = (self.written, self.written == self.bytes);
        if complete {
            // From the beginning: the first part may have come with another request, or before a restart.
            self.file.rewind()?;
            let is_right = digest_of(&mut self.file)? == self.digest;
            let (files, partial): (&Files, &Path) = (&self.alone.files, &self.alone.partial);
            if !is_right {
                files.remove(partial);
                return Err(NotTaken::Digest);
            }
            // The same may have been uploaded before: it is there once. Whoever sweeps sees the one or the other, and never takes
            // the new one for the old.
            let _busy = lock(&files.busy);
            files.remove(&self.whole);
            std::fs::rename(partial, &self.whole)?;
        }
        Ok(Stored { bytes, complete })
    }
}
