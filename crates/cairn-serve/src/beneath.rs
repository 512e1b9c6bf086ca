//! Files beneath a folder, and never anywhere else: no `..`, no absolute path, no link that leads away. Knows nothing of what
//! they are.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

/// A folder that is held open.
#[derive(Debug)]
pub(crate) struct Beneath {
    folder: OwnedFd,
}

/// A new file that waits to take its place. Dropped before that, it is gone.
#[derive(Debug)]
pub(crate) struct Pending {
    parent: OwnedFd,
    temporary: String,
    name: String,
    is_placed: bool,
}

fn outside(path: &str) -> Error {
    let text = format!("'{path}' leads out of the folder of the workflow");
    Error::new(ErrorKind::InvalidInput, text)
}

/// The steps of a path that stays below where it begins; `None` for any other.
pub(crate) fn steps(path: &str) -> Option<Vec<&str>> {
    let mut steps = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(step) => steps.push(step.to_str()?),
            Component::CurDir => (),
            _ => return None,
        }
    }
    (!steps.is_empty() && !path.contains('\0')).then_some(steps)
}

/// A folder in this one, through no link; `path` is what is told of it.
fn enter(here: &OwnedFd, step: &str, path: &str) -> Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let next = rustix::fs::openat2(here.as_fd(), step, flags, Mode::empty(), resolve);
    next.map_err(|e| match e {
        Errno::LOOP | Errno::NOTDIR | Errno::XDEV => outside(path),
        e => e.into(),
    })
}

impl Beneath {
    pub(crate) fn open(folder: &Path) -> Result<Beneath> {
        // Held open: whatever takes its name while it is served, this stays the folder that it was.
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        Ok(Beneath { folder })
    }

    /// A regular file, to be read. Links are followed as long as they stay below.
    pub(crate) fn read(&self, path: &str) -> Result<File> {
        let steps = steps(path).ok_or_else(|| outside(path))?;
        // Else a pipe of that name would be waited for.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::openat2(
            &self.folder,
            steps.join("/"),
            flags,
            Mode::empty(),
            ResolveFlags::BENEATH,
        );
        let file = File::from(opened.map_err(|e| match e {
            Errno::XDEV | Errno::LOOP => outside(path),
            e => e.into(),
        })?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("'{path}' is no regular file"),
            )),
        }
    }

    /// The folder of a path, made where it is missing, through no link; and the last step.
    fn parent<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str)> {
        let mut steps = steps(path).ok_or_else(|| outside(path))?;
        let name = steps.pop().ok_or_else(|| outside(path))?;
        let mut here = self.folder.try_clone()?;
        // Step by step, each from a folder that is held open: nobody can put a link in the way between a
        // look and what is done.
        for step in steps {
            // Nobody looks first whether it is there: somebody may make it meanwhile.
            match rustix::fs::mkdirat(&here, step, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => (),
                Err(e) => return Err(e.into()),
            }
            here = enter(&here, step, path)?;
        }
        Ok((here, name))
    }

    /// Whether a new file could take its place at this path. Nothing is made for it.
    pub(crate) fn may_take(&self, path: &str) -> Result<()> {
        let mut steps = steps(path).ok_or_else(|| outside(path))?;
        let name = steps.pop().ok_or_else(|| outside(path))?;
        let mut here = self.folder.try_clone()?;
        for step in steps {
            here = match enter(&here, step, path) {
                // What is missing would be made, and nothing is in the way there.
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
                next => next?,
            };
        }
        let is_folder = rustix::fs::statat(&here, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir());
        match is_folder {
            true => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("'{path}' is a folder"),
            )),
            false => Ok(()),
        }
    }

    /// A folder and all above it, made where they are missing, through no link.
    pub(crate) fn make_folder(&self, path: &str) -> Result<()> {
        // The last step is never made: it stands for a file in the folder.
        self.parent(&format!("{path}/x")).map(drop)
    }

    /// A new file beside the place of `path`, to be written and then placed.
    pub(crate) fn create(&self, path: &str, is_executable: bool) -> Result<(File, Pending)> {
        let (parent, name) = self.parent(path)?;
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|e| Error::other(e.to_string()))?;
        // A name that nobody knows beforehand, and a flag that takes none that is there: whoever may
        // write to the folder cannot have us write into a file of theirs.
        let temporary = format!(".cairn-{:016x}", u64::from_le_bytes(bytes));
        // As far as the umask lets: it is to be as if the task had been run here.
        let mode = Mode::from_raw_mode(if is_executable { 0o777 } else { 0o666 });
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&parent, &temporary, flags, mode)?;
        let pending = Pending {
            parent,
            temporary,
            name: name.to_owned(),
            is_placed: false,
        };
        Ok((file.into(), pending))
    }
}

impl Beneath {
    /// Moves a file from elsewhere on the same disk beside the place of `path`, to be placed.
    pub(crate) fn adopt(&self, from: &Path, path: &str, is_executable: bool) -> Result<Pending> {
        // Made first, for the mode that a new file gets here, and so that whatever goes wrong below is
        // removed; then the other one takes its name.
        let (mut file, pending) = self.create(path, is_executable)?;
        let mode = file.metadata()?.permissions();
        rustix::fs::renameat(rustix::fs::CWD, from, &pending.parent, &pending.temporary)?;
        // As if it had been made here.
        file = File::from(rustix::fs::openat(
            &pending.parent,
            &pending.temporary,
            OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
            Mode::empty(),
        )?);
        file.set_permissions(mode)?;
        Ok(pending)
    }
}

impl Pending {
    /// Takes its place, whole; what stood there is replaced, a link too.
    pub(crate) fn place(mut self) -> Result<()> {
        // Not synced: after a power cut outputs are held against the sizes that they had.
        rustix::fs::renameat(&self.parent, &self.temporary, &self.parent, &self.name)?;
        self.is_placed = true;
        Ok(())
    }

    /// Goes where it came from, or elsewhere on the same disk.
    pub(crate) fn back_to(mut self, path: &Path) -> Result<()> {
        rustix::fs::renameat(&self.parent, &self.temporary, rustix::fs::CWD, path)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_placed {
            // What cannot be removed is a hidden file of no use: nothing depends on it.
            let _ = rustix::fs::unlinkat(&self.parent, &self.temporary, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;

    #[test]
    fn no_path_leads_out() {
        let top = tempfile::tempdir().unwrap();
        let inside = top.path().join("flow");
        std::fs::create_dir_all(inside.join("data")).unwrap();
        std::fs::write(top.path().join("secret"), "s").unwrap();
        std::fs::write(inside.join("data/a"), "a").unwrap();
        symlink("data/a", inside.join("near")).unwrap();
        symlink("../secret", inside.join("far")).unwrap();
        symlink("/etc/passwd", inside.join("absolute")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink("data", inside.join("folder")).unwrap();
        let folder = Beneath::open(&inside).unwrap();
        let read = |path: &str| {
            let mut text = String::new();
            folder.read(path)?.read_to_string(&mut text)?;
            Result::Ok(text)
        };
        assert_eq!(read("data/a").unwrap(), "a");
        assert_eq!(read("./data//a").unwrap(), "a");
        assert_eq!(read("near").unwrap(), "a");
        for path in [
            "../secret",
            "/etc/passwd",
            "data/../../secret",
            "far",
            "absolute",
            "up/secret",
            "",
            ".",
            "data",
            "a\0b",
        ] {
            assert!(read(path).is_err(), "{path}");
        }
        for path in [
            "../new",
            "/tmp/new",
            "up/new",
            "folder/new",
            "data/../x",
            "",
        ] {
            assert!(folder.create(path, false).is_err(), "{path}");
            assert!(folder.may_take(path).is_err(), "{path}");
        }
        assert!(folder.may_take("data").is_err(), "a folder stays one");
        assert!(folder.may_take("data/a/b").is_err(), "a file stays one");
        for path in ["data/a", "data/b", "new/er/b", "far"] {
            folder.may_take(path).unwrap();
        }
        assert!(!inside.join("new").exists());
        for path in ["..", "/tmp", "up/new", "folder/new", "up"] {
            assert!(folder.make_folder(path).is_err(), "{path}");
        }
        folder.make_folder("./one/two").unwrap();
        assert!(inside.join("one/two").is_dir());
    }

    #[test]
    fn a_new_file_is_there_whole_or_not_at_all() {
        let top = tempfile::tempdir().unwrap();
        let folder = Beneath::open(top.path()).unwrap();
        let (mut file, pending) = folder.create("deep/er/out", false).unwrap();
        file.write_all(b"half").unwrap();
        drop(pending);
        assert_eq!(
            std::fs::read_dir(top.path().join("deep/er"))
                .unwrap()
                .count(),
            0
        );
        symlink("/etc/passwd", top.path().join("deep/er/out")).unwrap();
        let (mut file, pending) = folder.create("deep/er/out", false).unwrap();
        file.write_all(b"whole").unwrap();
        pending.place().unwrap();
        let placed = top.path().join("deep/er/out");
        assert!(!placed.is_symlink());
        assert_eq!(std::fs::read_to_string(placed).unwrap(), "whole");
    }
}
