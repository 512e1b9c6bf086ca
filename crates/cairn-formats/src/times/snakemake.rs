//! What Snakemake keeps of its jobs: benchmark files (a table of runs), and `.snakemake/metadata` (a JSON file for each output).

use super::{Job, Log, LogFormat, Wrong, good, rows, wrong};
use crate::{ReadLimits, Report, Source};
use cairn_dag::kind_of_word;
use serde_json::Value;
use std::path::Path;

/// A benchmark file. Extended ones name rule and wildcards; others are of the job that the file is named for.
pub(super) fn benchmark(source: &Source) -> Result<Vec<Job>, Wrong> {
    let mut lines = rows(source.text());
    let header = lines.next().map_or("", |(_, line)| line);
    let names: Vec<&str> = header.split('\t').map(str::trim).collect();
    let column = |name: &str| names.iter().position(|n| *n == name);
    let (seconds_at, rule_at) = (column("s").unwrap_or(0), column("rule_name"));
    let file = source.path().and_then(Path::file_name);
    let file = file.and_then(|f| f.to_str()).unwrap_or(source.name());
    // Up to the first dot: `align.a.benchmark.txt` is of the job `align`.
    let stem = file.split('.').next().filter(|s| !s.is_empty());
    let stem = stem.unwrap_or(file);
    let mut jobs = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        let seconds = cells.get(seconds_at).and_then(|c| c.parse::<f64>().ok());
        let Some(seconds) = seconds.and_then(good) else {
            return wrong(
                number,
                "this line gives no seconds in the column 's'",
                "give a benchmark file as Snakemake writes it",
            );
        };
        let rule = rule_at.and_then(|at| cells.get(at)).copied();
        jobs.push(Job {
            kind: rule.unwrap_or_else(|| kind_of_word(stem)).to_owned(),
            ..Job::done(stem, seconds)
        });
    }
    Ok(jobs)
}

/// The folder `.snakemake/metadata`, or one that holds it: one file for each output, its name in base 64.
pub(super) fn metadata(folder: &Path, limits: &ReadLimits, report: &mut Report) -> Option<Log> {
    // People name the project, `.snakemake` or the folder itself.
    let inner = [folder.join(".snakemake/metadata"), folder.join("metadata")];
    let folder = inner.iter().find(|f| f.is_dir()).map_or(folder, |f| f);
    let place = || Source::from_text(folder.display().to_string(), "").place();
    let mut files = Vec::new();
    if let Err(error) = list(folder, &mut files) {
        let what = format!("cannot list this folder: {error}");
        let help = "name a log file, or the folder .snakemake/metadata";
        report.error(place(), what, help);
        return None;
    }
    // Folders are listed in no order; the log must be the same each time.
    files.sort();
    let mut jobs = Vec::new();
    for file in &files {
        // Long names are cut into folders, each but the last with an @ before it.
        let relative = file.strip_prefix(folder).unwrap_or(file);
        let parts = relative
            .components()
            .map(|c| c.as_os_str().to_string_lossy());
        let coded: String = parts
            .map(|part| part.trim_start_matches('@').to_owned())
            .collect();
        // Not every file there is Snakemake's: what is no base 64 is passed over.
        let Some(output) = decoded(&coded) else {
            continue;
        };
        let source = Source::load(file, limits, report)?;
        let Ok(value) = serde_json::from_str::<Value>(source.text()) else {
            report.error(
                source.place(),
                "this metadata of Snakemake is no JSON",
                "remove the file; Snakemake writes it anew with the next run",
            );
            return None;
        };
        let number = |key: &str| value.get(key).and_then(Value::as_f64);
        let (Some(start), Some(end)) = (number("starttime"), number("endtime")) else {
            continue;
        };
        // It was ended in the middle: its time says nothing.
        if value.get("incomplete") == Some(&Value::Bool(true)) {
            continue;
        }
        // A clock that was set back in between makes a length below zero: left out, as the others are good.
        let Some(seconds) = good(end - start) else {
            continue;
        };
        let rule = value.get("rule").and_then(Value::as_str);
        jobs.push(Job {
            kind: rule.unwrap_or_else(|| kind_of_word(&output)).to_owned(),
            start: Some(start),
            ..Job::done(&output, seconds)
        });
    }
    if jobs.is_empty() {
        report.error(
            place(),
            "this folder holds no metadata of jobs that ended",
            "name a log file, or the folder .snakemake/metadata of a run that came to something",
        );
        return None;
    }
    Some(Log::of(LogFormat::SnakemakeMetadata, jobs))
}

fn list(folder: &Path, files: &mut Vec<std::path::PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => list(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// Base 64, of a file name or of an address.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            // Never more than 7 bits stay, so that 32 always hold six more.
            bits &= (1 << count) - 1;
        }
    }
    String::from_utf8(bytes).ok().filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_decoded() {
        assert_eq!(
            decoded("cmVzdWx0cy9hLnR4dA=="),
            Some("results/a.txt".to_owned())
        );
        assert_eq!(decoded("YQ"), Some("a".to_owned()));
        assert_eq!(decoded("not base 64"), None);
        assert_eq!(decoded(""), None);
    }
}
