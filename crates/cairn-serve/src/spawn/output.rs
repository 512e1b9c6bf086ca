//! What a process writes: in memory while it is little, else in a file. Knows no processes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// So much is kept in memory before a file is opened for it.
// So most are written by one call, when they end.
const LITTLE: usize = 1 << 14;

/// So much is read after the end of the process: what the pipe can hold, and no more, as grandchildren may write for ever.
// Twice what a pipe has unless somebody made it larger: all of the process's own, and some of theirs.
const AFTERWARDS: usize = 1 << 17;

/// What a process wrote.
#[derive(Debug)]
pub struct Log {
    /// The file; `None` if there was nothing to keep, or it could not be made.
    pub path: Option<PathBuf>,
    /// How much was written.
    pub bytes: u64,
    /// Why not all of it is in the file, if so.
    pub failure: Option<io::Error>,
}

#[derive(Debug)]
pub(super) struct Capture {
    reader: Option<io::PipeReader>,
    path: PathBuf,
    little: Vec<u8>,
    file: Option<File>,
    bytes: u64,
    failure: Option<io::Error>,
}

impl Capture {
    pub(super) fn new(reader: Option<io::PipeReader>, path: PathBuf) -> Capture {
        Capture {
            reader,
            path,
            little: Vec::new(),
            file: None,
            bytes: 0,
            failure: None,
        }
    }

    /// Where it comes from, while somebody may still write.
    pub(super) fn reader(&self) -> Option<&io::PipeReader> {
        self.reader.as_ref()
    }

    /// Takes what is there, once. Somebody said that something is, be it the end.
    pub(super) fn read_some(&mut self, buffer: &mut [u8]) {
        self.read(buffer);
    }

    /// Nobody can write any more: takes all that is there.
    pub(super) fn read_rest(&mut self, buffer: &mut [u8]) {
        while self.read(buffer) > 0 {}
        self.reader = None;
    }

    /// How much was there; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let Some(reader) = &mut self.reader else {
            return 0;
        };
        match reader.read(buffer) {
            // All ends are closed: no more events of it.
            Ok(0) => {
                self.reader = None;
                0
            }
            Ok(length) => {
                self.keep(&buffer[..length]);
                length
            }
            Err(_) => 0,
        }
    }

    /// How much can be read without waiting for more.
    fn waiting(&self) -> usize {
        let waiting = self.reader.as_ref().map(rustix::io::ioctl_fionread);
        waiting.map_or(0, |waiting| waiting.unwrap_or(0) as usize)
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.little.extend_from_slice(bytes);
        if self.little.len() > LITTLE {
            self.spill();
        }
    }

    fn spill(&mut self) {
        if self.failure.is_none() {
            let mut write = || -> io::Result<File> {
                let mut file = match self.file.take() {
                    Some(file) => file,
                    // Only where there is output. A log file for every task: 0.82 of the tasks a second of ninja; so: 0.99.
                    None => create(&self.path)?,
                };
                file.write_all(&self.little)?;
                Ok(file)
            };
            match write() {
                Ok(file) => self.file = Some(file),
                // The process goes on: what it prints is not what it makes.
                Err(e) => self.failure = Some(e),
            }
        }
        // Also where it could not be written: a process that prints without end must not fill the memory instead.
        self.little.clear();
    }

    /// The process has ended: what is still in the pipe, then no more.
    pub(super) fn finish(mut self, buffer: &mut [u8]) -> Log {
        let mut most = AFTERWARDS;
        // Asked before every read, which would wait for grandchildren that hold the pipe.
        while most > 0 && self.waiting() > 0 {
            match self.read(buffer) {
                0 => break,
                length => most = most.saturating_sub(length),
            }
        }
        if !self.little.is_empty() {
            self.spill();
        }
        Log {
            path: self.file.is_some().then_some(self.path),
            bytes: self.bytes,
            failure: self.failure,
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    // The folder is there but for the first time: not made before every file, which would be another call a task.
    match File::create(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            File::create(path)
        }
        made => made,
    }
}

/// The last lines of a log, at most so many.
pub fn tail(path: &Path, lines: usize) -> io::Result<String> {
    // Lines that people wrote are within that; a log of one endless line must not be read whole.
    const MOST: u64 = 1 << 13;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    let begin = text.rmatch_indices('\n').nth(lines.saturating_sub(1));
    Ok(text[begin.map_or(0, |(at, _)| at + 1)..].to_owned())
}
