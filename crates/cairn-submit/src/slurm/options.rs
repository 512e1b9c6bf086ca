//! What people may hand to `sbatch` through us: everything but what tells our jobs from others, or says what they are. Knows no
//! values.

/// An option that cannot be handed to `sbatch`, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {why}")]
pub struct OptionError {
    /// As it was given.
    pub option: String,
    /// What is wrong with it.
    pub why: &'static str,
    /// What helps.
    pub instead: Instead,
}

/// What to do instead. What is another option of ours is for whoever has options to word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// Leave it out.
    Leave,
    /// In words.
    Do(&'static str),
    /// Look for logs beneath the folder of the state.
    LogsInState,
    /// Have the submission watched.
    Watch,
    /// Have the files written only.
    DryRun,
    /// Give an option and its value as one word.
    OneWord,
}

const KEY: &str =
    "the comment is the key by which a job is found again, so that nothing is submitted twice";
const ORDER: &str = "which job waits for which comes from the workflow";
const ARRAY: &str = "which tasks go together as an array is decided here";
const ELSEWHERE: &str =
    "the queue is looked at here, so that a job elsewhere would be taken for lost";
const OURS: &str = "this is set for every job here";
const NO_JOB: &str = "sbatch would not submit, or not return";
const LEAVE: Instead = Instead::Leave;

/// Long options that are ours, each with its letter.
const OWNED: [(&str, Option<char>, &str, Instead); 18] = [
    ("comment", None, KEY, LEAVE),
    (
        "clusters",
        Some('M'),
        ELSEWHERE,
        Instead::Do(
            "name the cluster in the variable SLURM_CLUSTERS, which all of Slurm's programs read",
        ),
    ),
    ("uid", None, ELSEWHERE, Instead::Do("submit as that user")),
    ("array", Some('a'), ARRAY, LEAVE),
    (
        "dependency",
        Some('d'),
        ORDER,
        Instead::Do("put it into the workflow"),
    ),
    ("kill-on-invalid-dep", None, ORDER, LEAVE),
    ("job-name", Some('J'), OURS, LEAVE),
    (
        "chdir",
        Some('D'),
        OURS,
        Instead::Do("call cairn in the folder where tasks are to run"),
    ),
    ("output", Some('o'), OURS, Instead::LogsInState),
    ("open-mode", None, OURS, LEAVE),
    ("parsable", None, OURS, LEAVE),
    ("wrap", None, OURS, LEAVE),
    ("wait", Some('W'), NO_JOB, Instead::Watch),
    ("test-only", None, NO_JOB, Instead::DryRun),
    ("help", Some('h'), NO_JOB, LEAVE),
    ("usage", None, NO_JOB, LEAVE),
    ("version", Some('V'), NO_JOB, LEAVE),
    ("nice", None, OURS, LEAVE),
];

/// Letters of options that take no value: another may follow in the same word.
// Every other letter of `sbatch` takes the rest of the word as its value.
const ALONE: &str = "HhIkOQsuvVWX";

/// Checks what was given for `sbatch`, a word an option. `is_nice` where `nice` is ours.
///
/// # Errors
/// The first that cannot be handed on.
pub fn check(options: &[String], is_nice: bool) -> Result<(), OptionError> {
    for option in options {
        let wrong = |why, instead| {
            let option = option.clone();
            Err(OptionError {
                option,
                why,
                instead,
            })
        };
        let owned = match option.strip_prefix("--") {
            Some("") => return wrong("this ends the options, and hides ours", LEAVE),
            // Slurm takes the beginning of a name for the whole.
            Some(long) => {
                let name = long.split('=').next().unwrap_or(long);
                OWNED
                    .iter()
                    .find(|owned| !name.is_empty() && owned.0.starts_with(name))
            }
            None => {
                let Some(letters) = option.strip_prefix('-').filter(|l| !l.is_empty()) else {
                    return wrong("this is no option", Instead::OneWord);
                };
                let rest = letters.find(|c| !ALONE.contains(c));
                let read = rest.map_or(letters, |at| {
                    let last = letters[at..].chars().next().map_or(0, char::len_utf8);
                    &letters[..at + last]
                });
                OWNED
                    .iter()
                    .find(|owned| owned.1.is_some_and(|l| read.contains(l)))
            }
        };
        match owned {
            // Ours only with `--nice`: else people may set it.
            Some(("nice", ..)) if !is_nice => {}
            Some((_, _, why, instead)) => return wrong(why, *instead),
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(option: &str) -> bool {
        check(&[option.to_owned()], false).is_err()
    }

    #[test]
    fn what_would_hide_a_job_or_change_what_it_is_is_refused() {
        for option in [
            "--comment=proj42",
            "--comm=x",
            "--comment",
            "-Mnorth",
            "-M",
            "--clusters=all",
            "--cluster=north",
            "-sMnorth",
            "-a1-3",
            "--array=0-9",
            "-dsingleton",
            "--dependency=afterok:7",
            "--wait",
            "-W",
            "-HW",
            "--test-only",
            "--wrap=true",
            "-Jx",
            "--job-name=x",
            "-o/dev/null",
            "--output=x",
            "-D/tmp",
            "--chdir=/tmp",
            "--uid=7",
            "--parsable",
            "--",
            "script.sh",
            "",
            "-",
            "short",
            "--version",
            "-V",
        ] {
            assert!(refused(option), "{option}");
        }
        let error = check(&["--comment=proj42".to_owned()], false).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("--comment=proj42: the comment is the key"),
            "{error}"
        );
    }

    #[test]
    fn everything_else_goes() {
        for option in [
            "--partition=short",
            "-pshort",
            "-pMain",
            "--account=a",
            "-Aadam",
            "--time=2:00:00",
            "-t10",
            "--mem=4G",
            "--mem-per-cpu=1G",
            "-c4",
            "-n1",
            "--exclusive",
            "--constraint=a|b",
            "-CMad",
            "--qos=low",
            "--hold",
            "-H",
            "--error=x",
            "--nice=5",
            "--gid=3",
            "--export=NONE",
            "--mail-user=a@b",
            "--requeue",
            "-Q",
            "-vvv",
            "--wckey=w",
            "--gres=gpu:1",
            "--cluster-constraint=x",
        ] {
            assert!(!refused(option), "{option}");
        }
        assert!(check(&["--nice=5".to_owned()], true).is_err());
    }
}
