//! What is to be started, and how. Starts nothing.

use std::ffi::OsStr;
use std::path::PathBuf;

/// Where programs are looked for by whoever has no `PATH`, as the C library does.
const USUAL_PLACES: &str = "/bin:/usr/bin";

/// A program and its arguments, or a line for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Started as it is. Never empty.
    Words(Vec<String>),
    /// Started by `/bin/sh -c`.
    Shell(String),
}

/// What to start, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The command.
    pub line: Line,
    /// Variables beside those of this process; `None` removes one. Of several of one name the last counts.
    pub environment: Vec<(String, Option<String>)>,
    /// Whether variables of this process are left out.
    pub is_bare: bool,
    /// Where it is started; here if nobody says.
    pub directory: Option<PathBuf>,
    /// Where its input comes from; it has none if nobody says.
    pub stdin: Option<PathBuf>,
    /// Where its output goes; if nobody says, into the log.
    pub stdout: Option<PathBuf>,
    /// Where its errors go; if nobody says, into the log.
    pub stderr: Option<PathBuf>,
    /// The file that keeps its output, made if there is some.
    pub log: PathBuf,
}

impl Program {
    /// A command, with its output in the log.
    pub fn new(line: Line, log: PathBuf) -> Program {
        Program {
            line,
            environment: Vec::new(),
            is_bare: false,
            directory: None,
            stdin: None,
            stdout: None,
            stderr: None,
            log,
        }
    }

    /// What the command says of a variable: its value, or that there is none; nothing where it is silent.
    pub(super) fn variable(&self, name: &[u8]) -> Option<Option<&str>> {
        let mut given = self.environment.iter().rev();
        let given = given.find(|(given, _)| given.as_bytes() == name);
        given.map(|(_, value)| value.as_deref())
    }

    /// The same for the shell to read, where the file turns out to be no program: as shells do.
    pub(super) fn as_script(&self) -> Option<Program> {
        let Line::Words(words) = &self.line else {
            return None;
        };
        let (program, arguments) = words.split_first()?;
        let mut file = self.file(program)?.into_os_string().into_string().ok()?;
        // The shell would look for a bare name in its own folder first: it is told which file the system had found.
        if !file.contains('/') {
            file = found(program, &std::env::var_os("PATH")?)?
                .into_os_string()
                .into_string()
                .ok()?;
        }
        let words = ["/bin/sh".to_owned(), file].into_iter();
        Some(Program {
            line: Line::Words(words.chain(arguments.iter().cloned()).collect()),
            ..self.clone()
        })
    }

    /// The file of a program of these words: itself, where the system is to look for it along the path of this process;
    /// `None` where it is nowhere along a path of its own.
    pub(super) fn file(&self, program: &str) -> Option<PathBuf> {
        match self.own_path().filter(|_| !program.contains('/')) {
            Some(path) => found(program, path),
            None => Some(program.into()),
        }
    }

    /// The path along which it looks for programs, where that is not the one of this process.
    fn own_path(&self) -> Option<&str> {
        match self.variable(b"PATH") {
            Some(path) => Some(path.unwrap_or(USUAL_PLACES)),
            None => self.is_bare.then_some(USUAL_PLACES),
        }
    }
}

/// The first file of that name along a path.
fn found(program: &str, path: &(impl AsRef<OsStr> + ?Sized)) -> Option<PathBuf> {
    // No place at all is the folder where one is; without a slash it would be looked for elsewhere.
    let here = |place: PathBuf| match place.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => place,
    };
    let mut places = std::env::split_paths(path).map(|place| here(place).join(program));
    // Whether it may be executed the system says when it is started, with a better word than "not found".
    places.find(|file| file.is_file())
}
