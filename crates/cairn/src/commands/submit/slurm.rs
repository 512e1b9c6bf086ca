//! A submission to Slurm, followed as long as it needs somebody or somebody wants to watch. Decides nothing.

use super::settings::Settings;
use super::space::Shelved;
use crate::failure::{Failure, INTERRUPTED_CODE};
use crate::limits;
use crate::output::Output;
use crate::plural::counted;
use crate::screen;
use cairn_dag::{TaskId, plain, wide};
use cairn_formats::shell_word;
use cairn_submit::Handover;
use cairn_submit::slurm::{
    CREW_JOURNAL, Crew, CrewError, Journal, News, Place, PlaceError, Step, Tools, ToolsError,
    Trouble, Whereabouts, Window, Wishes, crew,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seconds between two looks at the queue where nobody says.
// A judgement: a task that could start waits for the next look, and a controller serves many who look.
const POLL: f64 = 5.0;

fn unusable(error: &PlaceError) -> Failure {
    let help = match error {
        PlaceError::Io { .. } => "check that you may write there, and that the disk is not full",
        PlaceError::Damaged(_) | PlaceError::Other { .. } | PlaceError::Path(_) => {
            "give it a folder of its own with --state"
        }
        PlaceError::Changed(_) => {
            "put the old command back, or submit all of it again with another --state"
        }
    };
    Failure::of(error, help)
}

fn no_tools(error: &ToolsError) -> Failure {
    let help = match error {
        ToolsError::Missing(_) => {
            "run this where Slurm's programs are, or write what would be submitted with --dry-run -o FOLDER"
        }
        ToolsError::Silent(_) => "nothing was submitted; try again when the controller is back",
    };
    Failure::of(error, help)
}

fn refused(error: &Trouble) -> Failure {
    let help = match error {
        Trouble::Refused { .. } => {
            "mend that, for instance with --sbatch; the same command goes on from there"
        }
        Trouble::NoRoom(no_room) => &no_room.cure,
        Trouble::Journal(_) => "mend that; the same command goes on from there",
    };
    Failure::of(error, help)
}

/// Two ways to submit a workflow do not know of each other: together they would run tasks twice.
fn mixed(folder: &Path, what: &str) -> Failure {
    Failure::usage(
        format!("{} holds the submission of {what}", screen::path(folder)),
        "go on in the same way, or submit all of it again with another --state",
    )
}

/// A crew that is not submitted.
fn no_crew(error: &CrewError) -> Failure {
    let help: &str = match error {
        CrewError::Queued(job) => {
            &format!("wait for it, or end it: scancel {job}; the same command goes on then")
        }
        CrewError::Journal(_) => "wait for it to end, or give another folder with --state",
        CrewError::Io { .. } => "check that you may write there, and that the disk is not full",
        CrewError::Silent(_) => "nothing was submitted; try again when the controller is back",
        CrewError::Refused(_) => "mend that, for instance with --sbatch",
        CrewError::Unknown(_) => "the same command looks for the job before it submits another",
    };
    Failure::of(error, plain(help))
}

/// The order of the submission that a folder holds, by the names of tasks, where it holds one.
pub(super) fn before(folder: &Path) -> Result<Option<Vec<String>>, Failure> {
    match folder.join(CREW_JOURNAL).exists() {
        true => Err(mixed(folder, "a crew (--crew)")),
        false => Place::order(folder).map_err(|e| unusable(&e)),
    }
}

/// The longest array that Slurm takes, if it is here at all. Asked before the plan, which may take a minute.
pub(super) fn longest_array() -> Result<usize, Failure> {
    Tools::longest_array().map_err(|e| no_tools(&e))
}

/// Submits, or takes up again what was submitted before.
pub(super) fn submit(
    settings: &Settings,
    handover: &Handover,
    longest: usize,
    files: Option<(Shelved<'_>, Vec<TaskId>)>,
    folder: &Path,
    out: &Output,
) -> Result<(), Failure> {
    let flags = &settings.flags;
    let place = Place::open(folder, handover).map_err(|e| unusable(&e))?;
    let opened = Journal::open(&folder.join("journal"));
    let (mut journal, events) = opened.map_err(|e| {
        Failure::of(
            &e,
            "wait for it to end, or give another folder with --state",
        )
    })?;
    let lock = journal.lock();
    let lock = lock.map_err(|e| Failure::writing("the journal", &e))?;
    let mut tools = Tools::new(handover, place.clone(), lock);
    let wishes = Wishes {
        most_queued: flags.slurm.max_queued.map(|n| n as usize),
        // A judgement: one refusal or one loss then concerns a thousand tasks at the most.
        most_in_array: longest.min(1000),
    };
    let mut window = Window::new(handover, wishes, &events);
    if flags.slurm.cancel {
        let ended = window.cancel(&mut tools, &mut |event| journal.write(event));
        let ended = ended.map_err(|said| no_tools(&ToolsError::Silent(said)))?;
        let jobs = counted(ended, "job");
        let text = format!("{jobs} ended; the same command without --cancel goes on\n");
        return out.done(&json!({ "cancelled": ended }), &text);
    }
    let mut reporter = Reporter::new(handover, &place, out);
    if let Some((files, tasks)) = files {
        reporter.paths.clone_from(&files.places);
        let space = files.space(tasks, handover);
        window.keep(space).map_err(|e| refused(&e))?;
    }
    loop {
        let mut news = Vec::new();
        let step = window.step(&mut tools, &mut |event| journal.write(event), &mut |n| {
            news.push(n)
        });
        news.into_iter().for_each(|n| reporter.hear(n, &window));
        let step = step.map_err(|e| refused(&e))?;
        reporter.bar(&window);
        match step {
            Step::Over => return reporter.finish(&window, "over"),
            // Under a cap somebody must see to files until the end.
            Step::Submitted if !flags.slurm.watch && window.space().is_none() => {
                return reporter.finish(&window, "submitted");
            }
            Step::Submitted | Step::Unfinished => {}
        }
        let until = Instant::now() + Duration::from_secs_f64(flags.slurm.poll.unwrap_or(POLL));
        while Instant::now() < until && !limits::is_interrupted() {
            // What people who press Ctrl-C take for at once.
            std::thread::sleep(Duration::from_millis(50));
        }
        if limits::is_interrupted() {
            reporter.finish(&window, "interrupted")?;
            return Err(Failure::Code(INTERRUPTED_CODE));
        }
    }
}

/// Tells what happens.
struct Reporter<'a> {
    handover: &'a Handover,
    place: &'a Place,
    out: &'a Output,
    bar: crate::output::Bar,
    /// What was complained about last, so that it is said once.
    trouble: Option<String>,
    /// Jobs that are held, so that it is said once.
    held: HashSet<u32>,
    /// By file under a cap: where it is.
    paths: Vec<Option<PathBuf>>,
}

impl<'a> Reporter<'a> {
    fn new(handover: &'a Handover, place: &'a Place, out: &'a Output) -> Reporter<'a> {
        let bar = out.bar("tasks", handover.tasks.len());
        Reporter {
            handover,
            place,
            out,
            bar,
            trouble: None,
            held: HashSet::new(),
            paths: Vec::new(),
        }
    }

    fn line(&self, value: &Value) {
        if self.out.json {
            // A reader that went away is noticed at the end.
            let _ = self.out.answer(value, "");
        }
    }

    fn hear(&mut self, news: News, window: &Window<'_>) {
        let name = |place: u32| self.handover.tasks[wide(place)].name.as_str();
        match news {
            News::Submitted(first, len, job) => {
                self.trouble = None;
                for place in first..first + len {
                    let job = match len {
                        1 => job.clone(),
                        _ => format!("{job}_{}", place - first),
                    };
                    self.line(&json!({ "task": name(place), "state": "submitted", "job": job }));
                }
            }
            News::Ended(place, standing) => {
                self.trouble = None;
                let (state, exit) = match standing {
                    Whereabouts::Executed => ("executed", Some(0)),
                    Whereabouts::Failed(code) => ("failed", Some(code)),
                    Whereabouts::Lost => ("lost", None),
                    _ => ("aborted", None),
                };
                self.line(&json!({ "task": name(place), "state": state, "exit": exit }));
                let log = window.call_of(place).map(|call| {
                    let log = self.place.log(place, call);
                    format!("; log: {}", screen::path(&log))
                });
                let log = log.unwrap_or_default();
                let shown = plain(name(place));
                match standing {
                    Whereabouts::Failed(code) => {
                        self.out.complain(&format!("'{shown}' failed with exit code {code}{log}"));
                    }
                    Whereabouts::Lost => self.out.complain(&format!(
                        "'{shown}' left the queue without a word: cancelled, killed, or its machine is gone{log}"
                    )),
                    _ => {}
                }
            }
            News::Held(place, job, why) => {
                if self.held.insert(place) {
                    let shown = plain(name(place));
                    self.line(&json!({ "task": name(place), "held": why, "job": job }));
                    self.out.complain(&format!(
                        "'{shown}' is held back ({}): `scontrol release {}` lets it go",
                        plain(&why),
                        plain(&job)
                    ));
                }
            }
            News::StartedAgain(place, job, why) => {
                let shown = plain(name(place));
                self.line(&json!({ "task": name(place), "started_again": why, "job": job }));
                self.out.complain(&format!(
                    "'{shown}' could not be started by its machine ({}): job {} is started again",
                    plain(&why),
                    plain(&job)
                ));
            }
            News::NotDeleted(file, why) => {
                let path = self.paths.get(file.index()).cloned().flatten();
                let path = path.unwrap_or_default();
                self.line(&json!({ "not_deleted": path.display().to_string(), "why": why }));
                let shown = screen::path(&path);
                self.out
                    .complain(&format!("warning: {shown} is not deleted: {}", plain(&why)));
            }
            News::Quota(said) => self.wait("the site takes no more jobs for now", &said),
            News::Dependency(said) => self.wait(
                "Slurm does not know a job that the next one is to wait for; jobs that run go on",
                &said,
            ),
            News::Silent(said) => self.wait("Slurm does not answer; jobs that run go on", &said),
        }
    }

    fn wait(&mut self, what: &str, said: &str) {
        if self.trouble.as_deref() != Some(what) {
            self.trouble = Some(what.to_owned());
            self.line(&json!({ "waiting": what, "said": said }));
            self.out
                .remark(&format!("{what}: waiting ({})", plain(said)));
        }
    }

    fn bar(&self, window: &Window<'_>) {
        let executed = |s: &&Whereabouts| **s == Whereabouts::Executed;
        self.bar
            .at(window.standing().iter().filter(executed).count());
    }

    fn finish(&self, window: &Window<'_>, how: &str) -> Result<(), Failure> {
        let count =
            |is: fn(&Whereabouts) -> bool| window.standing().iter().filter(|s| is(s)).count();
        let executed = count(|s| *s == Whereabouts::Executed);
        let queued = count(|s| matches!(s, Whereabouts::Queued(_) | Whereabouts::InDoubt(_)));
        let waiting = count(|s| *s == Whereabouts::Waiting);
        let failed = count(|s| matches!(s, Whereabouts::Failed(_) | Whereabouts::Lost));
        let aborted = count(|s| *s == Whereabouts::Aborted);
        let mut value = json!({
            "done": how == "over", "engine": "slurm", "tasks": self.handover.tasks.len(),
            "executed": executed, "queued": queued, "waiting": waiting, "failed": failed,
            "aborted": aborted, "folder": self.place.folder().display().to_string(), "run": self.place.run(),
        });
        if let Some((cap, most)) = window.space().map(|space| space.cap_and_most()) {
            value["disk"] = json!({ "cap_bytes": cap, "most_bytes": most });
        }
        let counts = format!(
            "{} executed, {queued} in the queue, {waiting} to be submitted, {failed} failed, {aborted} aborted",
            counted(executed, "task")
        );
        let what = match how {
            "over" => "",
            "submitted" => "; Slurm does the rest (--watch follows it)",
            _ => "; what is in the queue goes on, the same command takes it up again",
        };
        self.out.done(&value, &format!("{counts}{what}\n"))?;
        match how == "over" && failed + aborted > 0 {
            true => Err(Failure::No),
            false => Ok(()),
        }
    }
}

/// One job with a server and workers inside.
pub(super) fn submit_crew(
    settings: &Settings,
    workers: u32,
    home: &Path,
    folder: &Path,
    out: &Output,
) -> Result<(), Failure> {
    let flags = &settings.flags;
    let program = std::env::current_exe().map_err(|e| Failure::writing("this program", &e))?;
    let (program, state) = (utf8(&program)?, utf8(folder)?);
    let home_text = utf8(home)?;
    let script = crew(&Crew {
        serve: &serve_line(&program, &serve_arguments(settings, home)?),
        work: &work_line(&program, &home_text),
        home: &home_text,
        state: &state,
        workers,
    });
    if !flags.dry_run {
        if Place::order(folder).map_err(|e| unusable(&e))?.is_some() {
            return Err(mixed(folder, "a job a task"));
        }
        longest_array()?;
    }
    std::fs::create_dir_all(folder).map_err(|e| Failure::writing(&screen::path(folder), &e))?;
    let path = folder.join("crew.sh");
    crate::output::write_file(&path, |to| to.write_all(script.as_bytes()))?;
    if flags.dry_run {
        let value = json!({ "submitted": false, "files": ["crew.sh"], "folder": state });
        return out.done(&value, &format!("wrote {}\n", screen::path(&path)));
    }
    // Theirs first: of two options that are alike, Slurm takes the last.
    let mut arguments = flags.slurm.sbatch.clone();
    arguments.extend([
        "--open-mode=append".to_owned(),
        "--job-name=cairn-crew".to_owned(),
        format!("--ntasks={workers}"),
        format!("--chdir={home_text}"),
        format!("--output={}/crew.log", state.replace('%', "%%")),
    ]);
    let job = cairn_submit::slurm::submit_crew(folder, &arguments, &utf8(&path)?);
    let job = job.map_err(|e| no_crew(&e))?;
    let (job_text, many) = (plain(&job), counted(workers as usize, "worker"));
    let text = format!("job {job_text} starts {many}\n");
    let value = json!({ "submitted": true, "job": job, "workers": workers, "folder": state });
    out.done(&value, &text)
}

/// The server of a crew, as the shell of the job starts it.
fn serve_line(program: &str, arguments: &[String]) -> String {
    let words: Vec<_> = arguments.iter().map(|word| shell_word(word)).collect();
    let (program, words) = (shell_word(program), words.join(" "));
    format!(r#"{program} serve {words} --state "$state/server" --listen 0.0.0.0:0 --tls"#)
}

/// A worker of a crew.
fn work_line(program: &str, home: &str) -> String {
    let (program, home) = (shell_word(program), shell_word(home));
    let server = r#""https://$(hostname):$port" --fingerprint "$fingerprint""#;
    let token = r#"--token-file "$state/server/tokens/worker""#;
    let jobs = r#"--no-sandbox -j "${SLURM_CPUS_PER_TASK:-1}""#;
    format!("{program} work {server} \\\n    {token} --shared {home} {jobs}")
}

/// What `cairn serve` is given inside the job: what `submit` was given, with paths from anywhere.
fn serve_arguments(settings: &Settings, home: &Path) -> Result<Vec<String>, Failure> {
    let flags = &settings.flags;
    let mut serve = vec![utf8(&home.join(&flags.input.file))?];
    if let Some(format) = &flags.input.format {
        serve.extend(["--format".to_owned(), format.clone()]);
    }
    if let Some(line) = &flags.run {
        serve.extend(["--run".to_owned(), line.clone()]);
    }
    let policy = crate::commands::contender::name(&flags.policy);
    serve.extend(["--policy".to_owned(), policy.to_string()]);
    let (times, world) = (&flags.times.times, &flags.expected.world_from);
    let logs = (times.iter().map(|log| ("--times", log)))
        .chain(world.iter().map(|log| ("--world-from", log)));
    for (flag, log) in logs {
        serve.extend([flag.to_owned(), utf8(&home.join(log))?]);
    }
    if let Some(slots) = flags.expected.slots {
        serve.extend(["--slots".to_owned(), slots.to_string()]);
    }
    let plain_flags = [
        ("--no-learnt-times", flags.times.no_learnt_times),
        ("--no-rescue", flags.no_rescue),
    ];
    let given = plain_flags.iter().filter(|(_, is_given)| *is_given);
    serve.extend(given.map(|(flag, _)| (*flag).to_owned()));
    Ok(serve)
}

/// A path as text, which a script needs.
fn utf8(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let shown = screen::path(path);
        Failure::usage(format!("the path {shown} is not UTF-8"), "rename it")
    })
}
