//! What is known of the fiber of a network: its dimension, the conditions that were checked, and whether the
//! function identifies the parameters.

/// What is known of the fiber of a network that the theory covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiberFacts {
    /// The dimension of the pieces that are listed, modulo permutation and scaling; `None` if not all were
    /// gone through, or none has points.
    pub dimension: Option<usize>,
    /// The dimension of the generic pieces among them; `None` if that is not known, or none has points.
    pub generic_dimension: Option<usize>,
    /// The dimension of the piece of the given parameter; `None` if it lies in none.
    pub own_dimension: Option<usize>,
    /// The number of pieces that are not empty, if they were counted.
    pub components: Option<u64>,
}

/// A condition on the parameters that was checked exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition, as a sentence.
    pub statement: String,
    /// Whether it holds.
    pub holds: bool,
    /// If it does not, where it fails.
    pub detail: Option<String>,
}

/// Whether a network's parameters are determined by its function up to permutation and scaling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identifiability {
    /// They are, among generic parameters.
    Yes {
        /// The reason, as a sentence.
        reason: String,
    },
    /// They are not: the reason names a move beyond permutation and scaling.
    No {
        /// The reason, as a sentence.
        reason: String,
    },
    /// Not decided.
    Unknown {
        /// What was looked for and not found.
        reason: String,
    },
}
