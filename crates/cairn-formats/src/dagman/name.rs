//! Task names that DAGMan cannot take, written so that it can. Knows nothing of statements.
//!
//! DAGMan has no escape in names: a blank ends one, quotes and backslashes are special, `+` is kept for splices,
//! and `PARENT`, `CHILD` and `ALL_NODES` are reserved. When a flow has such a name the writer puts
//! [`ENCODED_NAMES`] at the head of the file and percent-encodes what is in the way in every name (and `%` itself);
//! the reader decodes names in files with that head only, so that a `%` in anyone else's names means itself.

use std::borrow::Cow;
use std::fmt::Write;

/// The comment that says that the names of a file are percent-encoded.
pub(crate) const ENCODED_NAMES: &str = "# cairn: node names are percent-encoded";

/// Words that DAGMan takes for no name, in any case.
pub(crate) const RESERVED: [&str; 3] = ["PARENT", "CHILD", "ALL_NODES"];

/// Whether the comments at the head of the file say that names are encoded.
pub(crate) fn is_encoded(text: &str) -> bool {
    let head = text
        .lines()
        .map(str::trim)
        // Only at the head: such a line further down may be anybody's.
        .take_while(|line| line.is_empty() || line.starts_with('#'));
    head.into_iter().any(|line| line == ENCODED_NAMES)
}

/// Whether DAGMan takes the name as it is.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.bytes().any(is_hard) && !is_reserved(name) && !opens_description(name)
}

pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|word| name.eq_ignore_ascii_case(word))
        // DAGMan takes a dash for an underscore in its keywords, and this one stands where names do.
        || name.eq_ignore_ascii_case("ALL-NODES")
}

/// Bytes that no name may have.
fn is_hard(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, 0x7f | b'+' | b'"' | b'\'' | b'\\')
}

/// Whether a submit file of this name would be taken for the beginning of an inline description.
fn opens_description(name: &str) -> bool {
    name.starts_with('{') || name.starts_with("@=")
}

/// The name with what DAGMan cannot take, and `%`, as `%XX`.
pub(crate) fn encode(name: &str) -> Cow<'_, str> {
    if is_plain(name) && !name.contains('%') {
        return Cow::Borrowed(name);
    }
    // One encoded letter is enough to make another word of it.
    let first_too = is_reserved(name) || opens_description(name);
    let mut encoded = String::with_capacity(name.len() + 8);
    for (i, c) in name.char_indices() {
        let hard = c == '%' || (c.is_ascii() && is_hard(c as u8)) || (i == 0 && first_too);
        match hard {
            true => write!(encoded, "%{:02X}", c as u32).expect("a string takes anything"),
            false => encoded.push(c),
        }
    }
    Cow::Owned(encoded)
}

/// The name that was encoded so; text that is no encoding is left alone.
pub(crate) fn decode(encoded: Cow<'_, str>) -> Cow<'_, str> {
    if !encoded.contains('%') {
        return encoded;
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = (first == b'%').then(|| tail.get(..2)).flatten();
        let code = digits
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    // An encoding of no text, such as `%FF`, was not made here: the name stays as it is.
    String::from_utf8(bytes).map_or(encoded, Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_needs_encoding() {
        for plain in ["a", "é-1.2", "{", "50%", "x@=y", "parents"] {
            assert_eq!(is_plain(plain), plain != "{", "{plain}");
        }
        assert_eq!(encode("a b+c"), "a%20b%2Bc");
        assert_eq!(encode("Parent"), "%50arent");
        assert_eq!(encode("@=x"), "%40=x");
        assert_eq!(encode("100%"), "100%25");
        assert_eq!(decode("%zz%2".into()), "%zz%2");
        assert_eq!(decode("%FF".into()), "%FF");
    }

    #[test]
    fn the_head_says_whether_names_are_encoded() {
        assert!(is_encoded(&format!("# x\n\n  {ENCODED_NAMES}\r\nJOB a b")));
        assert!(!is_encoded(&format!("JOB a b\n{ENCODED_NAMES}\n")));
    }

    proptest! {
        #[test]
        fn encoding_is_undone(name in "\\PC{0,12}|[ -~\\t\\n]{0,12}|(parent|Child|ALL_nodes|all-nodes)") {
            let encoded = encode(&name).into_owned();
            prop_assert!(is_plain(&encoded));
            prop_assert_eq!(decode(encoded.into()), name);
        }
    }
}
