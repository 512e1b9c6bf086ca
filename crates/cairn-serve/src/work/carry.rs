//! Files between a worker's folder and the server: inputs before a task, outputs and logs after it. Knows no processes.

use crate::beneath::Beneath;
use crate::client::{CallError, Caller};
use crate::http::digest_of;
use crate::http::types::{Attempt, Made};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// So often an upload that does not have its digest is begun anew.
// A file that changes while it is read never has its digest. Three, as one chance spoils seldom twice in a row: what is
// spoilt once more is written to, or the disk is bad.
const SPOILT: u32 = 3;
/// A piece of a log.
// The server takes pieces up to a megabyte. Larger ones take longer to repeat when a connection breaks, smaller ones need more
// requests, each of which the server's one thread is asked about.
const PIECE: usize = 256 << 10;

/// Why something was not carried.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server: perhaps later.
    Call(CallError),
    /// A file that is not there, or not as it should be.
    File(String),
    /// This worker's disk.
    Here(std::io::Error),
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Trouble {
        Trouble::Call(error)
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Call(error) => error.fmt(f),
            Trouble::File(what) => f.write_str(what),
            Trouble::Here(error) => error.fmt(f),
        }
    }
}

fn here(what: impl std::fmt::Display) -> impl Fn(std::io::Error) -> Trouble {
    move |error| {
        Trouble::Here(std::io::Error::new(
            error.kind(),
            format!("{what}: {error}"),
        ))
    }
}

/// How long to wait before asking a server again that did not answer: longer and longer, up to an end.
pub(super) struct Pauses(Duration);

impl Pauses {
    /// After the first time: a server that is started anew is back within some tenths of a second.
    const SHORTEST: Duration = Duration::from_millis(50);
    /// After many: a thousand workers that wait for their server must not keep it from coming back. Five of these are within the
    /// silence after which a server gives a worker up (15 s, unless it is told otherwise).
    const LONGEST: Duration = Duration::from_secs(3);

    pub(super) fn new() -> Pauses {
        Pauses(Pauses::SHORTEST)
    }

    pub(super) fn next(&mut self) -> Duration {
        let longer = (self.0 * 2).min(Pauses::LONGEST);
        std::mem::replace(&mut self.0, longer)
    }
}

/// Asks until the server answers, or says no, or nobody waits any more.
pub(super) fn patiently<T>(
    is_over: &dyn Fn() -> bool,
    mut call: impl FnMut() -> Result<T, CallError>,
) -> Result<T, CallError> {
    let mut pauses = Pauses::new();
    loop {
        match call() {
            Err(error) if error.is_passing() && !is_over() => std::thread::sleep(pauses.next()),
            answer => return answer,
        }
    }
}

/// Puts a task's inputs into its folder, each whole and with the right digest.
pub(super) fn fetch(
    caller: &Caller,
    id: u64,
    folder: &Path,
    is_over: &dyn Fn() -> bool,
) -> Result<(), Trouble> {
    let place = Beneath::open(folder).map_err(here(folder.display()))?;
    // An input that is not there will not come by waiting: the task fails, and says so.
    let listed = patiently(is_over, || match caller.inputs(id) {
        Err(CallError::Refused {
            status: 409,
            what,
            cure,
        }) => Ok(Err(format!("{what} ({cure})"))),
        answer => answer.map(Ok),
    })?;
    for needed in listed.map_err(Trouble::File)? {
        // Under another name until all of it is there and its digest is right: a task never sees half an input.
        let (mut file, pending) =
            (place.create(&needed.path, needed.executable)).map_err(here(&needed.path))?;
        let mut hasher = blake3::Hasher::new();
        let mut bytes = 0;
        let fetched = patiently(is_over, || {
            // What came before the connection broke stays, and counts in the digest: large files would never come else.
            let offset = bytes;
            let mut into = Counting {
                file: &mut file,
                hasher: &mut hasher,
                bytes: &mut bytes,
                failure: None,
            };
            let came = caller.download(&needed.digest, offset, &mut into);
            if let Some(failure) = into.failure {
                return Ok(Err(failure));
            }
            came?;
            // An answer may end early without an error where somebody between us closed it.
            match bytes >= needed.bytes {
                true => Ok(Ok(())),
                false => Err(CallError::Away("the file broke off".to_owned())),
            }
        })?;
        fetched.map_err(here(&needed.path))?;
        if hasher.finalize().to_hex().as_str() != needed.digest {
            let what = format!("{} came with another content than announced", needed.path);
            return Err(Trouble::File(what));
        }
        pending.place().map_err(here(&needed.path))?;
    }
    Ok(())
}

/// Counts and digests what is written.
struct Counting<'f> {
    file: &'f mut File,
    hasher: &'f mut blake3::Hasher,
    bytes: &'f mut u64,
    /// Why it could not be written here: asking again does not help.
    failure: Option<std::io::Error>,
}

impl Write for Counting<'_> {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        let written = match self.file.write(piece) {
            Ok(written) => written,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => return Err(e),
            Err(e) => {
                let kind = e.kind();
                self.failure = Some(e);
                return Err(kind.into());
            }
        };
        self.hasher.update(&piece[..written]);
        *self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Uploads a task's outputs, which printed so much.
pub(super) fn deliver(
    caller: &Caller,
    folder: &Path,
    outputs: &[String],
    printed: u64,
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<Made>, Trouble> {
    let place = Beneath::open(folder).map_err(here(folder.display()))?;
    let mut made = Vec::new();
    // The server may say at once that it never takes so much: it would wait for ever with the last of them.
    let mut result = printed;
    for path in outputs {
        let meta = place.read(path).and_then(|file| file.metadata());
        result = result.saturating_add(meta.map_err(here(path))?.len());
    }
    for path in outputs {
        // One descriptor for digest and upload: what is put under the name meanwhile is another file.
        let mut file = place.read(path).map_err(here(path))?;
        let digest = digest_of(&mut file).map_err(here(path))?;
        let meta = file.metadata().map_err(here(path))?;
        let bytes = meta.len();
        let (mut spoilt, mut told) = (0, Some(result));
        patiently(is_over, || {
            // Asked anew each time: what came through of an upload that broke off is not sent again, nor what others sent.
            let stored = caller.stored(&digest)?;
            if stored.complete {
                return Ok(());
            }
            // More than there is cannot be the beginning of it.
            let offset = if stored.bytes <= bytes {
                stored.bytes
            } else {
                0
            };
            let rest = file.seek(SeekFrom::Start(offset));
            rest.map_err(|e| CallError::Away(e.to_string()))?;
            match caller.upload(&digest, &mut file, (offset, bytes), told) {
                Ok(stored) if stored.complete => Ok(()),
                Ok(_) => Err(CallError::Away("the upload broke off".to_owned())),
                // What was there was not the beginning of it: it begins anew.
                Err(CallError::Refused { status: 422, .. }) if spoilt < SPOILT => {
                    spoilt += 1;
                    Err(CallError::Away("the upload was spoilt".to_owned()))
                }
                // An older server does not know of results as a whole.
                Err(CallError::Refused { status: 400, .. }) if told.take().is_some() => {
                    Err(CallError::Away("the upload was not understood".to_owned()))
                }
                Err(error) => Err(error),
            }
        })?;
        made.push(Made {
            path: path.clone(),
            digest,
            executable: meta.permissions().mode() & 0o100 != 0,
        });
    }
    Ok(made)
}

/// A log of which nobody wants more.
// In the place of a number of bytes; no log is ever so long.
pub(super) const ENOUGH: u64 = u64::MAX;

/// Sends what a log has beyond `sent` bytes, which says how much was sent in all then, or [`ENOUGH`].
///
/// # Errors
/// If the server is away, or has no room for more of it, now (429) or ever (413).
pub(super) fn send_log(
    caller: &Caller,
    attempt: Attempt,
    path: &Path,
    sent: &mut u64,
) -> Result<(), CallError> {
    let Ok(mut file) = File::open(path) else {
        return Ok(());
    };
    if *sent == ENOUGH || file.seek(SeekFrom::Start(*sent)).is_err() {
        return Ok(());
    }
    let key = (attempt.id, attempt.epoch, attempt.attempt);
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece);
        if read.is_err() || piece.is_empty() {
            return Ok(());
        }
        match caller.log(key, *sent, &piece) {
            // Also where the server had more of it already: pieces may come twice, and are the same.
            Ok(stored) if stored.complete => *sent += piece.len() as u64,
            Err(error) if error.is_for_room() => return Err(error),
            // Of an attempt that counts no more, mostly. Nobody would ever read the rest.
            Err(CallError::Refused { status, .. }) if status < 500 => *sent = ENOUGH,
            Err(error) => return Err(error),
            // It is as long as logs may be.
            Ok(_) => *sent = ENOUGH,
        }
        if *sent == ENOUGH {
            return Ok(());
        }
    }
}
