//! Which fields of a JSON, TOML or YAML document a flow does not hold. Knows the fields from tables that the formats
//! give, and no format.

use crate::Source;
use crate::loss::Tally;
use crate::text::{Loose, Text};
use crate::unheld::at_byte;
use crate::visit::{expecting, scalars, seed};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What a flow holds of a value. A list counts as its elements.
#[derive(Debug)]
pub(crate) enum Held {
    /// Of an object these fields, and so much of those.
    Of(&'static [&'static str], &'static [(&'static str, Held)]),
    /// So much of each value of an object, whatever its name, or of each element of a list.
    Each(&'static Held),
    /// The text, unless the field beside it that is named here says something else and tasks have no labels, for then one
    /// of the two is the name and the other lost; `` is the name under which the object itself stands.
    SameAs(&'static str),
}

/// Counts every field with something in it that is not held, by its path.
pub(crate) struct Walk<'a, 's> {
    pub(crate) held: &'static Held,
    pub(crate) source: &'s Source,
    /// Whether tasks have labels beside their names.
    pub(crate) labelled: bool,
    pub(crate) tally: &'a mut Tally,
    /// The names of the fields around, each followed by a dot.
    pub(crate) path: &'a mut String,
}

impl<'s> Walk<'_, 's> {
    fn inside<'b>(&'b mut self, held: &'static Held) -> Walk<'b, 's> {
        Walk {
            held,
            source: self.source,
            labelled: self.labelled,
            tally: self.tally,
            path: self.path,
        }
    }

    fn lost(&mut self, what: &str, mark: &str) {
        let what = format!("{}{what}", self.path);
        let source = self.source;
        self.tally.add(&what, "field", || {
            let offset = source.offset_of(mark);
            offset.map_or(String::new(), |at| at_byte(source, at))
        });
    }

    /// Goes through an object that stands under `name`.
    fn object<'de, A: MapAccess<'de>>(&mut self, mut map: A, name: &str) -> Result<(), A::Error>
    where
        'de: 's,
    {
        let (whole, table) = match self.held {
            Held::Of(whole, table) => (*whole, *table),
            Held::Each(held) => {
                let length = self.path.len();
                self.path.push_str("*.");
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    map.next_value_seed(Named(self.inside(held), &key))?;
                }
                self.path.truncate(length);
                return Ok(());
            }
            Held::SameAs(_) => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(());
            }
        };
        // Texts that are compared with a field beside them: at the end, as the fields of an object come in any order.
        let mut texts: Vec<(String, String)> = vec![(String::new(), name.to_owned())];
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let known = table.iter().find(|(field, _)| *field == &*key);
            let compared =
                |(_, held): &(&str, Held)| matches!(held, Held::SameAs(k) if *k == &*key);
            match known {
                _ if matches!(known, Some((_, Held::SameAs(_)))) || table.iter().any(compared) => {
                    let text = map.next_value::<Loose<'de>>()?;
                    texts.push((key.to_string(), text.0.into_owned()));
                }
                _ if whole.contains(&&*key) => drop(map.next_value::<IgnoredAny>()?),
                Some((field, held)) => {
                    let length = self.path.len();
                    self.path.push_str(field);
                    self.path.push('.');
                    let inside = Named(self.inside(held), &key);
                    map.next_value_seed(inside)?;
                    self.path.truncate(length);
                }
                None => {
                    if map.next_value_seed(HasSomething)? {
                        self.lost(&key, &key);
                    }
                }
            }
        }
        for (field, held) in table {
            let text = |name: &str| texts.iter().find(|(key, _)| key == name).map(|t| &*t.1);
            // Where tasks have labels both texts are held, one as name and one as label.
            if !self.labelled
                && let Held::SameAs(other) = held
                && let (Some(one), Some(other_text)) = (text(field), text(other))
                && one != other_text
                && !one.is_empty()
                && !other_text.is_empty()
            {
                let beside = if other.is_empty() { "key" } else { other };
                self.lost(&format!("{field} beside {beside}"), "");
            }
        }
        Ok(())
    }
}

impl<'de: 's, 's> DeserializeSeed<'de> for Walk<'_, 's> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(Named(self, ""))
    }
}

/// A value and the name it stands under.
struct Named<'a, 's, 'n>(Walk<'a, 's>, &'n str);

impl<'de: 's, 's> DeserializeSeed<'de> for Named<'_, 's, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de: 's, 's> Visitor<'de> for Named<'_, 's, '_> {
    type Value = ();

    expecting!("any value");

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        self.0.object(map, self.1)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let held = match self.0.held {
            Held::Each(held) => held,
            held => held,
        };
        while (list.next_element_seed(Named(self.0.inside(held), self.1))?).is_some() {}
        Ok(())
    }

    scalars!(|_: bool| ());
}

/// Whether a value says anything: null, an empty text, list or object does not.
struct HasSomething;

seed!(HasSomething => bool, deserialize_any);

impl<'de> Visitor<'de> for HasSomething {
    type Value = bool;

    expecting!("any value");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut any = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(any)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let mut any = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(any)
    }

    scalars!(|something: bool| something);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_outside_of_the_table_are_counted_by_path() {
        const TASK: Held = Held::Of(&["id"], &[("name", Held::SameAs("id"))]);
        const LABEL: Held = Held::Of(&[], &[("label", Held::SameAs(""))]);
        const TABLE: Held = Held::Of(&[], &[("tasks", TASK), ("by", Held::Each(&LABEL))]);
        let text = r#"{"tasks": [{"id": "a", "name": "a", "x": 1}, {"name": "n", "id": "b", "x": [], "y": null},
            {"x": {"z": 1}, "id": "c"}], "empty": {}, "extra": [{}],
            "by": {"k": {"label": "k"}, "l": {"label": "m", "v": false}}}"#;
        let source = Source::from_text("f.json", text);
        let mut tally = Tally::default();
        let walk = Walk {
            held: &TABLE,
            source: &source,
            labelled: false,
            tally: &mut tally,
            path: &mut String::new(),
        };
        let mut input = serde_json::Deserializer::from_str(source.text());
        walk.deserialize(&mut input).unwrap();
        let said: Vec<String> = tally.done().iter().map(|l| l.to_string()).collect();
        assert_eq!(
            said,
            [
                "tasks.x (2 fields), first: f.json:1",
                "tasks.name beside id (1 field)",
                "extra (1 field), f.json:2",
                "by.*.v (1 field), f.json:3",
                "by.*.label beside key (1 field)",
            ]
        );
    }
}
