//! A job as a script for a POSIX shell that does the same wherever it is started. Knows no engine.

pub(crate) use cairn_formats::shell_word as quoted;
use cairn_formats::{Job, Run};
use std::borrow::Cow;
use std::path::Path;

/// The text of a path.
pub(crate) fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| path.display().to_string())
}

/// The script of a job whose relative paths begin at `home`.
///
/// # Errors
/// A path that is no text.
pub(crate) fn of(job: &Job<'_>, home: &Path) -> Result<String, String> {
    let words: Vec<Cow<'_, str>> = match &job.run {
        Run::Nothing => return Ok(":\n".to_owned()),
        Run::Words(words) => words.iter().map(|word| quoted(word)).collect(),
        // What is the user's is never read as a part of ours.
        Run::Shell(line) => vec!["/bin/sh".into(), "-c".into(), quoted(line)],
    };
    let folder = match &job.directory {
        Some(folder) => home.join(folder),
        None => home.to_owned(),
    };
    // 126, as a shell has it for what cannot be executed. `exec`, so that signals of the engine reach the task itself.
    let mut script = format!("cd {} || exit 126\nexec", quoted(text(&folder)?));
    if !job.environment.is_empty() || !job.inherits_environment {
        // Where there is nothing to set, nothing stands between the shell and the program.
        script += " env";
        if !job.inherits_environment {
            script += " -i";
        }
        for (name, value) in &job.environment {
            script += &format!(" {}", quoted(&format!("{name}={value}")));
        }
    }
    for word in words {
        script += &format!(" {word}");
    }
    if let Some(path) = &job.stdin {
        script += &format!(" < {}", quoted(text(path)?));
    }
    if let Some(path) = &job.stdout {
        script += &format!(" > {}", quoted(text(path)?));
    }
    match &job.stderr {
        Some(path) if Some(path) == job.stdout.as_ref() => script += " 2>&1",
        Some(path) => script += &format!(" 2> {}", quoted(text(path)?)),
        None => {}
    }
    script.push('\n');
    Ok(script)
}

/// Seconds between asking an attempt to end and killing it.
// As `cairn run` does it, so that a workflow is treated alike wherever it runs.
pub(crate) const KILLING: u32 = 5;

/// The same, asked to end when an attempt has taken so long, and killed [`KILLING`] seconds later. The exit code is 124 then.
pub(crate) fn with_limit(once: String, seconds: Option<f64>) -> String {
    let Some(seconds) = seconds.filter(|s| s.is_finite() && *s > 0.0) else {
        return once;
    };
    // Zero would be no limit, and not every `timeout` knows parts of a second.
    let seconds = match seconds.fract() == 0.0 {
        true => format!("{seconds:.0}"),
        false => format!("{:.3}", seconds.max(0.001)),
    };
    format!(
        "if command -v timeout > /dev/null; then\n  set -- timeout -k {KILLING} {seconds}\nelse\n  set --\n  \
         echo \"cairn: there is no program 'timeout' here: the time limit is not kept\" >&2\nfi\nexec \"$@\" /bin/sh -c {}\n",
        quoted(&once)
    )
}

/// The same, tried again after failures.
pub(crate) fn with_retries(once: &str, retries: u32, never: Option<i32>) -> String {
    if retries == 0 {
        return once.to_owned();
    }
    let never = never.map_or(String::new(), |code| {
        format!("  [ $code -ne {code} ] || exit $code\n")
    });
    // Each attempt in a shell of its own: `exec` of the first would leave nobody to count.
    format!(
        "left={retries}\nwhile :; do\n  /bin/sh -c {}\n  code=$?\n  [ $code -ne 0 ] || exit 0\n{never}  \
         [ $left -gt 0 ] || exit $code\n  left=$((left - 1))\ndone\n",
        quoted(once)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::process::Command;

    fn sh(script: &str) -> (i32, String) {
        let out = Command::new("/bin/sh")
            .args(["-c", script])
            .output()
            .unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        (out.status.code().unwrap(), text)
    }

    #[test]
    fn a_script_does_what_the_job_says() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("it's a ☃\nfolder");
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join("in"), "read me").unwrap();
        let mut job = Job::of_line("cat; printf '%s|' \"$A\" \"$HOME\"; pwd; echo oops >&2");
        job.directory = Some(PathBuf::from("it's a ☃\nfolder").into());
        job.environment = vec![("A".into(), "b 'c'\n$d".into())];
        job.inherits_environment = false;
        job.stdin = Some(PathBuf::from("in").into());
        job.stdout = Some(PathBuf::from("o u t").into());
        job.stderr = Some(PathBuf::from("o u t").into());
        let script = of(&job, folder.path()).unwrap();
        assert_eq!(sh(&script), (0, String::new()));
        let made = std::fs::read_to_string(odd.join("o u t")).unwrap();
        let real = odd.canonicalize().unwrap();
        assert_eq!(
            made,
            format!("read meb 'c'\n$d||{}\noops\n", real.display())
        );
    }

    #[test]
    fn plain_words_need_no_shell_and_a_missing_folder_says_so() {
        let job = Job::of_line("sort -u words");
        let script = of(&job, Path::new("/tmp")).unwrap();
        assert_eq!(script, "cd /tmp || exit 126\nexec sort -u words\n");
        let script = of(&job, Path::new("/no/such")).unwrap();
        assert_eq!(sh(&script).0, 126);
    }

    #[test]
    fn an_attempt_that_takes_too_long_has_failed() {
        let slow = with_limit("printf x; exec sleep 60".to_owned(), Some(0.3));
        let begin = std::time::Instant::now();
        assert_eq!(sh(&slow), (124, "x".to_owned()));
        assert_eq!(sh(&with_retries(&slow, 1, None)), (124, "xx".to_owned()));
        assert!(begin.elapsed().as_secs() < 20);
        let quick = with_limit("printf \"it's $0\"; exit 3".to_owned(), Some(50.0));
        assert_eq!(sh(&quick), (3, "it's /bin/sh".to_owned()));
        assert_eq!(with_limit("a".to_owned(), None), "a");
    }

    #[test]
    fn retries_are_counted_and_one_code_ends_them() {
        let count = "printf x; exit 3";
        assert_eq!(sh(&with_retries(count, 0, None)), (3, "x".to_owned()));
        assert_eq!(sh(&with_retries(count, 2, None)), (3, "xxx".to_owned()));
        assert_eq!(sh(&with_retries(count, 2, Some(3))), (3, "x".to_owned()));
        assert_eq!(sh(&with_retries("printf y", 2, None)), (0, "y".to_owned()));
    }
}
