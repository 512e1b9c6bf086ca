//! What the state of a server keeps from start to start: the hashes of its tokens. Knows no flags.

use crate::failure::Failure;
use cairn_serve::store::Store;
use cairn_serve::tokens::Tokens;

/// The key of the hashed tokens in the store.
const TOKENS: &str = "tokens";

/// The state cannot be read or written.
pub(super) fn unusable(error: &dyn std::fmt::Display) -> Failure {
    Failure::of(error, "")
}

pub(super) fn tokens(store: &Store) -> Result<Option<Tokens>, Failure> {
    let kept = store.meta(TOKENS).map_err(|e| unusable(&e))?;
    Ok(kept.and_then(|text| serde_json::from_str(&text).ok()))
}

pub(super) fn keep_tokens(tokens: &Tokens, store: &mut Store) -> Result<(), Failure> {
    let text = serde_json::to_string(tokens).expect("hashes are JSON");
    store.set_meta(TOKENS, &text).map_err(|e| unusable(&e))
}
