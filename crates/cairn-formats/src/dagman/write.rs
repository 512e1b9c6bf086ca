//! Writes a flow as a DAGMan file. Knows nothing of splices: the file is flat.
//!
//! A task with a command gets an inline submit description that runs it with `/bin/sh`; one without names the submit
//! file `<task>.sub`, which is the user's to write. All tasks are `JOB`s: a flow does not say that one was `FINAL`.
//! Retries, priorities and what is done already are kept; durations and files have no place in DAGMan. Names that
//! DAGMan cannot take are percent-encoded, see [`super::name`]. DAGMan's numbers have 32 bits: a priority or number of
//! retries beyond that is cut to the nearest.

use super::submit::Demands;
use super::{name, submit};
use cairn_dag::Flow;
use std::borrow::Cow;
use std::io::{self, Write};

/// Children on one `PARENT` line: longer lists go on in another line.
// DAGMan reads lines of any length, but editors and people do not.
const CHILDREN_A_LINE: usize = 1000;

/// Writes the flow. Reading it back gives the same tasks in the same order, arcs, commands, retries and priorities.
pub(crate) fn write(flow: &Flow, out: &mut dyn Write) -> io::Result<()> {
    let tasks = || flow.dag().tasks();
    // All names or none: a reader decodes a file as a whole, so that a `%` elsewhere means itself.
    let encoded = tasks().any(|task| !name::is_plain(flow.name(task)));
    if encoded {
        writeln!(out, "{}", name::ENCODED_NAMES)?;
    }
    let name_of = |task| match encoded {
        true => name::encode(flow.name(task)),
        false => Cow::Borrowed(flow.name(task)),
    };
    for task in tasks() {
        let (name, done) = (name_of(task), if flow.is_done(task) { " DONE" } else { "" });
        match flow.command(task) {
            Some(command) => {
                writeln!(out, "JOB {name} {{")?;
                let demands = Demands {
                    cpus: flow.cpus(task),
                    memory: flow.memory(task),
                    scratch: flow.scratch(task),
                    time_limit: flow.time_limit(task),
                };
                for line in submit::description(command, demands).lines() {
                    writeln!(out, "    {line}")?;
                }
                writeln!(out, "}}{done}")?;
            }
            // DAGMan takes a submit file `x.condor.sub` for that of a nested dag
            None if name.ends_with(".condor") => writeln!(out, "JOB {name} {name}.submit{done}")?,
            None => writeln!(out, "JOB {name} {name}.sub{done}")?,
        }
        if let Some(retries) = flow.retries(task) {
            writeln!(out, "RETRY {name} {}", retries.min(i32::MAX as u32))?;
        }
        // A node has one category, of which it holds one.
        let mut pools = flow.pools(task);
        if let (Some((pool, 1)), None) = (pools.next(), pools.next())
            && is_category(pool)
        {
            writeln!(out, "CATEGORY {name} {pool}")?;
        }
        if let Some(priority) = flow.priority(task) {
            writeln!(
                out,
                "PRIORITY {name} {}",
                priority.clamp(i32::MIN.into(), i32::MAX.into())
            )?;
        }
    }
    for (pool, limit) in flow.pool_limits().filter(|(pool, _)| is_category(pool)) {
        writeln!(out, "MAXJOBS {pool} {}", limit.min(i32::MAX as u32))?;
    }
    for parent in tasks() {
        for children in flow.dag().children(parent).chunks(CHILDREN_A_LINE) {
            write!(out, "PARENT {} CHILD", name_of(parent))?;
            for &child in children {
                write!(out, " {}", name_of(child))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Whether a pool can be spelled as a category of DAGMan that is read back under the same name: as one word, and as no category
/// of the whole (`+`).
pub fn is_category(pool: &str) -> bool {
    let plain = |b: u8| b.is_ascii_graphic() && !b"\"'\\#".contains(&b);
    !pool.is_empty() && pool.bytes().all(plain) && !pool.starts_with('+')
}
