//! What the end of a process means for its task: what is given back to the engine, and what is told. Starts and ends none.

use super::{Drive, Fate, UnderWay};
use crate::run::files::{Before, DeclaredFiles};
use crate::run::{Failed, News};
use crate::spawn::{Exit, Exited};
use cairn_engine::{Cause, Outbox, Outcome, Position, Task, Token};
use std::path::Path;

impl<P: Position> Drive<'_, P> {
    /// A process ended.
    pub(super) fn end(&mut self, ended: Exited, out: &mut Outbox) {
        let task = Task(ended.key);
        let Some(attempt) = self.running.remove(&task) else {
            return;
        };
        let log = ended.log.path.as_deref();
        let detail = match &ended.log.failure {
            Some(e) => format!("its output could not be kept: {e}"),
            None => String::new(),
        };
        self.finish(task, attempt, ended.exit, log, &detail, out);
    }

    pub(super) fn finish(
        &mut self,
        task: Task,
        attempt: UnderWay,
        exit: Exit,
        log: Option<&Path>,
        detail: &str,
        out: &mut Outbox,
    ) {
        match (exit, attempt.fate) {
            // Also where it was asked to end meanwhile.
            (Exit::Code(0), _) => {
                if let Some((files, id)) = self.files.as_mut().zip(task.frozen()) {
                    // What was seen of them was before it ran.
                    files.forget();
                    if let Some(missing) = files.missing(id, true) {
                        let detail = format!("it did not make {missing}, which it declares");
                        return self.fail(task, attempt, (0, Cause::Output), log, &detail, out);
                    }
                    self.group.stamps.extend(files.stamp(id, attempt.inputs));
                }
                self.executed_now += 1;
                let token = attempt.token;
                // Sizes, then the end, then what nobody reads any more: the keeper would else free what was reserved in the place of
                // what is there.
                self.measure(task);
                self.give_back(task, token, Outcome::Executed, out);
                self.free(task);
                self.tell(&News::Executed { task, token });
            }
            (_, Some(Fate::Stopped)) => {
                self.take_back(attempt.before);
                let token = attempt.token;
                self.give_back(task, token, Outcome::GivenBack, out);
                self.count_left(task);
                self.tell(&News::GivenBack { task, token });
            }
            (Exit::Code(code) | Exit::Signal(code), Some(Fate::Late)) => {
                self.fail(task, attempt, (code, Cause::Time), log, detail, out);
            }
            (Exit::Code(code) | Exit::Signal(code), Some(Fate::Greedy(taken))) => {
                let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
                let (took, may) = (megabytes(taken), megabytes(attempt.memory));
                let detail = format!("{took} MiB instead of {may}");
                self.fail(task, attempt, (code, Cause::Memory), log, &detail, out);
            }
            // The system ends what takes too much.
            (Exit::Signal(9), None) if attempt.memory > 0 => {
                self.fail(task, attempt, (9, Cause::Memory), log, detail, out);
            }
            (Exit::Code(code), None) => {
                self.fail(task, attempt, (code, Cause::Exit), log, detail, out);
            }
            (Exit::Signal(signal), None) => {
                self.fail(task, attempt, (signal, Cause::Signal), log, detail, out);
            }
        }
    }

    pub(super) fn fail(
        &mut self,
        task: Task,
        attempt: UnderWay,
        (exit, cause): (i32, Cause),
        log: Option<&Path>,
        detail: &str,
        out: &mut Outbox,
    ) {
        // Before the engine knows: from then on the task may begin again, and must not find what this attempt left.
        self.take_back(attempt.before);
        let token = attempt.token;
        self.give_back(task, token, Outcome::Failed { exit, cause }, out);
        self.count_left(task);
        let for_good = self.standing(task).is_given_up();
        self.tell(&News::Failed(Failed {
            task,
            token,
            exit,
            cause,
            detail,
            for_good,
            log,
        }));
        for aborted in std::mem::take(&mut out.aborted) {
            self.tell(&News::Aborted(aborted));
        }
    }

    pub(in crate::run) fn give_back(
        &mut self,
        task: Task,
        token: Token,
        outcome: Outcome,
        out: &mut Outbox,
    ) {
        (self.engine).give_back(self.clock.now(), task, token, outcome, out);
    }

    /// Outputs that a failed attempt left are no outputs.
    fn take_back(&mut self, before: Before) {
        for half in DeclaredFiles::take_back(before) {
            self.count_half_made(&half);
            self.tell(&News::HalfMade(&half));
        }
    }
}
