//! The value at hand as an affine map of the numbers of the last layer.

use fiberscope_core::{Rational, Weights};

use super::affine::Affine;
use super::rows::{Place, Rows};

/// An affine map: as it stands in the file, or written out row by row.
#[derive(Clone)]
pub(super) enum Map {
    /// A matrix of the file between selections and multiples, or these alone.
    Plain(Affine),
    /// Sums of few terms.
    Rows(Rows),
}

impl Map {
    /// The number of numbers that the map gives.
    pub(super) fn output(&self) -> usize {
        match self {
            Map::Plain(map) => map.output(),
            Map::Rows(rows) => rows.output(),
        }
    }

    /// Whether there is a matrix in the map.
    pub(super) fn has_matrix(&self) -> bool {
        matches!(self, Map::Plain(map) if map.has_matrix())
    }

    /// How many numbers the map stores as a layer.
    pub(super) fn stored(&self) -> usize {
        match self {
            Map::Plain(map) => map.stored(),
            Map::Rows(rows) => rows.entries().saturating_mul(2),
        }
    }

    /// Whether the map is the identity.
    pub(super) fn is_identity(&self) -> bool {
        matches!(self, Map::Plain(map) if map.is_identity())
    }

    /// The entries that the map takes, if it does nothing else.
    pub(super) fn taken(&self) -> Option<Vec<usize>> {
        match self {
            Map::Plain(map) => map.taken(),
            Map::Rows(_) => None,
        }
    }

    /// Follows the map by the one that takes entry `i` from place `source[i]`.
    pub(super) fn select(&mut self, source: &[usize]) {
        match self {
            Map::Plain(map) => map.select(source),
            Map::Rows(rows) => rows.select(source),
        }
    }

    /// Follows the map by a multiplication of every entry.
    pub(super) fn scale(&mut self, factors: &[Rational]) {
        match self {
            Map::Plain(map) => map.scale(factors),
            Map::Rows(rows) => rows.scale(factors),
        }
    }

    /// Follows the map by an addition to every entry.
    pub(super) fn shift(&mut self, terms: &[Rational]) {
        match self {
            Map::Plain(map) => map.shift(terms),
            Map::Rows(rows) => rows.shift(terms),
        }
    }

    /// How many products of the matrix need rational arithmetic.
    pub(super) fn slow_products(&self) -> usize {
        match self {
            Map::Plain(map) => map.slow_products(),
            Map::Rows(rows) => rows.entries(),
        }
    }

    /// The numbers that a copy holds, per entry.
    pub(super) fn price(&self) -> usize {
        match self {
            Map::Plain(map) if map.has_matrix() => 2 * map.stored() / map.output().max(1) + 1,
            Map::Plain(_) => 1,
            Map::Rows(rows) => rows.entries() / rows.output().max(1) + 1,
        }
    }

    /// The map row by row, unless it has a matrix.
    pub(super) fn rows(&self) -> Option<Rows> {
        match self {
            Map::Plain(map) if map.has_matrix() => None,
            Map::Plain(map) => Some(Rows::of(map)),
            Map::Rows(rows) => Some(rows.clone()),
        }
    }

    /// The numbers of the last layer that a map without a matrix reads.
    pub(super) fn columns(&self) -> Option<Vec<usize>> {
        match self {
            Map::Plain(map) if map.has_matrix() => None,
            Map::Plain(map) => Some((0..map.output()).map(|i| map.monomial(i).0).collect()),
            Map::Rows(rows) => Some(rows.columns().collect()),
        }
    }

    /// A map without a matrix, in the numbers of the next layer, of which there are `input`.
    pub(super) fn moved(self, places: &[Place], input: usize) -> Self {
        let at = |place: &Place| match place {
            Place::At(at) => Some(*at),
            Place::Nowhere => Some(0),
            Place::Difference(..) => None,
        };
        match self {
            Map::Plain(map) => {
                let read_once = |i| at(&places[map.monomial(i).0]).is_some();
                if (0..map.output()).all(read_once) {
                    let places: Vec<usize> = places.iter().map(|place| at(place).unwrap_or(0)).collect();
                    return Map::Plain(map.moved(&places, input));
                }
                Map::Rows(Rows::of(&map).moved(places, input))
            }
            Map::Rows(rows) => Map::Rows(rows.moved(places, input)),
        }
    }

    /// The same map of a list with more numbers behind, `input` in all.
    pub(super) fn widened(self, input: usize) -> Self {
        match self {
            Map::Plain(map) => Map::Plain(map.widened(input)),
            Map::Rows(rows) => Map::Rows(rows.widened(input)),
        }
    }

    /// Its weight and bias, and whether they are exact.
    pub(super) fn into_matrix(self) -> (Weights, Vec<f64>, bool) {
        match self {
            Map::Plain(map) => map.into_matrix(),
            Map::Rows(rows) => rows.into_matrix(),
        }
    }
}
