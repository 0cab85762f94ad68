//! What is known of a rank.

/// A rank between two bounds, equal when it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankBounds {
    /// The rank is at least this.
    pub lower: usize,
    /// The rank is at most this.
    pub upper: usize,
}
