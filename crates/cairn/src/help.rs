//! Help for people: commands by groups, and every text fitted to the terminal. Knows no command's flags.

use crate::cli::Cli;
use crate::layout;
use clap::{Command, CommandFactory};

/// Groups in the order of a user's questions. A command that stands in none of them is listed under [`OTHERS`].
// By hand: clap has headings for flags, and none for commands.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Look at a workflow", &["info", "check", "explain", "show"]),
    ("Order its tasks", &["plan", "prio", "batch", "verify"]),
    ("Run it", &["run", "submit"]),
    (
        "Serve it",
        &[
            "serve", "work", "status", "cancel", "retry", "pause", "resume", "export",
        ],
    ),
    ("What the order is worth", &["simulate", "times", "study"]),
    ("Files", &["convert", "gen"]),
    ("Shell", &["completions", "man"]),
];

const OTHERS: &str = "More";

/// Help reads badly in longer lines.
// Chosen by eye.
const WIDEST: usize = 100;

/// The command line, with its help laid out for the width at hand.
pub(crate) fn command() -> Command {
    fitted(Cli::command(), layout::width().min(WIDEST))
}

fn fitted(command: Command, width: usize) -> Command {
    let list = groups(&command, width);
    let header = *command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{header}Options{header:#}\n{{options}}{{after-help}}"
    );
    // Examples are laid out here, since clap folds paragraphs and would fold commands, too.
    let command = command.mut_subcommands(|sub| fit_after_help(sub, width));
    fit_after_help(command, width)
        .term_width(width)
        .help_template(template)
}

fn fit_after_help(command: Command, width: usize) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    match text {
        Some(text) => command.after_help(fit(&text, width)),
        None => command,
    }
}

/// Every command once, by groups, with its one-line description.
fn groups(command: &Command, width: usize) -> String {
    let header = command.get_styles().get_header();
    let about = |name: &str| {
        let found = command.find_subcommand(name)?;
        Some((name.to_owned(), found.get_about()?.to_string()))
    };
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: Vec<&str> = (command.get_subcommands())
        .filter(|sub| !sub.is_hide_set())
        .map(Command::get_name)
        .filter(|name| !grouped(name) && *name != "help")
        .collect();
    let all = GROUPS.into_iter().chain([(OTHERS, &others[..])]);
    let mut text = String::new();
    for (title, names) in all {
        let rows: Vec<(String, String)> = names.iter().filter_map(|name| about(name)).collect();
        if !rows.is_empty() {
            let rows = padded(rows);
            text += &format!(
                "{header}{title}{header:#}\n{}\n",
                layout::pairs(&rows, 2, width)
            );
        }
    }
    text
}

/// All groups have one left column.
fn padded(rows: Vec<(String, String)>) -> Vec<(String, String)> {
    // The longest name of a command.
    const LONGEST: usize = "completions".len();
    let pad = |(name, about): (String, String)| (format!("{name:LONGEST$}"), about);
    rows.into_iter().map(pad).collect()
}

/// Lays a text out for a width. Lines that begin with two spaces are commands, or names with what they mean after two more
/// spaces; all other lines up to the next blank one are a paragraph.
fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for (i, block) in text.split("\n\n").enumerate() {
        if i > 0 {
            fitted.push('\n');
        }
        let mut lines = block.lines().peekable();
        while lines.peek().is_some() {
            let mut paragraph = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("  ")) {
                paragraph.push(line);
            }
            if !paragraph.is_empty() {
                fitted += &layout::hanging("", &paragraph.join(" "), width);
            }
            let mut rows = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
                match line.trim().split_once("  ") {
                    Some((name, about)) => rows.push((name.to_owned(), about.trim().to_owned())),
                    None => fitted += &layout::command(line, 2, width),
                }
            }
            fitted += &layout::pairs(&rows, 2, width);
        }
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once_and_in_a_group_of_its_own_kind() {
        let command = Cli::command();
        let list = groups(&command, 80);
        // What only cairn itself calls is shown to nobody.
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = sub.get_name();
            let listed = (list.lines())
                .filter(|l| l.split_whitespace().next() == Some(name) && l.starts_with("  "));
            assert_eq!(listed.count(), 1, "{name} in\n{list}");
            assert!(
                GROUPS.iter().any(|(_, names)| names.contains(&name)),
                "{name} stands in no group"
            );
        }
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(
                command.find_subcommand(name).is_some(),
                "{name} is no command"
            );
        }
    }

    #[test]
    fn help_fits_every_width() {
        for width in [40, 50, 60, 72, 80, 100] {
            let mut command = fitted(Cli::command(), width);
            command.build();
            let top = command.render_help().to_string();
            let subs = command.get_subcommands_mut();
            let all = subs.map(|sub| (sub.get_name().to_owned(), sub.render_help().to_string()));
            let all: Vec<_> = std::iter::once(("cairn".to_owned(), top))
                .chain(all)
                .collect();
            for (name, help) in all {
                for line in help.lines() {
                    // A usage line and a single word are not ours to break.
                    let words = line.split_whitespace().count();
                    let is_long = layout::breadth(line) > width;
                    assert!(
                        !is_long || line.starts_with("Usage:") || words <= 2,
                        "{name} at {width}: {line}"
                    );
                }
            }
        }
    }

    #[test]
    fn paragraphs_are_joined_and_lists_are_kept() {
        let text =
            "One line\nand another.\n\nExamples:\n  cairn info workflow.dag\n  -x  what it means\n";
        let fitted = fit(text, 60);
        assert_eq!(
            fitted,
            "One line and another.\n\nExamples:\n  cairn info workflow.dag\n  -x  what it means\n"
        );
    }
}
