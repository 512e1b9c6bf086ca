//! Strings that borrow from the input where they can, and how they are shown. Knows no format.

use crate::visit::expecting;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::ops::Deref;

/// The beginning of a text that may be long, for a message.
pub(crate) fn shortened(text: &str) -> &str {
    // Chosen by eye: enough to find it in the file, and the message stays a line.
    const MOST: usize = 40;
    let end = text.char_indices().nth(MOST);
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// The first line, with its end.
pub(crate) fn first_line(text: &str) -> &str {
    text.split_inclusive('\n').next().unwrap_or("")
}

/// How many lines end in a text.
pub(crate) fn line_ends(text: &str) -> u32 {
    let ends = text.bytes().filter(|&b| b == b'\n').count();
    u32::try_from(ends).unwrap_or(u32::MAX)
}

/// A string of the input: borrowed, unless escapes had to be undone.
///
/// Structs with such fields say `#[serde(bound = "'de: 'a")]`, once for all of them: the input outlives what borrows from it.
/// (Inside a `Vec` or an `Option`, serde itself never borrows a `Cow`.)
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Like [`Text`], but a number or a truth value is taken as it would be written. For JSON only: a YAML reader
/// would guess at types.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Loose<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(LooseVisitor).map(Loose)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Cow<'de, str>;

    expecting!("a string or a number");

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(Cow::Owned(truth.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }
}
