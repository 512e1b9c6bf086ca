//! Opaque tokens: files that hold them, one a scope and one a volunteer, hashes of them elsewhere, and whether one that is shown is good. Knows no
//! requests.

use crate::private;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subtle::{Choice, ConstantTimeEq};

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// To work: join, lease, return, files and logs of tasks. Whoever has it is trusted.
    Worker,
    /// The same for one whom nobody vouches for: its results count when others say the same.
    Volunteer,
    /// To look.
    Observer,
    /// Everything.
    Admin,
}

/// Who shows a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Who {
    Trusted,
    /// The volunteer of that number.
    Volunteer(u32),
}

/// The scopes of which there is one token each.
pub(crate) const SCOPES: [Scope; 3] = [Scope::Worker, Scope::Observer, Scope::Admin];

impl Scope {
    /// The word for it, which is the name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Worker => "worker",
            Scope::Volunteer => "volunteer",
            Scope::Observer => "observer",
            Scope::Admin => "admin",
        }
    }

    /// Whether whoever has this may do what `asked` names.
    pub(crate) fn allows(self, asked: Scope) -> bool {
        let works = self == Scope::Volunteer && asked == Scope::Worker;
        self == Scope::Admin || self == asked || works
    }
}

/// A token in clear: 256 random bits. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// What somebody shows; blanks around it do not count.
    pub fn new(shown: &str) -> Secret {
        Secret(shown.trim().to_owned())
    }

    fn random() -> std::io::Result<Secret> {
        private::random(32).map(Secret)
    }

    /// The token itself, for the one header in which it is sent.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    fn hash(&self) -> [u8; 32] {
        // No slow hash, as for passwords: 256 random bits are not found by trying.
        blake3::derive_key("cairn 2026 token at rest", self.0.as_bytes())
    }
}

/// A token at rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AtRest {
    scope: Scope,
    hash: [u8; 32],
    /// Seconds since 1970.
    expires: Option<u64>,
}

/// The good tokens, hashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    kept: Vec<AtRest>,
    /// One a volunteer, from number 1 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    volunteers: Vec<AtRest>,
    /// Where they are, if other runs have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared: Option<PathBuf>,
}

/// Why a token is not good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    Missing,
    Wrong,
    Expired,
    Scope,
}

impl Tokens {
    /// Whether this token allows that, at so many seconds since 1970. Takes as long for wrong ones as for right ones.
    pub(crate) fn check(&self, shown: &Secret, asked: Scope, now: u64) -> Result<Who, Denied> {
        let hash = shown.hash();
        let (mut known, mut expired, mut allowed) =
            (Choice::from(0), Choice::from(0), Choice::from(0));
        // All of them, whatever is found: how long it takes tells nothing of how near a guess was.
        for kept in self.kept.iter().chain(&self.volunteers) {
            let same = kept.hash.ct_eq(&hash);
            known |= same;
            expired |= same & Choice::from(u8::from(kept.expires.is_some_and(|at| at <= now)));
            allowed |= same & Choice::from(u8::from(kept.scope.allows(asked)));
        }
        match (known.into(), expired.into(), allowed.into()) {
            (false, ..) => Err(Denied::Wrong),
            // Told only to whoever has the token: of others nothing is said but that it is wrong.
            (true, true, _) => Err(Denied::Expired),
            (true, false, false) => Err(Denied::Scope),
            (true, false, true) => Ok(self.who(&hash)),
        }
    }

    fn who(&self, hash: &[u8; 32]) -> Who {
        let is_this = |kept: &AtRest| bool::from(kept.hash.ct_eq(hash));
        let number = self.volunteers.iter().position(is_this);
        number.map_or(Who::Trusted, |n| Who::Volunteer(n as u32 + 1))
    }

    /// By volunteer, from number 1 on: who it is in every run that knows its token. Nobody can tell the token from it.
    pub fn identities(&self) -> Vec<String> {
        let of = |kept: &AtRest| {
            let known = blake3::derive_key("cairn 2026 volunteer in every run", &kept.hash);
            known[..16].iter().map(|b| format!("{b:02x}")).collect()
        };
        self.volunteers.iter().map(of).collect()
    }

    /// The folder that tokens of volunteers are in, where that is not the state's own.
    pub fn shared(&self) -> Option<&Path> {
        self.shared.as_deref()
    }

    /// Tokens of volunteers are there, and not in the state's own folder. One that is there stays as it is.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn share(&mut self, folder: &Path) -> std::io::Result<()> {
        if !folder.is_dir() {
            private::folder(folder)?;
        }
        self.shared = Some(folder.canonicalize()?);
        Ok(())
    }

    /// How many volunteers have a token.
    pub fn volunteers(&self) -> u32 {
        self.volunteers.len() as u32
    }

    /// Sees to it that so many volunteers have a token each, in the files volunteer-1, volunteer-2 and so on. Those that there
    /// are stay; one whose file is gone or whose time is up is replaced, and is the same volunteer. With `adopts`, whoever
    /// has a token there from another run has it here as well.
    ///
    /// # Errors
    /// If the files cannot be written, or are no tokens of different volunteers.
    pub fn see_to_volunteers(
        &mut self,
        folder: &Path,
        adopts: bool,
        count: u32,
        lifetime: Option<Duration>,
        now: u64,
    ) -> std::io::Result<()> {
        let expires = lifetime.map(|life| now.saturating_add(life.as_secs().max(1)));
        // Two servers that begin together must not each make a token of the same name: whoever comes second finds that of the first.
        // The folder itself is locked, so that it may be one that is only read. Some disks of networks know no such locks: there it is
        // left to whoever starts both.
        let _alone = match count {
            0 => None,
            _ => {
                let folder = std::fs::File::open(folder)?;
                let _ = folder.lock();
                Some(folder)
            }
        };
        for number in 0..count as usize {
            let name = format!("{}-{}", Scope::Volunteer.name(), number + 1);
            let is_good = |kept: &AtRest| {
                let same = |text: String| bool::from(Secret::new(&text).hash().ct_eq(&kept.hash));
                kept.expires.is_none_or(|at| at > now)
                    && private::read(folder, &name).is_ok_and(same)
            };
            if self.volunteers.get(number).is_some_and(is_good) {
                continue;
            }
            // The file of one whose time is up is still there, and must not be adopted again.
            let is_over = |hash: &[u8; 32]| {
                let known = self.volunteers.get(number);
                known.is_some_and(|kept| kept.hash == *hash && !is_good(kept))
            };
            let there = match adopts {
                true => self.found(folder, &name, number)?,
                false => None,
            };
            let secret = match there.filter(|secret| !is_over(&secret.hash())) {
                Some(secret) => secret,
                None => {
                    let secret = Secret::random()?;
                    // The file first, the hash by whoever keeps this: after a crash in between the next
                    // start finds a file that it does not know, and makes another or adopts it.
                    private::write(folder, &name, &format!("{}\n", secret.reveal()))?;
                    secret
                }
            };
            let kept = AtRest {
                scope: Scope::Volunteer,
                hash: secret.hash(),
                expires,
            };
            match self.volunteers.get_mut(number) {
                Some(old) => *old = kept,
                None => self.volunteers.push(kept),
            }
        }
        Ok(())
    }

    /// The token that another run made for the volunteer of this place.
    fn found(&self, folder: &Path, name: &str, number: usize) -> std::io::Result<Option<Secret>> {
        let secret = match private::read(folder, name) {
            Ok(text) => Secret::new(&text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let strange = |why: &str| {
            let text = format!("{name} {why}");
            Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text))
        };
        let is_hex = secret.0.bytes().all(|b| b.is_ascii_hexdigit());
        if secret.0.len() != 64 || !is_hex {
            return strange("is no token");
        }
        let hash = secret.hash();
        let mut others = (self.volunteers.iter().enumerate()).filter(|&(n, _)| n != number);
        if others.any(|(_, kept)| kept.hash == hash) {
            return strange("is the token of another volunteer, who has one voice");
        }
        Ok(Some(secret))
    }

    /// The tokens of a state folder: those kept, or new ones where there are none, where they are to be replaced, or where
    /// the time of one is up. New ones are written into files that only their owner reads.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn open(
        folder: &Path,
        kept: Option<Tokens>,
        replace: bool,
        lifetime: Option<Duration>,
        now: u64,
    ) -> std::io::Result<Tokens> {
        let is_good = |tokens: &Tokens| {
            let lives = |k: &AtRest| k.expires.is_none_or(|at| at > now);
            let has_file = |k: &AtRest| {
                private::read(folder, k.scope.name())
                    .is_ok_and(|text| bool::from(Secret::new(&text).hash().ct_eq(&k.hash)))
            };
            tokens.kept.len() == SCOPES.len() && tokens.kept.iter().all(|k| lives(k) && has_file(k))
        };
        let kept = match kept.filter(|_| !replace) {
            Some(kept) if is_good(&kept) => return Ok(kept),
            kept => kept,
        };
        private::folder(folder)?;
        let expires = lifetime.map(|life| now.saturating_add(life.as_secs().max(1)));
        // Volunteers have times of their own: a token of theirs that is over must be known as such.
        let volunteers = kept.map_or_else(Vec::new, |kept| kept.volunteers);
        let mut tokens = Tokens {
            volunteers,
            ..Tokens::default()
        };
        for scope in SCOPES {
            let secret = Secret::random()?;
            private::write(folder, scope.name(), &format!("{}\n", secret.reveal()))?;
            let hash = secret.hash();
            tokens.kept.push(AtRest {
                scope,
                hash,
                expires,
            });
        }
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn secret(folder: &Path, scope: Scope) -> Secret {
        Secret::new(&std::fs::read_to_string(folder.join(scope.name())).unwrap())
    }

    #[test]
    fn each_token_allows_its_scope_and_the_admins_all() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path(), None, false, None, 0).unwrap();
        for held in SCOPES {
            for asked in SCOPES {
                let answer = tokens.check(&secret(folder.path(), held), asked, 1);
                let good = held == asked || held == Scope::Admin;
                let expected = if good {
                    Ok(Who::Trusted)
                } else {
                    Err(Denied::Scope)
                };
                assert_eq!(answer, expected);
            }
        }
        let wrong = Secret::new("0000");
        assert_eq!(tokens.check(&wrong, Scope::Worker, 1), Err(Denied::Wrong));
    }

    #[test]
    fn each_volunteer_has_a_token_of_its_own_that_survives() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let mut tokens = Tokens::open(place, None, false, None, 0).unwrap();
        tokens.see_to_volunteers(place, false, 3, None, 0).unwrap();
        let of = |n: u32| {
            let path = place.join(format!("volunteer-{n}"));
            Secret::new(&std::fs::read_to_string(path).unwrap())
        };
        for n in 1..=3 {
            let who = tokens.check(&of(n), Scope::Worker, 1);
            assert_eq!(who, Ok(Who::Volunteer(n)));
            for asked in [Scope::Observer, Scope::Admin] {
                assert_eq!(tokens.check(&of(n), asked, 1), Err(Denied::Scope));
            }
        }
        let text = serde_json::to_string(&tokens).unwrap();
        let kept: Tokens = serde_json::from_str(&text).unwrap();
        let mut again = Tokens::open(place, Some(kept), false, None, 0).unwrap();
        let (first, second) = (of(1), of(2));
        std::fs::remove_file(place.join("volunteer-2")).unwrap();
        again.see_to_volunteers(place, false, 4, None, 0).unwrap();
        assert_eq!(of(1), first);
        assert_ne!(of(2), second);
        assert_eq!(again.check(&second, Scope::Worker, 1), Err(Denied::Wrong));
        assert_eq!(again.check(&of(4), Scope::Worker, 1), Ok(Who::Volunteer(4)));
    }

    #[test]
    fn whoever_has_a_token_of_a_shared_folder_is_the_same_in_every_run() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        let run = |name: &str, count| {
            let place = folder.path().join(name);
            let mut tokens = Tokens::open(&place, None, false, None, 0).unwrap();
            tokens.share(&shared).unwrap();
            let seen =
                tokens.see_to_volunteers(&shared, true, count, Some(Duration::from_secs(9)), 0);
            seen.map(|()| tokens)
        };
        let first = run("a", 2).unwrap();
        let second = run("b", 3).unwrap();
        assert_eq!(first.identities(), second.identities()[..2]);
        assert_eq!(second.shared(), Some(&*shared));
        let text = std::fs::read_to_string(shared.join("volunteer-2")).unwrap();
        for tokens in [&first, &second] {
            let who = tokens.check(&Secret::new(&text), Scope::Worker, 1);
            assert_eq!(who, Ok(Who::Volunteer(2)));
            assert!(!text.contains(&tokens.identities()[1]));
        }
        // A token of a run's own is another volunteer, whatever its number.
        let mut own = Tokens::open(&folder.path().join("c"), None, false, None, 0).unwrap();
        own.see_to_volunteers(&folder.path().join("c"), false, 2, None, 0)
            .unwrap();
        assert!(
            own.identities()
                .iter()
                .all(|who| !first.identities().contains(who))
        );
        // One whose time is up is replaced, for all.
        let mut later = second.clone();
        later
            .see_to_volunteers(&shared, true, 3, None, 100)
            .unwrap();
        assert!(
            later
                .identities()
                .iter()
                .all(|who| !second.identities().contains(who))
        );
        assert_eq!(run("d", 3).unwrap().identities(), later.identities());
        // One token is one voice.
        std::fs::write(shared.join("volunteer-3"), text).unwrap();
        std::fs::copy(shared.join("volunteer-3"), shared.join("volunteer-1")).unwrap();
        assert!(run("e", 3).unwrap_err().to_string().contains("one voice"));
        std::fs::write(shared.join("volunteer-1"), "no token").unwrap();
        assert!(run("f", 1).unwrap_err().to_string().contains("is no token"));
    }

    /// Servers that begin at the same moment and share a folder know the same volunteers.
    #[test]
    fn servers_that_begin_together_make_each_token_once() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let shared = folder.path().join("shared");
            let begin = std::sync::Barrier::new(4);
            let run = |_| {
                let mut tokens = Tokens::default();
                begin.wait();
                tokens.share(&shared).unwrap();
                (tokens.see_to_volunteers(&shared, true, 8, None, 0)).unwrap();
                tokens.identities()
            };
            let all: Vec<Vec<String>> = std::thread::scope(|scope| {
                let run = &run;
                let all: Vec<_> = (0..4).map(|n| scope.spawn(move || run(n))).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert!(all.iter().all(|one| *one == all[0]));
        }
    }

    #[test]
    fn files_are_the_owners_alone_and_hold_what_is_kept_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("tokens");
        let tokens = Tokens::open(&place, None, false, None, 0).unwrap();
        let kept = serde_json::to_string(&tokens).unwrap();
        for scope in SCOPES {
            let mode = std::fs::metadata(place.join(scope.name()))
                .unwrap()
                .permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
            let secret = secret(&place, scope);
            assert_eq!(secret.reveal().len(), 64);
            assert!(!kept.contains(secret.reveal()));
            assert!(!format!("{secret:?}").contains(secret.reveal()));
        }
        let mode = std::fs::metadata(&place).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn tokens_survive_until_they_are_replaced_expire_or_their_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let life = Some(Duration::from_secs(100));
        let first = Tokens::open(place, None, false, life, 1000).unwrap();
        let old = secret(place, Scope::Worker);
        let again = Tokens::open(place, Some(first.clone()), false, life, 1050).unwrap();
        assert_eq!(again, first);
        assert_eq!(first.check(&old, Scope::Worker, 1099), Ok(Who::Trusted));
        assert_eq!(first.check(&old, Scope::Worker, 1100), Err(Denied::Expired));
        let rotated = Tokens::open(place, Some(first.clone()), true, None, 1050).unwrap();
        assert_eq!(rotated.check(&old, Scope::Worker, 1051), Err(Denied::Wrong));
        let renewed = Tokens::open(place, Some(first.clone()), false, None, 1100).unwrap();
        assert_ne!(renewed, first);
        std::fs::remove_file(place.join("admin")).unwrap();
        let anew = Tokens::open(place, Some(renewed.clone()), false, None, 1101).unwrap();
        assert_ne!(anew, renewed);
    }
}
