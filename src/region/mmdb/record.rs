//! The few fields of a record that matter, whatever else it holds and whatever types the rest has.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The remaining types of the format, all answered alike.
macro_rules! other_types {
    ($value:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_bytes<E>(self, _: &[u8]) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u128<E>(self, _: u128) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

/// Codes of one record, as written; not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) country: Option<&'a str>,
    pub(super) continent: Option<&'a str>,
    /// Whether the record has any of `country`, `country_code` and `continent`, even without a code in it.
    pub(super) has_field: bool,
}

impl<'de> Deserialize<'de> for Record<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RecordVisitor)
    }
}

/// What each field says: the nested schema's codes come before the flat one's, and those before a bare text, which some
/// files have as a name (`country: "Germany"`) and others as a code.
#[derive(Default)]
struct Fields<'de> {
    country: Value<'de>,
    country_code: Value<'de>,
    continent: Value<'de>,
    continent_code: Value<'de>,
}

impl<'de> Fields<'de> {
    fn record(self) -> Record<'de> {
        let code = |nested: Value<'de>, flat: Value<'de>| match (nested, flat) {
            (Value::Code(code), _) | (_, Value::Text(code)) => Some(code),
            (Value::Text(text), _) if text.len() == 2 => Some(text),
            _ => None,
        };
        let has_field = [self.country, self.country_code, self.continent].iter().any(|v| *v != Value::Absent);
        Record {
            country: code(self.country, self.country_code),
            continent: code(self.continent, self.continent_code),
            has_field,
        }
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Record<'de>, M::Error> {
        let mut fields = Fields::default();
        while let Some(key) = map.next_key::<&str>()? {
            match key {
                "country" => fields.country = map.next_value()?,
                "country_code" => fields.country_code = map.next_value()?,
                "continent" => fields.continent = map.next_value()?,
                "continent_code" => fields.continent_code = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(fields.record())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Record<'de>, S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Record::default())
    }

    other_types!(Record::default());
}

/// One field's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Value<'a> {
    #[default]
    Absent,
    /// A text.
    Text(&'a str),
    /// The `iso_code` or `code` of a map.
    Code(&'a str),
    /// A map without a code, or anything else.
    Other,
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor { inside: false })
    }
}

/// A code inside a map: a text, or nothing of interest. Not a [`Value`], so that no file makes us recurse.
#[derive(Default)]
struct Inner<'a>(Option<&'a str>);

impl<'de> Deserialize<'de> for Inner<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(ValueVisitor { inside: true })? {
            Value::Text(text) => Self(Some(text)),
            _ => Self(None),
        })
    }
}

struct ValueVisitor {
    inside: bool,
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a code, or a map with one")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(text))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Value<'de>, M::Error> {
        let mut found = Value::Other;
        while let Some(key) = map.next_key::<&str>()? {
            if !self.inside && (key == "iso_code" || key == "code") {
                found = map.next_value::<Inner<'de>>()?.0.map_or(found, Value::Code);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Value<'de>, S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }

    other_types!(Value::Other);
}
