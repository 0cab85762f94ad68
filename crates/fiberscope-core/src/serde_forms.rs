//! How numbers and indices stand in JSON: rationals as strings, indices counted from 1.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::Rational;

impl Serialize for Rational {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rational {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Rational::from_canonical(&text).map_err(D::Error::custom)
    }
}

/// An index that counts from 0 in the program and from 1 in the file.
pub mod from_one {
    use super::*;

    pub fn serialize<T: Serializer>(index: &usize, serializer: T) -> Result<T::Ok, T::Error> {
        (index + 1).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
        let number = usize::deserialize(deserializer)?;
        number.checked_sub(1).ok_or_else(|| D::Error::custom("layers and neurons count from 1, found 0"))
    }
}

/// A list of such indices.
pub mod list_from_one {
    use super::*;

    pub fn serialize<T: Serializer>(indices: &[usize], serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(indices.iter().map(|index| index + 1))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
        let numbers = Vec::<usize>::deserialize(deserializer)?;
        let shift = |number: usize| number.checked_sub(1);
        let shifted: Option<_> = numbers.into_iter().map(shift).collect();
        shifted.ok_or_else(|| D::Error::custom("layers and neurons count from 1, found 0"))
    }
}

/// A list of pairs of such indices.
pub mod pairs_from_one {
    use super::*;

    pub fn serialize<T: Serializer>(pairs: &[(usize, usize)], serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(pairs.iter().map(|&(i, j)| (i + 1, j + 1)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(usize, usize)>, D::Error> {
        let numbers = Vec::<(usize, usize)>::deserialize(deserializer)?;
        let shift = |(i, j): (usize, usize)| Some((i.checked_sub(1)?, j.checked_sub(1)?));
        let shifted: Option<_> = numbers.into_iter().map(shift).collect();
        shifted.ok_or_else(|| D::Error::custom("layers and neurons count from 1, found 0"))
    }
}
