//! Numbers as flags say them: caps on open results, in bytes, as a share of the free space, times; and what is to be taken of
//! files. Knows no workflow.

use crate::cli;
use crate::failure::Failure;
use crate::screen;
use cairn_dag::plain;
use cairn_formats::{is_match, size};
use cairn_plan::storage::{Assumed, Keeping};
use std::path::Path;
use std::time::Duration;

/// A size that a flag gives.
pub(crate) fn size(flag: &str, text: &str) -> Result<u64, Failure> {
    size::parse(text).ok_or_else(|| {
        Failure::usage(
            format!("{flag} {} is no size", plain(text)),
            format!("give bytes with a unit, such as {flag} 16GB"),
        )
    })
}

/// A time that a flag gives: more than nothing, and no more than a human life.
pub(crate) fn time(flag: &str, seconds: f64) -> Result<Duration, Failure> {
    match seconds.is_finite() && seconds > 0.0 && seconds < 3e9 {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(Failure::usage(
            format!("{flag} {seconds} is no time to wait"),
            "give more than 0, such as 90s, 5m, 2h",
        )),
    }
}

/// Bytes on a disk, as `--disk` says them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bytes {
    Given(u64),
    /// A share of what is free where it is asked for.
    OfFree(f64),
}

/// A cap that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DiskCap {
    pub(crate) bytes: u64,
    /// The share, and what was free, where it is one.
    pub(crate) of_free: Option<(f64, u64)>,
}

impl Bytes {
    /// `500GB`, `2TiB`, `90%free`.
    pub(crate) fn parse(flag: &str, text: &str) -> Result<Bytes, Failure> {
        let share = text.trim().strip_suffix("free");
        let share = share.and_then(|t| t.trim_end().strip_suffix('%'));
        let given = match share {
            Some(percent) => {
                let percent = percent.trim().parse().ok();
                // 0 % would allow nothing, and more than all is a slip.
                let percent = percent.filter(|p: &f64| *p > 0.0 && *p <= 100.0);
                percent.map(|p| Bytes::OfFree(p / 100.0))
            }
            None => size::parse(text).map(Bytes::Given),
        };
        given.ok_or_else(|| {
            Failure::usage(
                format!("{flag} {text} is no size"),
                format!(
                    "give a size with its unit, such as {flag} 500GB or 20GiB, or a share of the free space, such as \
                     {flag} 90%free"
                ),
            )
        })
    }

    /// The bytes, with the free space of the disk that holds a folder.
    pub(crate) fn in_folder(self, folder: &Path) -> Result<DiskCap, Failure> {
        match self {
            Bytes::Given(bytes) => Ok(DiskCap {
                bytes,
                of_free: None,
            }),
            // Asked when it is needed and not when flags are read: the disk changes meanwhile.
            Bytes::OfFree(share) => {
                let free = cairn_serve::free_bytes(folder);
                let free = free.map_err(|error| no_free_space(folder, &error))?;
                Ok(DiskCap {
                    bytes: (free as f64 * share) as u64,
                    of_free: Some((share, free)),
                })
            }
        }
    }
}

/// A share of nobody knows what.
pub(crate) fn no_free_space(folder: &Path, error: &std::io::Error) -> Failure {
    let folder = screen::path(folder);
    let message = format!("cannot tell the free space of {folder}: {error}");
    Failure::usage(message, "give the cap in bytes, such as --disk 500GB")
}

/// What `--memory-cap` says: a plain number counts results; with a unit it is a cap on the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MemoryCap {
    Results(u64),
    Bytes(u64),
}

impl MemoryCap {
    pub(crate) fn parse(text: &str) -> Result<MemoryCap, Failure> {
        // A bare number first: as bytes it would be a cap that nothing fits under.
        let results = text.trim().parse().ok().map(MemoryCap::Results);
        let cap = results.or_else(|| size::parse(text).map(MemoryCap::Bytes));
        cap.ok_or_else(|| {
            Failure::usage(
                format!("--memory-cap {text} is neither a number of results nor a size"),
                "give a whole number such as 40, or a size such as 512MB or 2GiB",
            )
        })
    }
}

/// A cap on the disk, and what is to be taken of files, checked.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) cap: Bytes,
    /// Whether it was given as `--memory-cap`.
    pub(crate) is_memory_cap: bool,
    /// Size of files whose paths match, the last that matches first.
    pub(crate) size_of: Vec<(String, u64)>,
    pub(crate) size: Option<u64>,
    pub(crate) temp: Vec<String>,
}

impl Disk {
    /// Nothing without a cap.
    pub(crate) fn new(flags: &cli::DiskFlags) -> Result<Option<Disk>, Failure> {
        let Some(cap) = &flags.disk else {
            return Ok(None);
        };
        let mut size_of = Vec::new();
        for text in &flags.size_of {
            // From the right: a path may have an equals sign, a size has none.
            let pair = text.rsplit_once('=');
            let pair = pair.and_then(|(pattern, s)| Some((tidy(pattern), size::parse(s)?)));
            size_of.push(pair.ok_or_else(|| {
                Failure::usage(
                    format!("--size-of {text} is no pattern with a size"),
                    "give a pattern and a size, such as --size-of '*.bam=2GB'",
                )
            })?);
        }
        let default = |text: &String| {
            size::parse(text).ok_or_else(|| {
                Failure::usage(
                    format!("--default-size {text} is no size"),
                    "give a size with its unit, such as --default-size 100MB",
                )
            })
        };
        Ok(Some(Disk {
            cap: Bytes::parse("--disk", cap)?,
            is_memory_cap: false,
            size: flags.default_size.as_ref().map(default).transpose()?,
            temp: flags.temp.iter().map(|pattern| tidy(pattern)).collect(),
            size_of,
        }))
    }

    /// The same cap, given as `--memory-cap`.
    pub(crate) fn of_memory(bytes: u64) -> Disk {
        Disk {
            cap: Bytes::Given(bytes),
            is_memory_cap: true,
            size_of: Vec::new(),
            size: None,
            temp: Vec::new(),
        }
    }

    /// The flag that a cure is to name.
    pub(crate) fn flag(&self) -> &'static str {
        match self.is_memory_cap {
            true => "--memory-cap",
            false => "--disk",
        }
    }

    /// The size of a file by its path, where a flag gives one.
    pub(crate) fn size_of(&self, path: &str) -> Option<u64> {
        // The last one given wins, as flags of most programs do.
        let mut given = self.size_of.iter().rev();
        let hit = given.find(|(pattern, _)| is_match(pattern, path));
        hit.map(|&(_, bytes)| bytes)
    }

    /// Whether a flag says that a file is temporary.
    pub(crate) fn is_temporary(&self, path: &str) -> bool {
        self.temp.iter().any(|pattern| is_match(pattern, path))
    }

    /// What is assumed of files; `model` is called with it, since it borrows.
    pub(crate) fn assume<T>(
        &self,
        keeping: Keeping,
        is_rest: bool,
        model: impl FnOnce(&Assumed<'_>) -> T,
    ) -> T {
        model(&Assumed {
            size_of: &|path| self.size_of(path),
            size: self.size,
            is_temporary: &|path| self.is_temporary(path),
            keeping,
            is_rest,
        })
    }
}

/// Paths of a flow do not begin with `./`: neither do patterns.
fn tidy(pattern: &str) -> String {
    pattern.strip_prefix("./").unwrap_or(pattern).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_are_bytes_or_a_share_of_the_free_space() {
        let parse = |text| Bytes::parse("--disk", text).ok();
        assert_eq!(parse("5kB"), Some(Bytes::Given(5_000)));
        assert_eq!(parse("90%free"), Some(Bytes::OfFree(0.9)));
        assert_eq!(parse(" 12.5 % free "), Some(Bytes::OfFree(0.125)));
        for bad in [
            "90%", "free", "%free", "0%free", "-1%free", "101%free", "NaN%free", "5", "",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        let here = Bytes::OfFree(0.5).in_folder(Path::new(".")).ok().unwrap();
        let (share, free) = here.of_free.unwrap();
        assert!(share == 0.5 && here.bytes <= free);
    }
}
