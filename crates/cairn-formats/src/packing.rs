//! How a file is packed: gzip and zstd, read by their first bytes and written by the ending of the name. Knows no text and
//! no limits.

use std::io::{self, Read, Write};
use std::path::Path;

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
    /// Something that is not unpacked: what it is, and what to do.
    Other(&'static str, &'static str),
}

impl Packing {
    /// How many first bytes [`Packing::of`] needs.
    // Of xz and bzip2: the others need four.
    pub(crate) const HEAD: usize = 6;

    /// By the first bytes.
    pub(crate) fn of(head: &[u8]) -> Packing {
        match head {
            // By content: downloads lose their endings, and pipes have none.
            [0x1f, 0x8b, ..] => Packing::Gzip,
            // The second is a frame that decoders skip, which may come first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Packing::Other(
                "a zip archive",
                "unzip it and name the workflow file that was inside",
            ),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => {
                Packing::Other("an xz file", "unpack it first: xz -d FILE")
            }
            // With the first two bytes of a block's own mark: a text may well begin with BZh9.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41] => {
                Packing::Other("a bzip2 file", "unpack it first: bzip2 -d FILE")
            }
            [b'7', b'z', 0xbc, 0xaf, ..] => Packing::Other(
                "a 7z archive",
                "unpack it and name the workflow file that was inside",
            ),
            _ => Packing::Plain,
        }
    }

    /// By the ending of a name, and the name without it.
    pub(crate) fn of_name(name: &str) -> (Packing, &str) {
        // A packed text is named for what packs it; what comes before is its own extension.
        let endings = [(".gz", Packing::Gzip), (".zst", Packing::Zstd)];
        for (ending, packing) in endings {
            if let Some(cut) = name.len().checked_sub(ending.len())
                // A file called `.gz` is hidden, not packed.
                && cut > 0
                && name.is_char_boundary(cut)
                && name[cut..].eq_ignore_ascii_case(ending)
            {
                return (packing, &name[..cut]);
            }
        }
        (Packing::Plain, name)
    }

    /// A reader of what is packed.
    pub(crate) fn unpack<'r>(self, input: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
        Ok(match self {
            Packing::Plain | Packing::Other(..) => Box::new(input),
            Packing::Gzip => {
                let input = io::BufReader::new(input);
                // Files that were packed in parts and joined are one gzip stream after another.
                Box::new(flate2::read::MultiGzDecoder::new(input))
            }
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::new(input)?),
        })
    }
}

/// Writes to `out` what `write` gives, packed as the name of the file `path` promises: `.gz` is gzip, `.zst` is zstd,
/// everything else stays as it is.
///
/// ```
/// let mut out = Vec::new();
/// cairn_formats::write_packed("a.dag.gz".as_ref(), &mut out, |out| out.write_all(b"JOB a a.sub\n"))?;
/// assert!(out.starts_with(&[0x1f, 0x8b]));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of `write` and of `out`.
pub fn write_packed(
    path: &Path,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str());
    match Packing::of_name(name.unwrap_or_default()).0 {
        Packing::Plain | Packing::Other(..) => write(out),
        Packing::Gzip => {
            let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            write(&mut out)?;
            out.finish().map(|_| ())
        }
        Packing::Zstd => {
            // Finished below and not when dropped, where an error of the disk would be lost; so is gzip.
            let mut out = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            write(&mut out)?;
            out.finish().map(|_| ())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_packed_is_read_back() {
        let text = b"JOB a a.sub\n".repeat(1000);
        for (name, packing) in [
            ("a.dag", Packing::Plain),
            ("dir.gz/a.dag", Packing::Plain),
            (".gz", Packing::Plain),
            ("a.dag.gz", Packing::Gzip),
            ("A.DAG.GZ", Packing::Gzip),
            ("\u{e9}.zst", Packing::Zstd),
        ] {
            let mut out = Vec::new();
            write_packed(Path::new(name), &mut out, |out| out.write_all(&text)).unwrap();
            assert_eq!(Packing::of(&out), packing, "{name}");
            let mut again = Vec::new();
            let mut input = packing.unpack(&out[..]).unwrap();
            input.read_to_end(&mut again).unwrap();
            assert!(again == text, "{name}");
        }
    }
}
