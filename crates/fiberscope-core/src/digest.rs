//! A name for a network's parameters: SHA-256 of their doubles.
//!
//! The exact bytes are written down in `docs/formats/certificate-v1.md`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::{Activation, ExactNetwork, Network, SparseMatrix, Weights};

/// The SHA-256 digest of a network's parameters, shown as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a network. It does not depend on how the layers are stored.
    pub fn of(network: &Network) -> Self {
        Digest(network.digest_or(|| Digest::computed(network).0))
    }

    fn computed(network: &Network) -> Self {
        if network.parameter_count() > LARGEST_DENSE {
            return Self::of_entries(network);
        }
        let mut hash = Sha256::new();
        hash.update(b"fiberscope-network-v1\0");
        hash.update((network.depth() as u64).to_le_bytes());
        for layer in network.layers() {
            hash.update((layer.width() as u64).to_le_bytes());
            hash.update((layer.input_width() as u64).to_le_bytes());
            hash.update([activation_byte(layer.activation())]);
            match layer.weights() {
                Weights::Dense(matrix) => update_with(&mut hash, matrix.entries()),
                Weights::Sparse(matrix) => {
                    (0..matrix.rows()).for_each(|i| update_with_row(&mut hash, matrix, i))
                }
            }
            update_with(&mut hash, layer.bias());
        }
        Digest(hash.finalize().into())
    }

    /// The digest of a large network: of its entries that are not zero and their columns.
    fn of_entries(network: &Network) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"fiberscope-network-entries-v1\0");
        hash.update((network.depth() as u64).to_le_bytes());
        for layer in network.layers() {
            hash.update((layer.width() as u64).to_le_bytes());
            hash.update((layer.input_width() as u64).to_le_bytes());
            hash.update([activation_byte(layer.activation())]);
            let mut bytes = Vec::new();
            for row in layer.weights().iter_rows() {
                bytes.clear();
                for (column, entry) in row {
                    bytes.extend((column as u64).to_le_bytes());
                    bytes.extend(entry.to_le_bytes());
                }
                hash.update((bytes.len() as u64 / 16).to_le_bytes());
                hash.update(&bytes);
            }
            update_with(&mut hash, layer.bias());
        }
        Digest(hash.finalize().into())
    }
}

/// Networks with more parameters than this, zeros included, are named by their entries that are not zero: to hash
/// the zeros of a large convolution would take longer than all other work on it.
const LARGEST_DENSE: usize = 1 << 26;

fn activation_byte(activation: Activation) -> u8 {
    match activation {
        Activation::Identity => 0,
        Activation::Relu => 1,
    }
}

/// Adds the bytes of a row, zeros included.
fn update_with_row(hash: &mut Sha256, matrix: &SparseMatrix, i: usize) {
    const ZEROS: [u8; 8192] = [0; 8192];
    let zeros = |hash: &mut Sha256, count: usize| {
        let mut left = 8 * count;
        while left > 0 {
            let now = left.min(ZEROS.len());
            hash.update(&ZEROS[..now]);
            left -= now;
        }
    };
    let mut next = 0;
    let (columns, entries) = matrix.row(i);
    for (&column, entry) in columns.iter().zip(entries) {
        zeros(hash, column as usize - next);
        hash.update(entry.to_le_bytes());
        next = column as usize + 1;
    }
    zeros(hash, matrix.cols() - next);
}

impl Digest {
    /// The digest of a network with rational parameters: of its shape and its numbers as text. It is not
    /// the digest of the same network with doubles.
    pub fn of_exact(network: &ExactNetwork) -> Self {
        Digest(network.digest_or(|| Digest::computed_exactly(network).0))
    }

    fn computed_exactly(network: &ExactNetwork) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"fiberscope-exact-network-v1\0");
        for layer in network.layers() {
            hash.update(format!("{} {} {};", layer.width(), layer.input_width(), layer.activation()));
            for row in layer.weights().iter_rows() {
                let mut next = 0;
                for (column, entry) in row {
                    (next..column).for_each(|_| hash.update("0,"));
                    hash.update(format!("{entry},"));
                    next = column + 1;
                }
                (next..layer.input_width()).for_each(|_| hash.update("0,"));
            }
            layer.bias().iter().for_each(|number| hash.update(format!("{number},")));
        }
        Digest(hash.finalize().into())
    }
}

/// Adds the bytes of the numbers, a cache-sized buffer at a time.
fn update_with(hash: &mut Sha256, numbers: &[f64]) {
    let mut buffer = [0u8; 8192];
    for chunk in numbers.chunks(buffer.len() / 8) {
        for (bytes, &x) in buffer.chunks_exact_mut(8).zip(chunk) {
            // Adding zero turns -0 into +0 and changes nothing else.
            bytes.copy_from_slice(&(x + 0.0).to_le_bytes());
        }
        hash.update(&buffer[..8 * chunk.len()]);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Digest {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hexadecimal = text.len() == 64 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        if !hexadecimal {
            return Err(serde::de::Error::custom("expected a digest of 64 lower-case hexadecimal digits"));
        }
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let value = |c: u8| if c.is_ascii_digit() { c - b'0' } else { c - b'a' + 10 };
            *byte = 16 * value(pair[0]) + value(pair[1]);
        }
        Ok(Digest(digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Matrix};

    fn affine(weight: f64, bias: f64) -> Network {
        let weight = Matrix::from_rows(&[[weight]]).unwrap();
        Network::new(vec![Layer::new(weight, vec![bias], Activation::Identity)]).unwrap()
    }

    #[test]
    fn the_digest_is_that_of_the_documented_bytes() {
        let mut bytes = b"fiberscope-network-v1\0".to_vec();
        for n in [1u64, 1, 1] {
            bytes.extend(n.to_le_bytes());
        }
        bytes.push(0);
        for x in [1.5f64, -2.0] {
            bytes.extend(x.to_le_bytes());
        }
        let expected: [u8; 32] = Sha256::digest(&bytes).into();
        assert_eq!(Digest::of(&affine(1.5, -2.0)), Digest(expected));
    }

    #[test]
    fn every_number_counts_but_the_sign_of_zero_does_not() {
        assert_ne!(Digest::of(&affine(1.0, 0.0)), Digest::of(&affine(1.0, f64::MIN_POSITIVE)));
        assert_eq!(Digest::of(&affine(1.0, 0.0)), Digest::of(&affine(1.0, -0.0)));
    }

    #[test]
    fn json_round_trip() {
        let digest = Digest::of(&affine(1.0, 2.0));
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"abc\"").is_err());
    }
}
