//! Bars: the interval representations of the quiver `0 -> 1 -> ... -> L`.
//!
//! For bars `f = [h, k]` and `e = [i, l]`
//!
//! ```text
//! dim Hom(f, e) = 1  iff  i <= h <= l <= k,        dim Ext(f, e) = 1  iff  h < i <= k + 1 <= l.
//! ```
//!
//! `Ext(f, e) = 1` says that `f` lies left of `e` and that they are adjacent (`i = k + 1`) or overlap
//! staggered: then a rank-increasing move replaces them by `[h, l]` and `[i, k]`.

use std::fmt;

/// The bar `[start, end]`: a direction born at layer `start` that is last seen at layer `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bar {
    /// The first layer, 0 for the input.
    pub start: usize,
    /// The last layer.
    pub end: usize,
}

impl Bar {
    /// The bar `[start, end]`.
    pub fn new(start: usize, end: usize) -> Self {
        Bar { start, end }
    }

    /// Whether the bar is alive at a layer.
    pub fn contains(self, layer: usize) -> bool {
        self.start <= layer && layer <= self.end
    }

    /// The dimension, 0 or 1, of `Hom(self, target)`.
    pub fn hom(self, target: Bar) -> bool {
        target.start <= self.start && self.start <= target.end && target.end <= self.end
    }

    /// The dimension, 0 or 1, of `Ext^1(self, target)`.
    pub fn ext(self, target: Bar) -> bool {
        self.start < target.start && target.start <= self.end + 1 && self.end < target.end
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "[{},{}]", self.start, self.end)
    }
}

/// What a rank-1 move does to its two bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MoveKind {
    /// Two adjacent bars become one.
    Connect,
    /// Two overlapping bars exchange their ends.
    Swap,
}

impl MoveKind {
    /// `connect` or `swap`.
    pub fn name(self) -> &'static str {
        match self {
            MoveKind::Connect => "connect",
            MoveKind::Swap => "swap",
        }
    }
}
