//! One form for what is read: an object where a struct stands, a string where a name stands alone.
//!
//! Derived readers also take an array for a struct, and `{"name": null}` for a name without a value. What
//! proves something has one written form, so [`Strict`] refuses both; keys that are unknown or stand twice
//! are refused by the derived readers.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, VariantAccess, Visitor,
};

/// A deserializer that takes objects for structs and for enums that are tagged by a key, and for other enums
/// a name or an object with one key. It must be asked for nothing else.
pub struct Strict<D>(pub D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(NameOrObject(visitor))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant without a value is a string, one with a value an object with one key.
struct NameOrObject<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for NameOrObject<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name or an object with one key")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        self.0.visit_enum(StrDeserializer::new(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(OneKey(map))
    }
}

struct OneKey<A>(A);

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for OneKey<A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        let name = self.0.next_key_seed(seed)?;
        name.map(|name| (name, self)).ok_or_else(|| A::Error::custom("expected a key, found an empty object"))
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for OneKey<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        Err(A::Error::custom("expected a string for a name without a value, found an object"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.0.next_value_seed(seed)?;
        match self.0.next_key::<IgnoredAny>()? {
            None => Ok(value),
            Some(_) => Err(A::Error::custom("expected an object with one key, found more")),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(A::Error::custom("no form of this kind is read"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, A::Error> {
        Err(A::Error::custom("no form of this kind is read"))
    }
}

/// Reads types through [`Strict`] and writes them as derived. The types derive with
/// `#[serde(remote = "Self")]`.
macro_rules! read_strictly {
    ($($type:ident),* $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $type::deserialize(crate::strict::Strict(deserializer))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<T: serde::Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
                $type::serialize(self, serializer)
            }
        }
    )*};
}

pub(crate) use read_strictly;
