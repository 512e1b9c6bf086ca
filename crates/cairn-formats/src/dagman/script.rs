//! A node with PRE and POST scripts as one line for the shell. Knows what DAGMan makes of their exits, and runs nothing.
//!
//! The PRE script runs first; if it fails the node has failed, and neither the job nor the POST script runs (unless its
//! exit is that of PRE_SKIP: then the node is executed, without them). With a POST script, its exit is that of the node.

use super::submit::Program;
use crate::shell::push_word;

/// A script and its arguments: DAGMan cuts them at blanks, and knows no quotes.
#[derive(Clone, Debug)]
pub(super) struct Script {
    words: Vec<String>,
}

impl Script {
    pub(super) fn new(command: &str) -> Script {
        let words = command.split_whitespace().map(str::to_owned);
        let mut words: Vec<String> = words.collect();
        if let Some(path) = words.first_mut().filter(|path| !path.contains('/')) {
            // It is not looked up in `PATH`.
            path.insert_str(0, "./");
        }
        Script { words }
    }
}

/// All that a node runs.
pub(super) struct Composed<'a> {
    pub(super) node: &'a str,
    pub(super) retry: u32,
    pub(super) retries: u32,
    pub(super) cluster: usize,
    pub(super) pre: Option<Script>,
    pub(super) pre_skip: Option<i32>,
    /// None for a node whose job is not to be run.
    pub(super) program: Option<Program>,
    pub(super) post: Option<Script>,
}

impl Composed<'_> {
    /// The line. The exit of PRE is `$p`, that of the job `$r`.
    pub(super) fn line(&self) -> String {
        let mut line = match &self.pre {
            // What DAGMan gives for $PRE_SCRIPT_RETURN where there is none.
            None => "p=-1\n".to_owned(),
            Some(pre) => {
                let skip = match self.pre_skip {
                    // 0 is success anyhow, and a script has no exit beyond 255.
                    Some(exit @ 1..=255) => format!(" {exit}) exit 0 ;;"),
                    _ => String::new(),
                };
                let pre = self.script(pre);
                format!("{pre}\np=$?\ncase $p in 0) ;;{skip} *) exit $p ;; esac\n")
            }
        };
        match &self.program {
            Some(program) => line.push_str(&format!("{}\nr=$?\n", started(program))),
            None => line.push_str("r=0\n"),
        }
        match &self.post {
            None => line.push_str("exit $r\n"),
            Some(post) => {
                // What a signal ended is a negative number for DAGMan.
                line.push_str("s=False\nif [ $r -eq 0 ]; then s=True; fi\n");
                line.push_str("if [ $r -gt 128 ]; then r=-$((r - 128)); fi\n");
                line.push_str(&self.script(post));
                line.push('\n');
            }
        }
        line
    }

    /// The words of a script for the shell. A word that is a macro, in whatever case, stands for its value.
    fn script(&self, script: &Script) -> String {
        let mut line = String::new();
        for word in &script.words {
            let value = match &*word.to_ascii_uppercase() {
                "$JOB" | "$NODE" => self.node.to_owned(),
                "$RETRY" => self.retry.to_string(),
                "$MAX_RETRIES" => self.retries.to_string(),
                "$JOBID" => format!("{}.0", self.cluster),
                "$CLUSTERID" => self.cluster.to_string(),
                "$DAG_STATUS" | "$FAILED_COUNT" => "0".to_owned(),
                "$JOB_COUNT" => "1".to_owned(),
                "$RETURN" => {
                    line.push_str(" \"$r\"");
                    continue;
                }
                "$PRE_SCRIPT_RETURN" => {
                    line.push_str(" \"$p\"");
                    continue;
                }
                "$SUCCESS" => {
                    line.push_str(" \"$s\"");
                    continue;
                }
                _ => word.clone(),
            };
            push_word(&mut line, &value);
        }
        line
    }
}

/// The job itself, in a shell of its own, which ends as the job does.
fn started(program: &Program) -> String {
    let mut line = "( ".to_owned();
    if let Some(directory) = &program.directory {
        // Neither an option nor looked up in `CDPATH`.
        let here = if directory.starts_with('/') { "" } else { "./" };
        let mut words = "cd".to_owned();
        push_word(&mut words, &format!("{here}{directory}"));
        line.push_str(&words);
        line.push_str(" && ");
    }
    // The shell becomes the job, so that a signal to one reaches the other and its exit is the job's.
    let mut words = "exec".to_owned();
    if !program.inherits_environment || !program.environment.is_empty() {
        push_word(&mut words, "env");
        if !program.inherits_environment {
            push_word(&mut words, "-i");
        }
        for (name, value) in &program.environment {
            push_word(&mut words, &format!("{name}={value}"));
        }
        if program.executable.contains('=') {
            // `env` would take it for a variable.
            for word in ["/bin/sh", "-c", "exec \"$0\" \"$@\""] {
                push_word(&mut words, word);
            }
        }
    }
    push_word(&mut words, &program.executable);
    for argument in &program.arguments {
        push_word(&mut words, argument);
    }
    line.push_str(&words);
    let mut redirect = |sign: &str, path: &Option<String>| {
        if let Some(path) = path {
            let mut word = String::new();
            push_word(&mut word, path);
            line.push_str(&format!(" {sign} {word}"));
        }
    };
    redirect("<", &program.input);
    redirect(">", &program.output);
    match (&program.output, &program.error) {
        (Some(output), Some(error)) if output == error => line.push_str(" 2>&1"),
        (_, error) => redirect("2>", error),
    }
    line.push_str(" )");
    line
}
