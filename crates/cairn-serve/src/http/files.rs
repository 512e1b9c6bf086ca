//! Files on their way between workers and server, known by the digest of their content. Knows no requests.

mod held;

use super::transit::{NoRoom, Transit};
use super::types::{Made, Needed, Stored};
use crate::beneath::{Beneath, Pending};
use crate::private;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An upload that nobody touched for so long makes room for others: whoever made it uploads it again.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// A file that takes its place when the attempt that made it counts.
#[derive(Debug)]
pub(crate) struct Staged {
    pending: Pending,
    _bytes: Counted,
}

impl Staged {
    pub(crate) fn place(self) -> Result<()> {
        self.pending.place()
    }
}

/// Bytes that count as under way until this is dropped.
#[derive(Debug)]
struct Counted {
    transit: Arc<Transit>,
    bytes: u64,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.transit.give(self.bytes);
    }
}

/// A file as it was when its digest was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    changed: (i64, i64),
    inode: u64,
}

impl Seen {
    fn of(file: &File) -> Result<Seen> {
        let meta = file.metadata()?;
        Ok(Seen {
            bytes: meta.len(),
            changed: (meta.mtime(), meta.mtime_nsec()),
            inode: meta.ino(),
        })
    }
}

/// Why an upload was not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
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
    Disk(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Disk(error)
    }
}

/// Uploads, and the declared files of the workflow.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    flow: Beneath,
    /// By path: what it was, and its digest.
    digests: Mutex<HashMap<String, (Seen, String)>>,
    /// By digest: a path that had it.
    paths: Mutex<HashMap<String, String>>,
    busy: Mutex<HashSet<String>>,
    /// Uploads without a place.
    transit: Arc<Transit>,
}

/// Whether these are 64 hexadecimal digits, in small letters.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// An upload that is under way.
#[derive(Debug)]
pub(crate) struct Upload<'f> {
    files: &'f Files,
    digest: String,
    file: File,
    bytes: u64,
    written: u64,
    /// What was let in and is not written yet.
    left: Counted,
}

impl Files {
    /// Uploads go to `folder`; declared files are beneath `flow`.
    pub(crate) fn open(folder: &Path, flow: &Path) -> Result<Files> {
        private::folder(folder)?;
        private::folder(&folder.join("partial"))?;
        private::folder(&folder.join("held"))?;
        let transit = Arc::new(Transit::default());
        for inside in [folder.to_owned(), folder.join("partial")] {
            for entry in std::fs::read_dir(inside)? {
                let meta = entry?.metadata()?;
                transit.found(if meta.is_file() { meta.len() } else { 0 });
            }
        }
        Ok(Files {
            transit,
            folder: folder.to_owned(),
            flow: Beneath::open(flow)?,
            digests: Mutex::default(),
            paths: Mutex::default(),
            busy: Mutex::default(),
        })
    }

    /// Uploads without a place, counted.
    pub(crate) fn transit(&self) -> &Arc<Transit> {
        &self.transit
    }

    fn whole(&self, digest: &str) -> PathBuf {
        self.folder.join(digest)
    }

    fn partial(&self, digest: &str) -> PathBuf {
        self.folder.join("partial").join(digest)
    }

    /// How much of it is there.
    pub(crate) fn stored(&self, digest: &str) -> Stored {
        let bytes = |path: PathBuf| std::fs::metadata(path).map(|m| m.len()).ok();
        match bytes(self.whole(digest)) {
            Some(bytes) => Stored {
                bytes,
                complete: true,
            },
            None => Stored {
                bytes: bytes(self.partial(digest)).unwrap_or(0),
                complete: false,
            },
        }
    }

    /// Begins to take what comes after the first `offset` bytes of a file of so many bytes.
    pub(crate) fn upload(
        &self,
        digest: &str,
        offset: u64,
        bytes: u64,
    ) -> std::result::Result<Upload<'_>, Refusal> {
        if !lock(&self.busy).insert(digest.to_owned()) {
            return Err(Refusal::Busy);
        }
        let begin = || {
            let mut options = File::options();
            let mut file = (options.create(true).truncate(false).write(true).read(true))
                .open(self.partial(digest))?;
            let there = file.seek(SeekFrom::End(0))?;
            match there == offset {
                true => Ok((file, self.let_in(bytes - offset)?)),
                false => Err(Refusal::Offset(there)),
            }
        };
        let (file, left) = begin().inspect_err(|_| {
            lock(&self.busy).remove(digest);
        })?;
        Ok(Upload {
            files: self,
            digest: digest.to_owned(),
            file,
            bytes,
            written: offset,
            left,
        })
    }

    /// Lets so many bytes come in, all or none: then two uploads never stand half done in each other's way.
    fn let_in(&self, bytes: u64) -> std::result::Result<Counted, Refusal> {
        let taken = self.transit.take(bytes).or_else(|_| {
            self.drop_forgotten();
            self.transit.take(bytes)
        });
        taken.map_err(Refusal::Room)?;
        let transit = self.transit.clone();
        Ok(Counted { transit, bytes })
    }

    /// Uploads that nobody touched for long go.
    fn drop_forgotten(&self) {
        for inside in [self.folder.clone(), self.folder.join("partial")] {
            let entries = std::fs::read_dir(inside).into_iter().flatten().flatten();
            for entry in entries {
                let Ok(meta) = entry.metadata() else { continue };
                let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_busy = lock(&self.busy).contains(&name);
                if meta.is_file() && age.is_some_and(|age| age > FORGOTTEN) && !is_busy {
                    self.remove(&entry.path());
                }
            }
        }
    }

    /// Removes an upload; one that stays behind goes on counting, and does no other harm.
    fn remove(&self, path: &Path) {
        let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
        if std::fs::remove_file(path).is_ok() {
            self.transit.give(bytes);
        }
    }

    /// Uploaded content, or a declared file that has this digest; with its size.
    pub(crate) fn read(&self, digest: &str) -> Result<(File, u64)> {
        if let Ok(file) = File::open(self.whole(digest)) {
            let bytes = file.metadata()?.len();
            return Ok((file, bytes));
        }
        let missing = || Error::new(ErrorKind::NotFound, "no file of this digest");
        let path = lock(&self.paths).get(digest).cloned().ok_or_else(missing)?;
        let file = self.flow.read(&path)?;
        let seen = Seen::of(&file)?;
        let known = lock(&self.digests).get(&path).cloned();
        match known {
            Some((then, known)) if then == seen && known == digest => Ok((file, seen.bytes)),
            _ => Err(missing()),
        }
    }

    /// A declared file, with the digest of its content.
    pub(crate) fn needed(&self, path: &str) -> Result<Needed> {
        let mut file = self.flow.read(path)?;
        let seen = Seen::of(&file)?;
        let executable = file.metadata()?.permissions().mode() & 0o100 != 0;
        let known = lock(&self.digests).get(path).cloned();
        let digest = match known.filter(|(then, _)| *then == seen) {
            Some((_, digest)) => digest,
            None => {
                let digest = digest_of(&mut file)?;
                lock(&self.digests).insert(path.to_owned(), (seen.clone(), digest.clone()));
                digest
            }
        };
        lock(&self.paths).insert(digest.clone(), path.to_owned());
        Ok(Needed {
            path: path.to_owned(),
            digest,
            bytes: seen.bytes,
            executable,
        })
    }

    /// Moves an upload beside its place in the folder of the workflow: it is never there twice. Where that is another disk, it is
    /// copied. Who uploaded the same content for another task uploads it again.
    pub(crate) fn stage(&self, made: &Made) -> Result<Staged> {
        let upload = self.whole(&made.digest);
        let bytes = std::fs::metadata(&upload)?.len();
        let pending = match self.flow.adopt(&upload, &made.path, made.executable) {
            Err(e) if e.kind() == ErrorKind::CrossesDevices => {
                let (mut file, pending) = self.flow.create(&made.path, made.executable)?;
                std::io::copy(&mut File::open(&upload)?, &mut file)?;
                std::fs::remove_file(&upload)?;
                pending
            }
            pending => pending?,
        };
        let transit = self.transit.clone();
        Ok(Staged {
            pending,
            _bytes: Counted { transit, bytes },
        })
    }

    /// An upload of which nobody has a use any more.
    pub(crate) fn forget(&self, digest: &str) {
        self.remove(&self.whole(digest));
    }
}

impl Upload<'_> {
    /// Takes the next bytes.
    pub(crate) fn write(&mut self, piece: &[u8]) -> std::result::Result<(), Refusal> {
        let written = self.written + piece.len() as u64;
        if written > self.bytes {
            return Err(Refusal::Long);
        }
        self.file.write_all(piece)?;
        self.written = written;
        self.left.bytes -= piece.len() as u64;
        Ok(())
    }

    /// That was all for now. When it is all of the file, the digest is checked.
    pub(crate) fn finish(mut self) -> std::result::Result<Stored, Refusal> {
        let (bytes, complete) = (self.written, self.written == self.bytes);
        if complete {
            self.file.rewind()?;
            if digest_of(&mut self.file)? != self.digest {
                self.files.remove(&self.files.partial(&self.digest));
                return Err(Refusal::Digest);
            }
            let (from, to) = (
                self.files.partial(&self.digest),
                self.files.whole(&self.digest),
            );
            std::fs::rename(from, to)?;
        }
        Ok(Stored { bytes, complete })
    }
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        lock(&self.files.busy).remove(&self.digest);
    }
}

/// The BLAKE3 digest of what is left of a file, in hexadecimal.
pub(crate) fn digest_of(file: &mut impl Read) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Nobody panics while holding one of these; if somebody did, what is in it is whole all the same.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_goes_on_where_it_was_cut_and_must_have_its_digest() {
        let top = tempfile::tempdir().unwrap();
        let flow = top.path().join("flow");
        std::fs::create_dir(&flow).unwrap();
        let files = Files::open(&top.path().join("files"), &flow).unwrap();
        let text = b"hello, workers";
        let digest = digest_of(&mut &text[..]).unwrap();
        assert!(
            is_digest(&digest)
                && !is_digest("../../etc/passwd")
                && !is_digest(&digest.to_uppercase())
        );
        let mut upload = files.upload(&digest, 0, 14).unwrap();
        upload.write(&text[..5]).unwrap();
        assert!(matches!(files.upload(&digest, 5, 14), Err(Refusal::Busy)));
        drop(upload);
        assert_eq!(files.stored(&digest).bytes, 5);
        assert!(matches!(
            files.upload(&digest, 0, 14),
            Err(Refusal::Offset(5))
        ));
        let mut upload = files.upload(&digest, 5, 14).unwrap();
        upload.write(&text[5..]).unwrap();
        assert!(matches!(upload.write(b"!"), Err(Refusal::Long)));
        assert!(upload.finish().unwrap().complete);
        let made = |path: &str| Made {
            path: path.into(),
            digest: digest.clone(),
            executable: false,
        };
        assert!(files.stage(&made("../out")).is_err());
        files.stage(&made("a/out")).unwrap().place().unwrap();
        files.forget(&digest);
        assert_eq!(std::fs::read(flow.join("a/out")).unwrap(), text);
        let needed = files.needed("a/out").unwrap();
        assert_eq!(
            (needed.digest.as_str(), needed.bytes),
            (digest.as_str(), 14)
        );
        assert_eq!(files.read(&digest).unwrap().1, 14);
        std::fs::write(flow.join("a/out"), "changed").unwrap();
        assert!(files.read(&digest).is_err());

        let mut upload = files.upload(&"0".repeat(64), 0, 3).unwrap();
        upload.write(b"abc").unwrap();
        assert!(matches!(upload.finish(), Err(Refusal::Digest)));
        assert_eq!(files.stored(&"0".repeat(64)).bytes, 0);
    }
}
