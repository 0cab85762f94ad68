//! The list of pieces of a fiber, and which of them are generic.
//!
//! **Which pieces are generic.** In a generic parameter every product `V_D W_D` of the two layers has the
//! largest possible rank, `min(m, d, |D|)`, for every set `D` of neurons that a mask keeps (masks of inputs
//! and outputs are not looked at). Take a point of piece `(S, l')` and a mask that keeps the visible neurons
//! in a set `T`. If it keeps all linear neurons, the product is `M_{S'}` for the orientation `S' = S xor T`
//! (turning the neurons of `T` round moves what they contribute into the affine part); if it keeps none of
//! them, it is `P_{S,T}` (module `masks`). So all generic parameters lie in the pieces with
//!
//! ```text
//! (1)  rank M_{S'}  = min(m, d, |S xor S'| + l')   for every orientation S',
//! (2)  rank P_{S,T} = min(m, d, |T|)               for every set T of visible neurons,
//! ```
//!
//! and these are called generic.
//!
//! **Lemma.** Then the product has the largest rank for every mask at a general point of the piece. *Proof.*
//! A dead neuron adds a general matrix of rank one. Let the mask keep `T` and `q` of the `l'` linear neurons,
//! `0 < q < l'`, and let `l' = rho`: with `M_S = B C`, `B` injective and `C` onto,
//! `V_Lin W_Lin = (B G^-1)(G C)`, and the product is `X = B Q C + P_{S,T}` for a general idempotent `Q` of
//! rank `q`. If `q + |T| <= k`: by (1) the columns of `B` and the weights of `T` span at least `q + |T|`
//! dimensions, by (2) the weights of `T` are independent, so `q` general vectors in the image of `B` are
//! independent of them; the same holds for the rows. If `|T| >= k`: restricted to `k` general inputs and
//! outputs `P` is invertible by (2), and `det X = det P det(1 + y Z x)` with `Q = x y`, `Z = C P^-1 B`;
//! `1 + Z` is invertible as `P + M_S` is by (1), so that its compression `y (1 + Z) x` to general `q`
//! dimensions is. If `|T| < k < q + |T|`, take `k - |T|` of the linear neurons to `P`. For `l' > rho = k` let
//! the others have no weights. QED.
//!
//! Let `S_0` be the orientation with the smallest rank `rho_0` and `k = min(m, d)`. If `rho_0 = k`, (1) holds
//! in all pieces. If `rho_0 < k`, the equation for `S' = S_0` asks for
//! `|S xor S_0| + l' = rho_0 <= rank M_S <= l'`, so that no piece but `(S_0, rho_0)` can be generic; (1)
//! holds there if the orientations of smaller rank than `k` are those at distances `j < k - rho_0` of `S_0`,
//! with the ranks `rho_0 + j`. Without linear neurons (1) contains (2).

use fiberscope_algebra::modular::rank_of_residues;
use fiberscope_algebra::rational::rank_at_most;
use fiberscope_core::residue::{PRIME, reduce};
use fiberscope_core::{Matrix, Rational};

use super::component::{FiberComponent, Orientation, Piece};
use super::genericity::Generic;
use super::hyperplane::OrientedHyperplane;
use super::layer::LayerFiber;
use super::masks::Products;

/// The most hyperplanes whose orientations are all gone through.
const LISTED: usize = 16;
/// The most multiplications for the ranks of all orientations.
const WORK: u128 = 1 << 30;
/// What one product costs at least, in multiplications.
const PRODUCT: u128 = 256;

impl LayerFiber {
    /// Which pieces are generic, by all orientations; `None` if there are too many.
    pub(super) fn generic_pieces(&self) -> Option<&Generic> {
        self.cached.0.get_or_init(|| self.can_be_listed().then(|| self.find_generic())).as_ref()
    }

    fn can_be_listed(&self) -> bool {
        let r = self.hyperplanes().len();
        let one = (self.outputs() * self.inputs()) as u128 * self.counts().full() as u128;
        r <= LISTED && one << r <= WORK
    }

    fn find_generic(&self) -> Generic {
        let full = self.counts().full();
        let mut ranks = Ranks::new(self);
        let mut small: Vec<(Orientation, usize)> = Vec::new();
        loop {
            let rank = ranks.rank();
            if rank < full {
                small.push((ranks.orientation.clone(), rank));
            }
            if !ranks.step() {
                break;
            }
        }
        let Some((least, rank)) = small.iter().min_by_key(|(_, rank)| *rank).cloned() else {
            return self.without_linear(&ranks.products());
        };
        // As many as there are at distances below k - rho_0, each with its rank.
        let expected: u128 = (0..full - rank).map(|j| binomial(self.hyperplanes().len(), j)).sum();
        let right = |(other, found): &(Orientation, usize)| *found == rank + least.distance(other);
        let largest = expected == small.len() as u128 && small.iter().all(right);
        let visible =
            || rank == 0 || ranks.products().deficient(Some(&least)).is_some_and(|found| found.is_empty());
        let generic = largest && visible();
        let only = Piece { orientation: least.clone(), linear: rank };
        if generic { Generic::Only(only) } else { Generic::None }
    }

    /// Where (1) holds in all pieces: those in which (2) holds.
    fn without_linear(&self, products: &Products<'_>) -> Generic {
        let (r, full) = (self.hyperplanes().len(), self.counts().full());
        let one = Orientation::new(vec![true; r]);
        let Some(found) = products.deficient(Some(&one)) else { return Generic::Unknown };
        // Products of few neurons have the same rank for all signs.
        if found.iter().any(|mask| mask.len() <= full) {
            return Generic::None;
        }
        if r <= full {
            return Generic::Unless(Vec::new());
        }
        let cost = PRODUCT.max((self.outputs() * self.inputs() * full) as u128);
        let affordable = cost * 3u128.pow(r as u32) <= WORK;
        let found = affordable.then(|| products.deficient(None)).flatten();
        found.map_or(Generic::Unknown, Generic::Unless)
    }

    /// Whether a piece of the list is generic; `None` if that is too much work.
    pub(super) fn is_generic(&self, piece: &Piece) -> Option<bool> {
        match self.generic_pieces()? {
            Generic::Unless(masks) => Some(!masks.iter().any(|mask| mask.agrees(&piece.orientation))),
            Generic::Only(only) => Some(only == piece),
            Generic::None => Some(false),
            Generic::Unknown => None,
        }
    }

    /// A piece of the list; `None` if there is no such piece.
    pub fn component(&self, piece: &Piece) -> Option<FiberComponent> {
        if piece.orientation.active().len() != self.hyperplanes().len() {
            return None;
        }
        let (matrix, _) = self.affine_rest(&piece.orientation);
        let rank = rank_at_most(&matrix, self.counts().full());
        let generic = self.is_generic(piece);
        self.counts()
            .lists(rank, piece.linear)
            .then(|| FiberComponent::new(piece.clone(), self.counts(), rank, generic, || &matrix))
    }

    /// The pieces of one orientation; none if it has not one entry per hyperplane.
    pub fn components_of(&self, orientation: &Orientation) -> Vec<FiberComponent> {
        let with = |linear| Piece { orientation: orientation.clone(), linear };
        let most = self.others().max(self.counts().full());
        (0..=most).filter_map(|linear| self.component(&with(linear))).collect()
    }

    /// All pieces, each made when it is asked for: every next orientation differs from the one before in one
    /// hyperplane (a Gray code that begins with all of them active at the base point), and the pieces of one
    /// orientation come with increasing numbers of linear neurons. Parameters with the same function and as
    /// many neurons have the same list.
    pub fn components(&self) -> Components<'_> {
        Components::new(self)
    }
}

fn binomial(n: usize, k: usize) -> u128 {
    (0..k).fold(1, |product, i| product * (n.saturating_sub(i)) as u128 / (i as u128 + 1))
}

/// The matrices `M_S` in the order of a Gray code.
///
/// Their residues modulo a prime are kept up to date: where they have the largest rank that `M_S` can have, they prove it.
/// Every step adds a matrix of rank one, so that the rank is at most that of an earlier orientation and the steps between
/// them. `M_S` itself is brought up to date when it is needed.
#[derive(Clone, Debug)]
struct Ranks {
    shape: (usize, usize),
    /// No `M_S` has a larger rank.
    most: usize,
    /// An orientation of small rank, which is at most this one.
    small: Option<(Orientation, usize)>,
    /// The ranks of the current orientation and of the one before, once they were asked for.
    now: Option<usize>,
    before: Option<usize>,
    orientation: Orientation,
    /// `M_S` for an earlier orientation.
    exact: (Orientation, Matrix<Rational>),
    /// The matrices `a_i u_i^T`.
    terms: Vec<Matrix<Rational>>,
    /// The residues of `M_S` and of the terms.
    residues: Option<(Vec<u64>, Vec<Vec<u64>>)>,
    step: u64,
}

impl Ranks {
    fn new(fiber: &LayerFiber) -> Self {
        let orientation = Orientation::new(vec![true; fiber.hyperplanes().len()]);
        let (matrix, _) = fiber.affine_rest(&orientation);
        let shape = (matrix.rows(), matrix.cols());
        let term = |each: &OrientedHyperplane| {
            Matrix::from_fn(shape.0, shape.1, |o, j| &each.weight[o] * &each.normal[j])
        };
        let terms: Vec<Matrix<Rational>> = fiber.hyperplanes().iter().map(term).collect();
        let residues = |matrix: &Matrix<Rational>| {
            matrix.entries().iter().map(Rational::residue).collect::<Option<Vec<u64>>>()
        };
        let residues = residues(&matrix).zip(terms.iter().map(residues).collect::<Option<Vec<_>>>());
        let exact = (orientation.clone(), matrix);
        // The linear neurons of the given parameter supply its `M_S`.
        let small = fiber.own().ok().map(|own| (own.orientation, own.linear));
        let most = most(fiber, &exact.1);
        Ranks { shape, most, small, now: None, before: None, orientation, exact, terms, residues, step: 0 }
    }

    fn products(&self) -> Products<'_> {
        let residues = self.residues.as_ref().map(|(_, terms)| terms.as_slice());
        Products { terms: &self.terms, residues, shape: self.shape }
    }

    fn rank(&mut self) -> usize {
        let cols = self.shape.1;
        let near_small = self.small.as_ref().map(|(other, rank)| rank + other.distance(&self.orientation));
        let near_before = self.before.map(|rank| rank + 1);
        let upper = near_small.into_iter().chain(near_before).fold(self.most, usize::min);
        let certified =
            self.residues.as_ref().is_some_and(|(now, _)| rank_of_residues(now.clone(), cols) == upper);
        let rank = if certified { upper } else { rank_at_most(self.matrix(), upper) };
        if self.small.as_ref().is_none_or(|(_, smallest)| rank < *smallest) {
            self.small = Some((self.orientation.clone(), rank));
        }
        self.now = Some(rank);
        rank
    }

    /// `M_S` of the current orientation.
    fn matrix(&mut self) -> &Matrix<Rational> {
        for (i, term) in self.terms.iter().enumerate() {
            let (before, now) = (self.exact.0.active()[i], self.orientation.active()[i]);
            if before != now {
                let pairs = self.exact.1.entries_mut().iter_mut().zip(term.entries());
                pairs.for_each(|(m, t)| if now { *m -= t } else { *m += t });
                self.exact.0.flip(i);
            }
        }
        &self.exact.1
    }

    /// Goes on to the next orientation; whether there is one.
    fn step(&mut self) -> bool {
        self.step += 1;
        self.before = self.now.take();
        let hyperplane = self.step.trailing_zeros() as usize;
        if hyperplane >= self.terms.len() {
            return false;
        }
        let was_active = self.orientation.active()[hyperplane];
        if let Some((now, terms)) = &mut self.residues {
            for (m, &t) in now.iter_mut().zip(&terms[hyperplane]) {
                let change = if was_active { t } else { PRIME - t };
                *m = reduce(u128::from(*m) + u128::from(change));
            }
        }
        self.orientation.flip(hyperplane);
        true
    }
}

/// The rank of one `M_S` with the weights beside it, or with the normals below it if that is smaller: all
/// `M_S` have their columns, and their rows, in these spaces.
fn most(fiber: &LayerFiber, matrix: &Matrix<Rational>) -> usize {
    let ((m, d), planes) = ((matrix.rows(), matrix.cols()), fiber.hyperplanes());
    let beside = Matrix::from_fn(m, d + planes.len(), |o, j| {
        if j < d { matrix[(o, j)].clone() } else { planes[j - d].weight[o].clone() }
    });
    let below = Matrix::from_fn(m + planes.len(), d, |i, j| {
        if i < m { matrix[(i, j)].clone() } else { planes[i - m].normal[j].clone() }
    });
    rank_at_most(&beside, m.min(d + planes.len())).min(rank_at_most(&below, d.min(m + planes.len())))
}

/// The pieces of a fiber in the order of a Gray code of the orientations.
#[derive(Clone, Debug)]
pub struct Components<'a> {
    fiber: &'a LayerFiber,
    ranks: Ranks,
    /// The rank of the current `M_S` and the next number of linear neurons.
    next: Option<(usize, usize)>,
}

impl<'a> Components<'a> {
    pub(super) fn new(fiber: &'a LayerFiber) -> Self {
        let mut ranks = Ranks::new(fiber);
        let rank = ranks.rank();
        Components { fiber, ranks, next: Some((rank, rank)) }
    }
}

impl Iterator for Components<'_> {
    type Item = FiberComponent;

    fn next(&mut self) -> Option<FiberComponent> {
        let (rank, linear) = self.next?;
        let piece = Piece { orientation: self.ranks.orientation.clone(), linear };
        let generic = self.fiber.is_generic(&piece);
        let counts = self.fiber.counts();
        let component = FiberComponent::new(piece, counts, rank, generic, || self.ranks.matrix());
        self.next = if counts.lists(rank, linear + 1) {
            Some((rank, linear + 1))
        } else if self.ranks.step() {
            let rank = self.ranks.rank();
            Some((rank, rank))
        } else {
            None
        };
        Some(component)
    }
}
