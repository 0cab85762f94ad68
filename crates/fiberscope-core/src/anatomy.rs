//! What is known of a network before anything is searched: the result type of `fiberscope info`.

use crate::{Digest, Domain, Neuron, Role};

/// The anatomy of a network on a domain: facts, each of them proved, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    /// The widths `(n_0, ..., n_L)`.
    pub widths: Vec<usize>,
    /// The number of parameters.
    pub parameters: usize,
    /// The digest of the parameters.
    pub digest: Digest,
    /// The inputs the roles are about.
    pub domain: Domain,
    /// Whether each hidden layer is a ReLU layer (otherwise it has identity activation).
    pub relu: Vec<bool>,
    /// The role of every hidden neuron, layer by layer.
    pub roles: Vec<Vec<Role>>,
    /// Whether `n_0 >= n_1` and `W_1` has full row rank; `None` if its rank was not decided.
    pub bottleneck: Option<bool>,
    /// The rank of `W_1`, or what is known of it.
    pub first_rank: RankBounds,
    /// Genericity conditions, each with whether it holds.
    pub conditions: Vec<Condition>,
    /// The neurons whose hyperplane the next layer hides.
    pub hidden: Vec<Neuron>,
    /// Whether the parameters are determined by the function up to permutation and scaling.
    pub identifiability: Identifiability,
    /// The fiber, where the theory covers the network.
    pub fiber: Option<FiberFacts>,
}

/// What is known of the fiber of a network that the theory covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiberFacts {
    /// The dimension of the pieces that are listed, modulo permutation and scaling; `None` if not all were gone through, or none has points.
    pub dimension: Option<usize>,
    /// The dimension of the generic pieces among them; `None` if that is not known, or none has points.
    pub generic_dimension: Option<usize>,
    /// The dimension of the piece of the given parameter; `None` if it lies in none.
    pub own_dimension: Option<usize>,
    /// The number of pieces that are not empty, if they were counted.
    pub components: Option<u64>,
}

/// A rank between two bounds, equal when it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankBounds {
    /// The rank is at least this.
    pub lower: usize,
    /// The rank is at most this.
    pub upper: usize,
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
