//! What is said of a certificate that is accepted. Knows nothing but the words.

/// A certificate in which nothing is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// What this crate proved by itself.
    pub proved: Vec<String>,
    /// What it neither proved nor disproved: the planner says so. Empty for a full proof.
    pub asserted: Vec<String>,
}

impl Accepted {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Proved(what) => self.proved.push(what),
            Outcome::Asserted(what) => self.asserted.push(what),
        }
    }
}

/// How a claim came out: proved here, or not disproved and believed by others.
#[derive(Debug)]
pub(crate) enum Outcome {
    Proved(String),
    Asserted(String),
}

impl Outcome {
    pub(crate) fn new(is_proved: bool, what: String) -> Outcome {
        match is_proved {
            true => Outcome::Proved(what),
            false => Outcome::Asserted(what),
        }
    }

    pub(crate) fn is_proved(&self) -> bool {
        matches!(self, Outcome::Proved(_))
    }
}
