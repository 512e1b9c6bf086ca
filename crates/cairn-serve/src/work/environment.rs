//! Variables of a task: which names are none, which ones would start another program than the allowed one, and how they reach
//! the process that limits the task. Knows no lease.
//!
//! That process must never have them itself: the system's loader would obey `LD_PRELOAD` before any limit holds. They are
//! written to a file that it reads, and become the environment of the program that it turns into.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Variables that are all about which code a program loads.
// A list can never be whole: it closes the ways that are known, for workers whose owner allows named programs alone. What a program
// of its own accord takes from elsewhere is its owner's to know. The sandbox does not rest on it.
const LOADERS: [&str; 41] = [
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "CLASSPATH",
    "DOTNET_STARTUP_HOOKS",
    "ENV",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GIT_EXEC_PATH",
    "GIT_SSH_COMMAND",
    "GLIBC_TUNABLES",
    "GUILE_LOAD_PATH",
    "HOSTALIASES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JULIA_LOAD_PATH",
    "LOCPATH",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "MALLOC_TRACE",
    "NIX_LD",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PATH",
    "PHPRC",
    "PS4",
    "RUBYLIB",
    "RUBYOPT",
    "R_ENVIRON",
    "R_LIBS",
    "R_PROFILE",
    "SHELLOPTS",
    "TCLLIBPATH",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];
/// The beginnings of more of them.
const FAMILIES: [&str; 8] = [
    "BASH_FUNC_",
    "DYLD_",
    "GUIX_",
    "LD_",
    "NIX_LD_",
    "PERL5",
    "PYTHON",
    "R_LIBS_",
];

/// What is wrong with a variable, whoever sends it: the system would take it for another one, or refuse it.
pub(super) fn fault(name: &str, value: &str) -> Option<&'static str> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Some("has a variable with a name that is none");
    }
    (value.contains('\0')).then_some("has a variable with a value that is none")
}

/// Whether a program that is allowed by its name would run other code because of this variable.
pub(super) fn is_loader(name: &str) -> bool {
    LOADERS.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Writes variables for the process that limits a task, readable by their owner alone.
pub(super) fn write(file: &Path, variables: &[(String, String)]) -> Result<()> {
    // So what is written is a new file, and nothing that a link leads to.
    match std::fs::remove_file(file) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => (),
    }
    let mut text = Vec::new();
    for (name, value) in variables {
        // As the kernel hands variables on: `fault` lets nothing with a zero in it come here.
        text.extend_from_slice(format!("{name}={value}\0").as_bytes());
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(&text)
}

/// Reads them, and removes the file.
pub(super) fn take(file: &Path) -> Result<Vec<(OsString, OsString)>> {
    let mut text = Vec::new();
    std::fs::File::open(file)?.read_to_end(&mut text)?;
    // At once: a task may carry secrets in its variables, and nobody reads the file a second time.
    std::fs::remove_file(file)?;
    let pairs = text
        .split(|&byte| byte == 0)
        .filter(|pair| !pair.is_empty());
    let pair = |pair: &[u8]| {
        // The first one: names have none, values may.
        let at = pair.iter().position(|&byte| byte == b'=');
        let at =
            at.ok_or_else(|| Error::new(ErrorKind::InvalidData, "a variable without a value"))?;
        let text = |part: &[u8]| OsString::from_vec(part.to_vec());
        Ok((text(&pair[..at]), text(&pair[at + 1..])))
    };
    pairs.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_arrive_as_they_were_and_their_file_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.env");
        let all = [("A", "1=2"), ("B", ""), ("C", "two\nlines")];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        write(&file, &all).unwrap();
        let taken = take(&file).unwrap();
        let taken = taken.iter().map(|(name, value)| {
            (
                name.to_str().unwrap().to_owned(),
                value.to_str().unwrap().to_owned(),
            )
        });
        assert_eq!(taken.collect::<Vec<_>>(), all);
        assert!(!file.exists());
    }

    #[test]
    fn names_that_load_code_are_known_and_no_name_hides_one() {
        for name in [
            "LD_PRELOAD",
            "LD_AUDIT",
            "GLIBC_TUNABLES",
            "PATH",
            "PYTHONPATH",
            "BASH_ENV",
        ] {
            assert!(is_loader(name), "{name}");
        }
        for name in ["OMP_NUM_THREADS", "LDFLAGS", "PATHWAY", "HOME"] {
            assert!(!is_loader(name), "{name}");
        }
        assert!(fault("LD_PRELOAD=./x.so:", "").is_some());
        assert!(fault("", "x").is_some() && fault("A", "x\0LD_PRELOAD=y").is_some());
        assert!(fault("A", "x=y").is_none());
    }
}
