//! What the server makes of what volunteers return: a digest of bytes that it has itself, so that nobody can lie about it.
//! Decides nothing.

use super::types::Made;
use crate::store::{Store, StoreError};
use cairn_engine::Digest;

/// The digest of a task's declared outputs: their paths, contents and whether they may be executed, whatever their order. The
/// contents were checked when they were uploaded.
pub(crate) fn of_outputs(made: &[Made]) -> Digest {
    let mut all: Vec<&Made> = made.iter().collect();
    // Each names them in an order of its own, which is no difference in what was made.
    all.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let mut hasher = blake3::Hasher::new_derive_key("cairn 2026 outputs of a task");
    for made in all {
        // The length first: no other list of paths and digests comes to the same bytes.
        hasher.update(&(made.path.len() as u64).to_le_bytes());
        hasher.update(made.path.as_bytes());
        hasher.update(made.digest.as_bytes());
        hasher.update(&[u8::from(made.executable)]);
    }
    short(&hasher)
}

/// The digest of a task that declares no outputs, and ended with exit code 0: what it printed.
pub(crate) fn of_print(printed: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("cairn 2026 print of a task");
    hasher.update(printed);
    short(&hasher)
}

/// 128 of its 256 bits: finding another content of the same digest stays out of reach.
fn short(hasher: &blake3::Hasher) -> Digest {
    let bytes = hasher.finalize();
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes.as_bytes()[at..at + 8]);
        u64::from_be_bytes(word)
    };
    Digest([word(0), word(8)])
}

const SEED: &str = "trust-seed";

/// The number by which some results of earned trust are replicated all the same: made once a store, and told nobody.
///
/// # Errors
/// If the store cannot be read or written.
pub fn trust_seed(store: &mut Store) -> Result<u64, StoreError> {
    if let Some(kept) = store.meta(SEED)?
        && let Ok(seed) = kept.parse()
    {
        return Ok(seed);
    }
    let mut bytes = [0; 8];
    // Without chance from the system, earned trust is checked where a volunteer could foresee it, which is no worse than never.
    let _ = getrandom::fill(&mut bytes);
    let seed = u64::from_le_bytes(bytes);
    store.set_meta(SEED, &seed.to_string())?;
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_outputs_have_equal_digests_and_others_do_not() {
        let made = |path: &str, digest: char, executable| Made {
            path: path.into(),
            digest: digest.to_string().repeat(64),
            executable,
        };
        let (a, b) = (made("a", '1', false), made("b", '2', false));
        let both = of_outputs(&[a.clone(), b.clone()]);
        assert_eq!(both, of_outputs(&[b.clone(), a.clone()]));
        let others = [
            vec![a.clone()],
            vec![a.clone(), made("b", '3', false)],
            vec![a.clone(), made("b", '2', true)],
            vec![a, made("c", '2', false)],
            Vec::new(),
        ];
        assert!(others.iter().all(|other| of_outputs(other) != both));
        assert_ne!(of_print(b"x"), of_print(b"y"));
        assert_ne!(of_print(b""), of_outputs(&[]));
    }
}
