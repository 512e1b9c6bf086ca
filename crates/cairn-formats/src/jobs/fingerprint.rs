//! A short number for what a task runs. Knows how it is made of named texts, and nothing of jobs.
//!
//! The numbers are kept in the stores of runs: how they are made must never change.

/// Texts under way to a number. Each has a name and its length before it, so that no two lists of texts look alike.
#[derive(Default)]
pub(crate) struct Fingerprint(blake3::Hasher);

impl Fingerprint {
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        for part in [name, text] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part.as_bytes());
        }
    }

    /// A program with what it is given.
    pub(crate) fn program(
        &mut self,
        executable: &str,
        arguments: &[String],
        environment: &[(String, String)],
    ) {
        self.text("executable", executable);
        for argument in arguments {
            self.text("argument", argument);
        }
        for (name, value) in environment {
            self.text("variable", name);
            self.text("value", value);
        }
    }

    pub(super) fn done(&self) -> [u8; 16] {
        let mut short = [0; 16];
        // 128 bits: among 10⁹ tasks the chance that two agree is below 10⁻²⁰.
        short.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        short
    }
}
