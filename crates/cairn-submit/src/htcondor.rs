//! HTCondor's DAGMan: a `.dag` with priorities, one submit file, a script a task. Knows no pool: nothing is executed.

use crate::handover::{children, tag};
use crate::script::text;
use crate::{Handover, HandoverError, Made, Task};
use cairn_dag::{plain, wide};
use cairn_formats::is_category;
use std::path::Path;

/// For tasks that do not say what memory they need: the pool has its own default, which is not ours to lower.
const PLAIN: &str = "task.sub";

/// For those that do.
const WITH_MEMORY: &str = "task-memory.sub";

/// Children on one `PARENT` line.
// DAGMan takes longer lines; editors and people do not.
const CHILDREN_A_LINE: usize = 500;

/// `workflow.dag`, `task.sub`, the same with a request for memory where a task asks for some, and the scripts.
///
/// # Errors
/// A folder whose path cannot be spelled in a submit file.
pub(crate) fn files(handover: &Handover, folder: &Path) -> Result<Vec<Made>, HandoverError> {
    let path = text(folder).map_err(HandoverError::Path)?;
    // A submit file has a line a statement, and reads `$(…)`, `$ENV(…)` and the like wherever they stand.
    if path.chars().any(|c| c.is_control() || c == '$') {
        return Err(HandoverError::Unspeakable(path.to_owned()));
    }
    let scripts = handover.scripts(|task| &task.once);
    let mut files = vec![
        Made::new("workflow.dag", dag(handover)),
        Made::new(PLAIN, submit_file(path, "")),
        Made::new("logs/README", "What tasks print.\n"),
    ];
    if handover.tasks.iter().any(|task| task.memory.is_some()) {
        let text = submit_file(path, "request_memory = $(memory)\n");
        files.push(Made::new(WITH_MEMORY, text));
    }
    files.extend(scripts);
    Ok(files)
}

/// The category of a task: DAGMan knows one a node, of which a node holds one. Nothing where a task's pools are not like that.
pub(crate) fn category(task: &Task) -> Option<&str> {
    match &task.pools[..] {
        [(pool, 1)] if is_category(pool) => Some(pool),
        _ => None,
    }
}

fn dag(handover: &Handover) -> String {
    let name = |place: u32| tag(place, &handover.tasks[wide(place)].name);
    let mut text = format!("# {}, made by `cairn submit`\n", plain(&handover.name));
    for (place, task) in handover.placed() {
        let own = name(place);
        // HTCondor counts in mebibytes, and 0 would ask for nothing.
        let memory = task.memory.map(|bytes| bytes.div_ceil(1 << 20).max(1));
        let file = memory.map_or(PLAIN, |_| WITH_MEMORY);
        text += &format!("# {}\nJOB {own} {file}\n", plain(&task.name));
        let cpus = task.cpus.unwrap_or(1);
        text += &format!("VARS {own} script=\"{place}\" cpus=\"{cpus}\"");
        text += &memory.map_or(String::new(), |m| format!(" memory=\"{m}\""));
        text += "\n";
        text += &format!("PRIORITY {own} {}\n", handover.priority(place));
        match (task.retries, task.never_retry_on) {
            (0, _) => {}
            (retries, None) => text += &format!("RETRY {own} {retries}\n"),
            (retries, Some(code)) => text += &format!("RETRY {own} {retries} UNLESS-EXIT {code}\n"),
        }
        if let Some(abort) = task.abort_on {
            text += &format!("ABORT-DAG-ON {own} {}", abort.exit);
            // Without RETURN, DAGMan ends with the node's own code.
            if abort.returned != abort.exit {
                text += &format!(" RETURN {}", abort.returned);
            }
            text += "\n";
        }
        if let Some(category) = category(task) {
            text += &format!("CATEGORY {own} {category}\n");
        }
    }
    let is_used = |pool: &str| handover.tasks.iter().any(|t| category(t) == Some(pool));
    for (pool, limit) in handover.pool_limits.iter().filter(|(p, _)| is_used(p)) {
        // Its numbers have 31 bits.
        text += &format!("MAXJOBS {pool} {}\n", (*limit).min(i32::MAX as u32));
    }
    for (place, children) in (0u32..).zip(children(&handover.tasks).iter()) {
        for some in children.chunks(CHILDREN_A_LINE) {
            let some: Vec<String> = some.iter().map(|&child| name(child)).collect();
            text += &format!("PARENT {} CHILD {}\n", name(place), some.join(" "));
        }
    }
    text
}

/// One submit file for all tasks, with `more` lines: what differs comes from `VARS`.
fn submit_file(folder: &str, more: &str) -> String {
    // Within double quotes HTCondor doubles a double quote, and keeps words together by single ones.
    let script = format!(
        "'{}'",
        format!("{folder}/tasks/")
            .replace('\'', "''")
            .replace('"', "\"\"")
    );
    let script = script.trim_end_matches('\'');
    format!(
        "universe = vanilla\nexecutable = /bin/sh\ntransfer_executable = false\n\
         arguments = \"{script}$(script).sh'\"\ngetenv = true\nshould_transfer_files = no\nrequest_cpus = $(cpus)\n\
         {more}output = {folder}/logs/$(script).out\nerror = {folder}/logs/$(script).err\n\
         log = {folder}/logs/workflow.log\nqueue\n"
    )
}
