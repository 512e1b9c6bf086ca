//! What of a submit description cannot be run on one machine without HTCondor, and what means nothing there. Runs nothing.

use super::super::submit::Submit;
use super::{NodePlace, Nodes};
use crate::{Place, Report, Source};

/// Refuses descriptions that cannot be run here, and warns of lines that mean nothing. Places are in `file`, where the
/// description is one, else at the node that it belongs to.
pub(super) fn check(
    nodes: &Nodes,
    place: NodePlace,
    submit: u32,
    file: Option<&Source>,
    node: Place,
    report: &mut Report,
) {
    let mut check = Check {
        nodes,
        place,
        submit: &nodes.submits[submit as usize],
        file,
        node,
        report,
    };
    // What is no setting at all comes first: it may be why settings seem to be missing.
    check.lines();
    check.kind_of_job();
    check.transfers();
    check.ignored();
    check.environment();
}

struct Check<'a, 'r> {
    nodes: &'a Nodes,
    place: NodePlace,
    submit: &'a Submit,
    file: Option<&'a Source>,
    node: Place,
    report: &'r mut Report,
}

impl Check<'_, '_> {
    fn at(&self, line: Option<u32>) -> Place {
        match (self.file, line) {
            (Some(file), Some(line)) => file.place_of_line(line),
            (Some(file), None) => file.place(),
            (None, _) => self.node.clone(),
        }
    }

    fn value(&self, key: &str) -> Option<String> {
        let scope = &self.nodes.scopes[self.place.scope as usize];
        let entry = self.place.entry as usize;
        let variables = |key: &str, append: bool| scope.variables.get(entry, key, append);
        let value = self.submit.value(key, &variables)?;
        Some(value.trim_matches('"').trim().to_owned()).filter(|v| !v.is_empty())
    }

    fn refuse(&mut self, key: &str, message: impl Into<String>, help: &str) {
        let place = self.at(self.submit.line_of(key));
        self.report.error(place, message, help);
    }

    fn warn(&mut self, key: &str, message: impl Into<String>, help: &str) {
        let place = self.at(self.submit.line_of(key));
        self.report.warning(place, message, help);
    }

    /// Lines that are no settings, and how many jobs there are.
    fn lines(&mut self) {
        for (line, text) in &self.submit.foreign {
            let message = format!("'{text}' is not understood in a submit description");
            let help = "write it out as lines of the form 'key = value'";
            self.report.error(self.at(Some(*line)), message, help);
        }
        match &self.submit.queues[..] {
            [] if self.file.is_some() => {
                let message = "there is no 'queue' in this submit description";
                let help = "add a line 'queue' at its end";
                self.report.error(self.at(None), message, help);
            }
            [] => {}
            [(_, count)] if matches!(&count[..], "" | "1") => {}
            [.., (line, _)] => {
                let message = "a node that queues several jobs is not run here";
                let help = "let 'queue' stand there once and alone, and write a node for each job";
                self.report.error(self.at(Some(*line)), message, help);
            }
        }
    }

    fn kind_of_job(&mut self) {
        if let Some(universe) = self.value("universe") {
            // The numbers are HTCondor's own for the same three.
            const HERE: [&str; 6] = ["vanilla", "local", "scheduler", "5", "7", "12"];
            if !HERE.contains(&&*universe.to_ascii_lowercase()) {
                let message = format!("jobs of the universe '{universe}' are not run here");
                let help = "only vanilla, local and scheduler jobs are";
                self.refuse("universe", message, help);
            }
        }
        for key in ["docker_image", "container_image"] {
            if self.value(key).is_some() {
                let help = "run the container by name: executable = /usr/bin/podman";
                self.refuse(key, format!("'{key}': no container is started here"), help);
            }
        }
        let is_held = (self.value("hold")).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        if is_held {
            let message = "a job that begins on hold is not run here";
            self.refuse("hold", message, "remove 'hold'");
        }
        let success = self.value("success_exit_code");
        if success.is_some_and(|code| code != "0") {
            let message = "success_exit_code is not kept here";
            let help = "let a POST script decide what counts as success";
            self.refuse("success_exit_code", message, help);
        }
    }

    /// Nothing is transferred: the job runs where its files are.
    fn transfers(&mut self) {
        let wanted = self.value("should_transfer_files");
        if wanted.is_some_and(|v| v.eq_ignore_ascii_case("no")) {
            return;
        }
        for key in ["transfer_output_remaps", "output_destination"] {
            if self.value(key).is_some() {
                let message = format!("'{key}': files stay where the job writes them");
                let help = "let the job write its output where it belongs";
                self.refuse(key, message, help);
            }
        }
        let mut elsewhere = false;
        for key in ["transfer_input_files", "transfer_output_files"] {
            let files = self.value(key).unwrap_or_default();
            if files.contains("://") {
                let message = format!("'{key}' names a URL, and nothing is transferred here");
                let help = "fetch it in a node of its own, or in a PRE script";
                self.refuse(key, message, help);
            }
            elsewhere |= files.contains('/');
        }
        if elsewhere {
            let message = "files in other directories are not brought to the job: it runs where it is submitted";
            let help =
                "name them by their paths in the arguments, or use should_transfer_files = NO";
            self.warn("transfer_input_files", message, help);
        }
    }

    /// What only HTCondor could do.
    fn ignored(&mut self) {
        // A job may do without these and still be the same; what it cannot do without is refused above.
        const IGNORED: [&str; 14] = [
            "requirements",
            "rank",
            "concurrency_limits",
            "max_retries",
            "retry_until",
            "deferral_time",
            "periodic_remove",
            "periodic_hold",
            "periodic_release",
            "on_exit_remove",
            "on_exit_hold",
            "request_gpus",
            "require_gpus",
            "cron_minute",
        ];
        let set = |key: &&str| self.submit.get(key).is_some();
        let ignored: Vec<&str> = IGNORED.into_iter().filter(set).collect();
        if let Some(first) = ignored.first() {
            let keys = ignored.join(", ");
            let message = format!("without HTCondor these have no effect: {keys}");
            let help = "nothing needs to be done if the job runs on any machine";
            self.warn(first, message, help);
        }
    }

    fn environment(&mut self) {
        let list = self.value("getenv").unwrap_or_default();
        let list = list.to_ascii_lowercase();
        let is_one_word = matches!(
            &*list,
            "" | "true" | "t" | "yes" | "1" | "false" | "f" | "no" | "0"
        );
        if !is_one_word {
            let message = "getenv with a list of names takes the whole environment here";
            let help = "write 'getenv = true', or name the variables in 'environment'";
            self.warn("getenv", message, help);
        }
    }
}
