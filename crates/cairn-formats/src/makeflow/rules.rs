//! Rules of a Makeflow file, tied by the files they read and write. Knows not how a rule is written.

use crate::draft::{Draft, Number};
use crate::text::shortened;
use cairn_dag::Flow;
use hashbrown::{HashMap, HashSet};

/// A rule: what it writes, what it reads, and how.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) line: u32,
    pub(super) outputs: Vec<String>,
    pub(super) inputs: Vec<String>,
    pub(super) command: Option<String>,
    /// What it needs: which number, and its text.
    pub(super) demands: Vec<(Number, String)>,
    /// Exported variables, where somebody asks for them.
    pub(super) environment: Vec<(String, String)>,
}

impl Rule {
    /// What its task is called: its first output, or else its line.
    pub(super) fn name(&self) -> String {
        let first = self.outputs.first().cloned();
        first.unwrap_or_else(|| format!("rule-in-line-{}", self.line))
    }
}

/// Ties the rules by their files.
pub(super) fn tie(
    rules: &[Rule],
    sizes: &HashMap<String, u64>,
    mut draft: Draft<'_, '_>,
) -> Option<Flow> {
    let mut tasks = Vec::new();
    let mut writer: HashMap<&str, usize> = HashMap::new();
    for (index, rule) in rules.iter().enumerate() {
        for output in &rule.outputs {
            // Refused: who reads the file would wait for one of the two, and nobody could say for which.
            if let Some(other) = writer.insert(output, index).filter(|&other| other != index) {
                let help = format!(
                    "it is written by the rule in line {} too: let one rule write it",
                    rules[other].line
                );
                let message = format!("two rules write the file '{output}'");
                draft.error(rule.line, message, help);
            }
        }
    }
    for rule in rules {
        let mut name = rule.name();
        // A file may be called like that, too.
        while rule.outputs.is_empty() && writer.contains_key(&name[..]) {
            name.push('\'');
        }
        let build = &mut draft.build;
        match build.declare(&name, rule.line) {
            Ok(task) => tasks.push(task),
            Err(_) => tasks.push(build.mention(&name, rule.line)), // reported above: two rules write the file
        }
    }
    for (index, rule) in rules.iter().enumerate() {
        let task = tasks[index];
        if let Some(command) = &rule.command {
            draft.build.set_command(task, command);
        }
        for (number, text) in &rule.demands {
            if !draft.number(task, *number, text) {
                let message = format!("'{}' is no amount and is ignored", shortened(text));
                let help =
                    "CORES, MEMORY, DISK and WALL_TIME are numbers of cores, megabytes and seconds";
                draft.warning(rule.line, message, help);
            }
        }
        let build = &mut draft.build;
        for output in &rule.outputs {
            build.add_output(task, output, sizes.get(output).copied());
        }
        // A file may stand twice among the inputs, by way of variables.
        let mut seen = HashSet::new();
        for input in rule.inputs.iter().filter(|input| seen.insert(*input)) {
            let build = &mut draft.build;
            build.add_input(task, input, sizes.get(input).copied());
            if let Some(&from) = writer.get(&input[..])
                && build.arc_at(tasks[from], task, rule.line).is_err()
            {
                let message = format!("the rule needs the file '{input}' that it writes itself");
                let help = "take the file from one side of the colon";
                draft.error(rule.line, message, help);
            }
        }
    }
    draft.finish()
}
