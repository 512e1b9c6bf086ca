//! Brings an input into memory: opened, unpacked, within limits, and checked to be UTF-8. Knows no format.

use crate::packing::Packing;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

/// How much of an input is read before it is refused. The defaults suit every real workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Most bytes of text, after unpacking. Never more than 2³² − 2: places are kept in 32 bits.
    pub max_bytes: u64,
    /// Most bytes of one line.
    pub max_line: u64,
    /// Most bytes of one line of JSON or XML, which may be written without line breaks.
    pub max_document_line: u64,
    /// A packed input that grows by more than this factor (and past 64 MiB) is refused as a decompression bomb.
    pub max_growth: u64,
}

impl Default for ReadLimits {
    fn default() -> ReadLimits {
        ReadLimits {
            max_bytes: ReadLimits::MOST_BYTES,
            // A PARENT line of a million children is some tens of megabytes; beyond that it is no list of lines.
            max_line: 64 << 20,
            max_document_line: 1 << 30,
            // Repetitive text packs to a two-hundredth or so; gzip's limit, of zeros alone, is a thousandth.
            max_growth: 500,
        }
    }
}

impl ReadLimits {
    // The last number of 32 bits means "nowhere", and a place may lie right behind the last byte.
    const MOST_BYTES: u64 = u32::MAX as u64 - 1;
}

/// Why an input was not taken.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) line: u32,
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

fn refuse<T>(message: impl Into<String>, help: &'static str) -> Result<T, Refusal> {
    Err(Refusal {
        line: 0,
        message: message.into(),
        help,
    })
}

/// All of a file, of whatever kind.
pub(crate) fn file(path: &Path, limits: &ReadLimits) -> Result<String, Refusal> {
    open(path, false).and_then(|(file, size)| read_text(file, size, limits))
}

/// All of a file, which must be a regular one.
pub(crate) fn regular_file(path: &Path, limits: &ReadLimits) -> Result<String, Refusal> {
    open(path, true).and_then(|(file, size)| read_text(file, size, limits))
}

pub(crate) fn standard_input(limits: &ReadLimits) -> Result<String, Refusal> {
    read_text(io::stdin().lock(), 0, limits)
}

/// Bytes in memory, which are not packed.
pub(crate) fn bytes(bytes: Vec<u8>, limits: &ReadLimits) -> Result<String, Refusal> {
    let size = bytes.len();
    read_limited(io::Cursor::new(bytes), size, limits, None).and_then(to_text)
}

/// Opens a file; the second value is its size where known.
fn open(path: &Path, regular_only: bool) -> Result<(File, usize), Refusal> {
    let found = std::fs::metadata(path).and_then(|about| {
        // A directory or a pipe is not opened at all: opening a pipe would wait for its writer.
        let refused = about.is_dir() || (regular_only && !about.is_file());
        let file = if refused {
            None
        } else {
            Some(File::open(path)?)
        };
        Ok((about, file))
    });
    match found {
        Ok((about, _)) if about.is_dir() => {
            refuse("this is a directory, not a file", "name a file inside it")
        }
        Ok((about, Some(file))) => {
            // Of pipes and devices the length says nothing.
            let size = if about.is_file() { about.len() } else { 0 };
            Ok((file, usize::try_from(size).unwrap_or(0)))
        }
        Ok((_, None)) => refuse("this is not a regular file", "name a regular file"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => refuse(
            "there is no such file",
            "check the spelling and the directory you are in",
        ),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => refuse(
            "permission to read this file is denied",
            "check its permissions with ls -l",
        ),
        Err(error) => refuse(format!("cannot open this file: {error}"), ""),
    }
}

/// Unpacks and reads everything, as UTF-8. `size` is how many bytes are expected, 0 when unknown.
fn read_text(input: impl Read, size: usize, limits: &ReadLimits) -> Result<String, Refusal> {
    let taken = Rc::new(Cell::new(0));
    let mut input = Counted {
        input,
        count: taken.clone(),
    };
    let mut head = Vec::new();
    let read = input
        .by_ref()
        .take(Packing::HEAD as u64)
        .read_to_end(&mut head);
    if let Err(error) = read {
        return refuse(format!("cannot read this input: {error}"), "");
    }
    let packing = Packing::of(&head);
    // The head is put in front again: a pipe cannot be read twice.
    let whole = io::Cursor::new(head).chain(input);
    let bytes = match packing {
        Packing::Plain => read_limited(whole, size, limits, None),
        Packing::Gzip | Packing::Zstd => match packing.unpack(whole) {
            // Its size is that of the packed file, which says nothing of the text.
            Ok(unpacked) => read_limited(unpacked, 0, limits, Some(&taken)),
            Err(error) => refuse(format!("cannot unpack this file: {error}"), ""),
        },
        Packing::Other(what, cure) => refuse(format!("this is {what}, not text"), cure),
    }?;
    to_text(bytes)
}

/// Counts the bytes taken from a reader.
struct Counted<R> {
    input: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Reads to the end or to the first limit. `packed` counts the packed bytes taken so far, if it is packed.
fn read_limited(
    mut input: impl Read,
    size: usize,
    limits: &ReadLimits,
    packed: Option<&Cell<u64>>,
) -> Result<Vec<u8>, Refusal> {
    // A quarter of a mebibyte: a few calls for most files, and it fits into a second-level cache.
    const CHUNK: usize = 1 << 18;
    // What unpacks to no more than this does no harm, however little it was made of.
    const SMALL: usize = 64 << 20;
    let most = usize::try_from(limits.max_bytes.min(ReadLimits::MOST_BYTES)).unwrap_or(usize::MAX);
    // One more than its size, so that the read that finds the end needs no second allocation.
    let mut bytes = Vec::with_capacity(size.saturating_add(1).min(most));
    // Looked at while it is read: a file of one endless line is refused before it has filled the memory.
    let mut lines = LineLengths::default();
    // A chunk stays in the cache while it is looked at; and the whole text need not be cleared before it is read.
    let mut buffer = vec![0; CHUNK];
    loop {
        let start = bytes.len();
        let (filled, read) = fill(&mut input, &mut buffer);
        bytes.extend_from_slice(&buffer[..filled]);
        let chunk = &buffer[..filled];
        // Refused, not unpacked again: bombs are packed twice, workflows are not.
        if start == 0 && packed.is_some() && Packing::of(chunk) != Packing::Plain {
            return refuse(
                "this file is packed twice",
                "unpack it once first and name the unpacked file",
            );
        }
        if start == 0 {
            lines.most = match chunk.trim_ascii_start() {
                // JSON and XML of programs are often one line.
                [b'{' | b'[' | b'<', ..] => limits.max_document_line,
                _ => limits.max_line,
            };
        }
        // Before the length of lines: in a binary file a line that is too long would be told of, which mends nothing.
        if chunk.contains(&0) {
            return refuse_binary(&bytes);
        }
        if !lines.take(chunk) {
            return Err(Refusal {
                line: lines.line(&bytes),
                message: format!("this line is longer than the limit of {} bytes", lines.most),
                help: "check that this is the right file; a workflow has shorter lines",
            });
        }
        if bytes.len() > most {
            return refuse(
                format!("this input holds more than the limit of {most} bytes"),
                "check that this is the right file, or split the workflow",
            );
        }
        // Compared while it grows, not at the end: by then a bomb would have filled the memory.
        let packed_bytes = packed.map_or(u64::MAX, Cell::get);
        if bytes.len() > SMALL && bytes.len() as u64 / limits.max_growth > packed_bytes {
            return refuse(
                format!(
                    "{packed_bytes} packed bytes have grown to more than {}: this looks like a decompression bomb",
                    bytes.len()
                ),
                "if you trust the file, unpack it first and name the unpacked file",
            );
        }
        match read {
            // `fill` stops early at the end of the input alone.
            Ok(()) if filled < CHUNK => return Ok(bytes),
            Ok(()) => {}
            Err(error) if packed.is_some() => {
                let truncated = error.kind() == io::ErrorKind::UnexpectedEof;
                let why = if truncated {
                    "it ends too early".to_owned()
                } else {
                    error.to_string()
                };
                return refuse(
                    format!("cannot unpack this file: {why}"),
                    "it is truncated or damaged: copy or download it again",
                );
            }
            Err(error) => return refuse(format!("cannot read this input: {error}"), ""),
        }
    }
}

/// Reads until the buffer is full or the input ends: how much was read, and whether that went well.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> (usize, io::Result<()>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            // A signal came; nothing is lost, and the same read goes on.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Err(error)),
        }
    }
    (filled, Ok(()))
}

/// Watches the length of lines while chunks pass by.
#[derive(Default)]
struct LineLengths {
    most: u64,
    /// Bytes of the last line so far.
    current: u64,
}

impl LineLengths {
    /// Takes the next chunk; `false` when a line in it is too long. (A line that begins *and* ends inside one
    /// chunk is never too long.)
    fn take(&mut self, chunk: &[u8]) -> bool {
        // Only the first and the last line of a chunk reach beyond it: the search ends at their ends.
        let first = chunk.iter().position(|&b| b == b'\n');
        self.current += first.unwrap_or(chunk.len()) as u64;
        if self.current > self.most {
            return false;
        }
        if let Some(last) = chunk.iter().rposition(|&b| b == b'\n') {
            self.current = (chunk.len() - last - 1) as u64;
        }
        self.current <= self.most
    }

    /// The number of the line that was too long.
    fn line(&self, bytes: &[u8]) -> u32 {
        let start = bytes.len().saturating_sub(self.current as usize);
        bytes[..start].iter().filter(|&&b| b == b'\n').count() as u32 + 1
    }
}

fn refuse_binary<T>(bytes: &[u8]) -> Result<T, Refusal> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => refuse(
            "this text is encoded as UTF-16",
            "save it as UTF-8, for example: iconv -f UTF-16 -t UTF-8 FILE",
        ),
        _ => refuse(
            "this is not a text file: it holds zero bytes",
            "name a workflow file",
        ),
    }
}

/// Checks that the bytes are UTF-8 and takes off a byte order mark.
fn to_text(bytes: Vec<u8>) -> Result<String, Refusal> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..good].iter().filter(|&&b| b == b'\n').count() + 1;
        let start = bytes[..good].iter().rposition(|&b| b == b'\n');
        let byte = good - start.map_or(0, |i| i + 1) + 1;
        Refusal {
            line: line as u32,
            message: format!(
                "byte {byte} of this line, 0x{:02x}, is not UTF-8",
                bytes[good]
            ),
            help: "save the file as UTF-8, for example: iconv -f ISO-8859-1 -t UTF-8 FILE",
        }
    })?;
    // Readers would take it for a part of the first word.
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    if text.is_empty() {
        return refuse("this input is empty", "name a file that holds a workflow");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, Source};
    use std::io::Write;

    fn load(bytes: &[u8]) -> Result<String, String> {
        load_limited(bytes, &ReadLimits::default())
    }

    fn load_limited(bytes: &[u8], limits: &ReadLimits) -> Result<String, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut report = Report::default();
        match Source::load(file.path(), limits, &mut report) {
            Some(source) => Ok(source.text().to_owned()),
            None => {
                let [problem] = report.problems() else {
                    panic!("one problem")
                };
                assert!(!problem.help.is_empty(), "{}", problem.message);
                Err(format!("{}: {}", problem.place.line, problem.message))
            }
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 3).unwrap()
    }

    #[test]
    fn packed_and_plain_read_alike() {
        let text = "JOB a a.sub\r\nJOB b b.sub\r\n";
        let twice = [gzip(text.as_bytes()), gzip(b"JOB c c.sub\n")].concat();
        assert_eq!(load(text.as_bytes()).unwrap(), text);
        assert_eq!(load(&gzip(text.as_bytes())).unwrap(), text);
        assert_eq!(load(&zstd(text.as_bytes())).unwrap(), text);
        assert_eq!(load(&twice).unwrap(), format!("{text}JOB c c.sub\n"));
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        assert_eq!(load(&marked).unwrap(), text);
        assert_eq!(load(&zstd(&marked)).unwrap(), text);
        let long = "0123456789abcde\n".repeat(100_000);
        assert_eq!(load(&gzip(long.as_bytes())).unwrap(), long);
    }

    #[test]
    fn what_is_no_text_is_refused_with_a_reason() {
        let text = "JOB a a.sub\n".repeat(1000);
        let packed = [gzip(text.as_bytes()), zstd(text.as_bytes())];
        for (bytes, expected) in [
            (&b""[..], "empty"),
            (b"\xef\xbb\xbf", "empty"),
            (b"PK\x03\x04rest", "zip archive"),
            (b"\xfd7zXZ\0rest", "xz file"),
            (b"a\0b", "zero bytes"),
            (b"\xff\xfea\0b\0", "UTF-16"),
            (
                b"JOB a\nJOB \xe9t\xe9\n",
                "2: byte 5 of this line, 0xe9, is not UTF-8",
            ),
            (&packed[0][..packed[0].len() / 2], "ends too early"),
            (&packed[1][..packed[1].len() / 2], "cannot unpack"),
            (&packed[0][..5], "cannot unpack"),
            (&packed[1][..5], "cannot unpack"),
            (&gzip(&packed[1]), "packed twice"),
            (&zstd(b""), "empty"),
        ] {
            let message = load(bytes).unwrap_err();
            assert!(message.contains(expected), "{message} / {expected}");
        }
        let mut damaged = packed[0].clone();
        damaged[12] ^= 0x5a;
        assert!(load(&damaged).unwrap_err().contains("cannot unpack"));
    }

    #[test]
    fn missing_files_and_directories_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for (path, expected) in [
            (folder.path().join("nothing.dag"), "no such file"),
            (folder.path().to_owned(), "directory"),
        ] {
            let mut report = Report::default();
            assert!(Source::load(&path, &ReadLimits::default(), &mut report).is_none());
            let problem = &report.problems()[0];
            assert!(problem.message.contains(expected), "{}", problem.message);
            assert_eq!(problem.place.file, path.display().to_string());
        }
        let mut report = Report::default();
        let limits = ReadLimits::default();
        let device = Path::new("/dev/null");
        assert!(Source::load_named_by_file(device, &limits, &mut report).is_none());
        assert!(report.problems()[0].message.contains("regular file"));
    }

    #[test]
    fn endless_lines_stop_at_the_limit() {
        let endless = |first: &'static [u8]| first.chain(io::repeat(b'a'));
        let limits = ReadLimits {
            max_line: 1 << 20,
            max_document_line: 4 << 20,
            ..ReadLimits::default()
        };
        let refused = read_text(endless(b"JOB a\nJOB b "), 0, &limits).unwrap_err();
        assert_eq!(refused.line, 2);
        assert!(refused.message.contains("1048576"), "{}", refused.message);
        let refused = read_text(endless(b"{"), 0, &limits).unwrap_err();
        assert!(refused.message.contains("4194304"), "{}", refused.message);
        // Exactly at the limit is allowed, one more is not.
        let line = "a".repeat(1 << 20);
        assert_eq!(load_limited(line.as_bytes(), &limits).unwrap(), line);
        assert!(load_limited(format!("{line}a\nb").as_bytes(), &limits).is_err());
    }

    #[test]
    fn endless_text_and_bombs_stop_at_the_limit() {
        let limits = ReadLimits {
            max_bytes: 1000,
            ..ReadLimits::default()
        };
        assert!(load_limited(&[b'\n'; 1000], &limits).is_ok());
        let message = load_limited(&[b'\n'; 1001], &limits).unwrap_err();
        assert!(message.contains("limit of 1000 bytes"), "{message}");
        let bomb = zstd(&b"aaaaaaaaaaaaaaa\n".repeat(5 << 20));
        assert!(bomb.len() < 100_000);
        let message = load(&bomb).unwrap_err();
        assert!(message.contains("decompression bomb"), "{message}");
    }
}
