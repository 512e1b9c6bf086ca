//! The text of an input: from a file, standard input or memory, unpacked, limited and checked to be UTF-8.
//! Knows no format.

use crate::{Place, Report};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How much of an input is read before it is refused. The defaults suit every real workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of text, after unpacking. Never more than 2³² − 2: places are kept in 32 bits.
    pub max_bytes: u64,
    /// Most bytes of one line.
    pub max_line: u64,
    /// Most bytes of one line of JSON or XML, which may be written without line breaks.
    pub max_document_line: u64,
    /// A packed input that grows by more than this factor (and past 64 MiB) is refused as a decompression bomb.
    pub max_growth: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_bytes: Limits::MOST_BYTES,
            max_line: 64 << 20,
            max_document_line: 1 << 30,
            max_growth: 500,
        }
    }
}

impl Limits {
    const MOST_BYTES: u64 = u32::MAX as u64 - 1;
}

/// The text of one input, and how to name places in it.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    path: Option<PathBuf>,
    text: String,
}

impl Source {
    /// A source made in memory. `name` is what errors call it; its extension helps to detect the format.
    pub fn from_text(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source {
            name: name.into(),
            path: None,
            text: text.into(),
        }
    }

    /// A source made of bytes in memory, with the checks that [`Source::load`] makes.
    pub(crate) fn from_bytes(
        name: &str,
        bytes: Vec<u8>,
        limits: &Limits,
        report: &mut Report,
    ) -> Option<Source> {
        let size = bytes.len();
        let text = read_limited(io::Cursor::new(bytes), size, limits, None).and_then(to_text);
        Source::loaded(Some(Path::new(name)), text, report)
    }

    /// Reads a file, or standard input when `path` is `-`. Packed input (`.gz`, `.zst`) is known by its first
    /// bytes and unpacked. `None` when that fails: the report then says why and what to do.
    ///
    /// ```
    /// use cairn_formats::{Limits, Report, Source};
    /// let mut report = Report::default();
    /// let missing = Source::load("no/such/file.dag".as_ref(), &Limits::default(), &mut report);
    /// assert!(missing.is_none());
    /// assert_eq!(report.problems()[0].message, "there is no such file");
    /// ```
    pub fn load(path: &Path, limits: &Limits, report: &mut Report) -> Option<Source> {
        let standard_input = path == Path::new("-");
        let text = if standard_input {
            read_text(Box::new(io::stdin().lock()), 0, limits)
        } else {
            open(path, false).and_then(|(file, size)| read_text(Box::new(file), size, limits))
        };
        let path = (!standard_input).then_some(path);
        Source::loaded(path, text, report)
    }

    /// Reads a file that another file names. Unlike [`Source::load`] this takes regular files only: what a
    /// downloaded workflow names must not make us wait at a pipe or a terminal.
    pub fn load_named_by_file(path: &Path, limits: &Limits, report: &mut Report) -> Option<Source> {
        let text =
            open(path, true).and_then(|(file, size)| read_text(Box::new(file), size, limits));
        Source::loaded(Some(path), text, report)
    }

    fn loaded(
        path: Option<&Path>,
        text: Result<String, Refusal>,
        report: &mut Report,
    ) -> Option<Source> {
        let name = path.map_or("-".to_owned(), |p| p.display().to_string());
        match text {
            Ok(text) => Some(Source {
                name,
                path: path.map(Path::to_owned),
                text,
            }),
            Err(refusal) => {
                let place = Place {
                    file: name,
                    line: refusal.line,
                    ..Place::default()
                };
                report.error(place, refusal.message, refusal.help);
                None
            }
        }
    }

    /// The same input with another text.
    pub(crate) fn with_text(&self, text: String) -> Source {
        Source {
            name: self.name.clone(),
            path: self.path.clone(),
            text,
        }
    }

    /// The same text in another place.
    pub(crate) fn moved_to(&self, path: &Path) -> Source {
        Source {
            name: path.display().to_string(),
            path: Some(path.to_owned()),
            text: self.text.clone(),
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// What errors call this input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file it was read from, if it was one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The place of a byte offset. Linear in the offset: for errors only.
    pub fn place_at(&self, offset: usize) -> Place {
        let bytes = self.text.as_bytes();
        if offset > bytes.len() {
            return self.place();
        }
        let line = bytes[..offset].iter().filter(|&&b| b == b'\n').count() + 1;
        let start = bytes[..offset].iter().rposition(|&b| b == b'\n');
        let start = start.map_or(0, |i| i + 1);
        let end = bytes[offset..].iter().position(|&b| b == b'\n');
        let end = end.map_or(bytes.len(), |i| offset + i);
        self.place_in_line(line as u32, &bytes[start..end], Some(offset - start))
    }

    /// The place of a whole line, counted from 1. Linear in the text: for errors only.
    pub fn place_of_line(&self, line: u32) -> Place {
        let text = (self.text.lines().nth((line as usize).wrapping_sub(1))).unwrap_or("");
        self.place_in_line(line, text.as_bytes(), None)
    }

    /// The place of a line that the reader holds, and of a byte offset in it. Linear in the line.
    pub(crate) fn place_in_line(&self, line: u32, text: &[u8], offset: Option<usize>) -> Place {
        let before = offset.map(|o| &text[..o.min(text.len())]);
        let column = before.map_or(0, |b| String::from_utf8_lossy(b).chars().count() + 1);
        Place {
            file: self.name.clone(),
            line,
            column: column as u32,
            text: excerpt(text, offset.unwrap_or(0)),
        }
    }

    /// The whole input as a place.
    pub fn place(&self) -> Place {
        Place {
            file: self.name.clone(),
            ..Place::default()
        }
    }

    /// The byte offset of a slice of this source's own text, such as a borrowed JSON string.
    pub fn offset_of(&self, slice: &str) -> Option<usize> {
        let offset = (slice.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (offset + slice.len() <= self.text.len()).then_some(offset)
    }
}

/// Cuts a line to what fits on a terminal, keeping the part around `offset`.
fn excerpt(line: &[u8], offset: usize) -> String {
    const MOST: usize = 120;
    const BEFORE: usize = 40;
    let start = if offset > MOST { offset - BEFORE } else { 0 };
    let end = line.len().min(start.max(offset) + 4 * MOST);
    let text = String::from_utf8_lossy(&line[start.min(end)..end]);
    // A cut may have split a character.
    let text = text.trim_start_matches(|c| start > 0 && c == '\u{fffd}');
    let text = text.trim_end();
    let head = if start > 0 { "…" } else { "" };
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{head}{}…", &text[..cut]),
        None => format!("{head}{text}"),
    }
}

/// Why an input was not taken.
#[derive(Debug)]
struct Refusal {
    line: u32,
    message: String,
    help: &'static str,
}

fn refuse<T>(message: impl Into<String>, help: &'static str) -> Result<T, Refusal> {
    Err(Refusal {
        line: 0,
        message: message.into(),
        help,
    })
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
fn read_text(input: Box<dyn Read + '_>, size: usize, limits: &Limits) -> Result<String, Refusal> {
    let taken = Rc::new(Cell::new(0));
    let mut input = Counted {
        input,
        count: taken.clone(),
    };
    let mut head = Vec::new();
    let read = input.by_ref().take(6).read_to_end(&mut head);
    if let Err(error) = read {
        return refuse(format!("cannot read this input: {error}"), "");
    }
    let packing = Packing::of(&head);
    let whole = io::Cursor::new(head).chain(input);
    let bytes = match packing {
        Packing::Plain => read_limited(whole, size, limits, None),
        Packing::Gzip => {
            let unpacked = flate2::read::MultiGzDecoder::new(io::BufReader::new(whole));
            read_limited(unpacked, 0, limits, Some(&taken))
        }
        Packing::Zstd => match zstd::stream::read::Decoder::new(whole) {
            Ok(unpacked) => read_limited(unpacked, 0, limits, Some(&taken)),
            Err(error) => refuse(format!("cannot unpack this zstd file: {error}"), ""),
        },
        Packing::Other(what, cure) => refuse(format!("this is a {what}, not text"), cure),
    }?;
    to_text(bytes)
}

/// How an input is packed, by its first bytes.
#[derive(Clone, Copy, PartialEq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
    Other(&'static str, &'static str),
}

impl Packing {
    fn of(head: &[u8]) -> Packing {
        match head {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Packing::Other(
                "zip archive",
                "unzip it and name the workflow file that was inside",
            ),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => {
                Packing::Other("xz file", "unpack it first: xz -d FILE")
            }
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41] => {
                Packing::Other("bzip2 file", "unpack it first: bzip2 -d FILE")
            }
            [b'7', b'z', 0xbc, 0xaf, ..] => Packing::Other(
                "7z archive",
                "unpack it and name the workflow file that was inside",
            ),
            _ => Packing::Plain,
        }
    }
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
    limits: &Limits,
    packed: Option<&Cell<u64>>,
) -> Result<Vec<u8>, Refusal> {
    const CHUNK: usize = 1 << 18;
    const SMALL: usize = 64 << 20;
    let most = usize::try_from(limits.max_bytes.min(Limits::MOST_BYTES)).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(size.saturating_add(1).min(most));
    let mut lines = LineLengths::default();
    // A chunk stays in the cache while it is looked at; and the whole text need not be cleared before it is read.
    let mut buffer = vec![0; CHUNK];
    loop {
        let start = bytes.len();
        let (filled, read) = fill(&mut input, &mut buffer);
        bytes.extend_from_slice(&buffer[..filled]);
        let chunk = &buffer[..filled];
        if start == 0 && packed.is_some() && Packing::of(chunk) != Packing::Plain {
            return refuse(
                "this file is packed twice",
                "unpack it once first and name the unpacked file",
            );
        }
        if start == 0 {
            lines.most = match chunk.trim_ascii_start() {
                [b'{' | b'[' | b'<', ..] => limits.max_document_line,
                _ => limits.max_line,
            };
        }
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
            "name a workflow file; run cairn with --help for the formats",
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
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    if text.is_empty() {
        return refuse(
            "this input is empty",
            "name a file that holds a workflow; run cairn with --help for the formats",
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn load(bytes: &[u8]) -> Result<String, String> {
        load_limited(bytes, &Limits::default())
    }

    fn load_limited(bytes: &[u8], limits: &Limits) -> Result<String, String> {
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
            assert!(Source::load(&path, &Limits::default(), &mut report).is_none());
            let problem = &report.problems()[0];
            assert!(problem.message.contains(expected), "{}", problem.message);
            assert_eq!(problem.place.file, path.display().to_string());
        }
        let mut report = Report::default();
        let limits = Limits::default();
        let device = Path::new("/dev/null");
        assert!(Source::load_named_by_file(device, &limits, &mut report).is_none());
        assert!(report.problems()[0].message.contains("regular file"));
    }

    #[test]
    fn endless_lines_stop_at_the_limit() {
        let endless = |first: &'static [u8]| Box::new(first.chain(io::repeat(b'a')));
        let limits = Limits {
            max_line: 1 << 20,
            max_document_line: 4 << 20,
            ..Limits::default()
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
        let limits = Limits {
            max_bytes: 1000,
            ..Limits::default()
        };
        assert!(load_limited(&[b'\n'; 1000], &limits).is_ok());
        let message = load_limited(&[b'\n'; 1001], &limits).unwrap_err();
        assert!(message.contains("limit of 1000 bytes"), "{message}");
        let bomb = zstd(&b"aaaaaaaaaaaaaaa\n".repeat(5 << 20));
        assert!(bomb.len() < 100_000);
        let message = load(&bomb).unwrap_err();
        assert!(message.contains("decompression bomb"), "{message}");
    }

    #[test]
    fn places_show_the_text_around_them() {
        let source = Source::from_text(
            "x",
            format!("one\ntwo {}é!{}\n", "a".repeat(500), "b".repeat(500)),
        );
        let at = source.place_at(4 + 4 + 500);
        assert_eq!((at.line, at.column), (2, 505));
        assert!(at.text.starts_with("…a") && at.text.contains("é!b") && at.text.ends_with('…'));
        assert_eq!(source.place_at(1).text, "one");
        assert_eq!(source.place_of_line(1).text, "one");
        assert_eq!(source.place_at(1 << 30), source.place());
        let word = &source.text()[4..7];
        assert_eq!(source.offset_of(word), Some(4));
        assert_eq!(source.offset_of("elsewhere"), None);
    }
}
