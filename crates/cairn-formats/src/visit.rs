//! What visitors of serde have in common. Knows no format.

/// Makes a visitor its own seed, which lets the deserializer call the visitor by `method`. A visitor that takes one kind of
/// value asks for that kind: then an error points at where the value begins.
// With whole paths, here and below, so that whoever uses a macro need not import what it says.
macro_rules! seed {
    ($visitor:ty => $value:ty, $method:ident) => {
        impl<'de> serde::de::DeserializeSeed<'de> for $visitor {
            type Value = $value;

            fn deserialize<D>(self, input: D) -> Result<$value, D::Error>
            where
                D: serde::de::Deserializer<'de>,
            {
                input.$method(self)
            }
        }
    };
}

/// What a visitor says that it wants, as errors name it.
macro_rules! expecting {
    ($what:expr) => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str($what)
        }
    };
}

/// What a visitor of any value makes of a scalar, which says something or not.
macro_rules! scalars {
    ($value:expr) => {
        fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value(true))
        }

        fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value(true))
        }

        fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value(true))
        }

        fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value(true))
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok($value(!text.is_empty()))
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok($value(false))
        }
    };
}

pub(crate) use {expecting, scalars, seed};
