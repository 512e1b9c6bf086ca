//! The variables of a Makeflow file: whose they are, and how a text names them. Knows no statement.

use hashbrown::HashMap;

/// The variables set so far.
#[derive(Debug, Default)]
pub(super) struct Variables {
    pub(super) of_file: HashMap<String, String>,
    pub(super) of_category: HashMap<String, HashMap<String, String>>,
    /// `None` is the default category, whose variables are the file's.
    pub(super) category: Option<String>,
    /// Those of the rule being read.
    pub(super) of_rule: HashMap<String, String>,
    /// Bytes put in for variables so far.
    pub(super) replaced: usize,
}

impl Variables {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let of_category = self
            .category
            .as_ref()
            .and_then(|category| self.of_category.get(category));
        let value = self
            .of_rule
            .get(name)
            // From the narrowest on: the rule, its category, the file.
            .or_else(|| of_category?.get(name))
            .or_else(|| self.of_file.get(name));
        value.map(String::as_str)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.of_rule
            .keys()
            .chain(self.of_file.keys())
            .map(String::as_str)
    }
}

/// The length of the `$…` that the text begins with, and the variable it names: `$X`, `$(X)` or `${X}`.
pub(super) fn variable(text: &str) -> (usize, Option<&str>) {
    // Behind the dollar, which callers have seen.
    let after = &text[1..];
    let closing = match after.bytes().next() {
        Some(b'(') => ')',
        Some(b'{') => '}',
        _ => {
            let length = after
                .find(|c: char| !(c == '_' || c.is_ascii_alphanumeric()))
                .unwrap_or(after.len());
            return (
                1 + length,
                Some(&after[..length]).filter(|name| is_name(name)),
            );
        }
    };
    match after[1..]
        .find(closing)
        .map(|end| &after[1..1 + end])
        .filter(|name| is_name(name))
    {
        // The dollar and both brackets.
        Some(name) => (name.len() + 3, Some(name)),
        None => (1, None),
    }
}

pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}
