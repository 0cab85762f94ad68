//! What makes a parameter generic, checked on its complex.
//!
//! - *Supertransversal*: every cell of codimension `k` lies on exactly `k` bent hyperplanes [threelayer2026,
//!   Definition 8].
//! - *Maximal rank*: every masked product `D_k W_k D_{k-1} ... D_j W_j` has rank
//!   `min(n_{j-1}, rank D_j, ..., rank D_k)`, with no mask on the output layer ([`super::masked_ranks`]); all
//!   masks of small networks are tried, else random ones, and the number is said.
//! - *Transparent*: at every point of the open domain every hidden layer has a neuron with `z >= 0`. Linear
//!   programs decide ([`super::transparency`]), with a point where a layer is off if there is one; what they
//!   leave open the signs of the regions tell.
//! - *General*: (a) no local optimum of any `z_{l,i}` is exactly 0; (b) maximal rank; (c) no two pairs of a
//!   neuron and an activation pattern of the layers below it carry proportional affine functions (constant
//!   functions, which bend nothing, aside). Then the fold-set is the union of all bent hyperplanes
//!   [phuong2020functional, Section 3 and Lemma 1].
//!
//! All checks are exact.

use std::collections::{BTreeMap, BTreeSet};

use fiberscope_core::{Domain, Neuron, Rational, Sign};

use super::masked_ranks::MaskedRanks;
use super::options::ComplexOptions;
use super::polyhedral::PolyhedralComplex;
use super::transparency::{Transparency, TransparencyOptions};
use crate::limit::{Deadline, LimitReached};

/// How many linear programs a layer gets before the regions are asked.
const PROGRAMS: usize = 500;

/// The genericity of a parameter on a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Genericity {
    /// Whether every cell of codimension `k` lies on exactly `k` bent hyperplanes; if not, how many cells do
    /// not.
    pub transversality_violations: usize,
    /// How many masked products were checked.
    pub masks_checked: usize,
    /// Whether these were all.
    pub masks_complete: bool,
    /// How many of them have less than maximal rank.
    pub rank_violations: usize,
    /// A point at which a hidden layer is off, with the layer (from 0), if there is one.
    pub opaque: Option<(usize, Vec<Rational>)>,
    /// How many linear programs looked for it.
    pub programs: usize,
    /// Neurons with a local optimum of exactly 0.
    pub zero_optima: Vec<Neuron>,
    /// Pairs of neurons with proportional functions on some regions.
    pub proportional: Vec<(Neuron, Neuron)>,
}

impl Genericity {
    /// Checks a complex, unless the deadline of the options comes first; their seed picks the masks of large
    /// networks.
    pub fn new(complex: &PolyhedralComplex, options: &ComplexOptions) -> Result<Self, LimitReached> {
        let (seed, deadline) = (options.seed, &options.deadline);
        let ranks = MaskedRanks::new(&complex.frame.network, seed, deadline)?;
        let (opaque, programs) = opaque(complex, deadline)?;
        Ok(Genericity {
            transversality_violations: transversality(complex),
            masks_checked: ranks.checked,
            masks_complete: ranks.is_complete,
            rank_violations: ranks.deficient,
            opaque,
            programs,
            zero_optima: zero_optima(complex, deadline)?,
            proportional: proportional(complex, deadline)?,
        })
    }

    /// Whether the complex is supertransversal.
    pub fn is_supertransversal(&self) -> bool {
        self.transversality_violations == 0
    }

    /// Whether every layer has a neuron that is not off, everywhere.
    pub fn is_transparent(&self) -> bool {
        self.opaque.is_none()
    }

    /// Whether the network is general (as far as masks were checked).
    pub fn is_general(&self) -> bool {
        self.zero_optima.is_empty() && self.rank_violations == 0 && self.proportional.is_empty()
    }
}

fn transversality(complex: &PolyhedralComplex) -> usize {
    let d = complex.factor_dimension();
    (0..=d)
        .flat_map(|k| complex.cells(k))
        .filter(|cell| !cell.is_on_boundary())
        .filter(|cell| {
            cell.signs().iter().filter(|&&sign| sign == Sign::Zero).count() != d - cell.dimension()
        })
        .count()
}

/// When a limit ends the checks.
const WHEN: &str = "before it was known whether the network is general and transparent";

/// A layer, from 0, that is off at a point.
type Opaque = (usize, Vec<Rational>);

/// A layer that is off somewhere, with a point where it is, and the number of linear programs that looked for
/// it.
fn opaque(complex: &PolyhedralComplex, deadline: &Deadline) -> Result<(Option<Opaque>, usize), LimitReached> {
    let frame = &complex.frame;
    let sides: Vec<(f64, f64)> = frame.sides.iter().map(|&[lower, upper]| (lower, upper)).collect();
    let domain = match frame.whole {
        true => Domain::Space,
        false => Domain::from_bounds(&sides).expect("the sides of a box are finite"),
    };
    let limits = TransparencyOptions::new().programs(PROGRAMS).deadline(deadline.clone());
    let found = Transparency::new(&frame.network, &domain, &limits).expect("the box is not flat");
    deadline.check(WHEN)?;
    let by_programs = found.opaque().map(|(layer, x)| (layer, x.to_vec()));
    let off =
        by_programs.or_else(|| found.unknown().into_iter().find_map(|layer| off_region(complex, layer)));
    let in_space = |(layer, x): (usize, Vec<Rational>)| {
        let mut point = vec![Rational::ZERO; complex.dimension()];
        frame.kept.iter().zip(x).for_each(|(&i, value)| point[i] = value);
        (layer, point)
    };
    Ok((off.map(in_space), found.programs))
}

/// A layer that is off on some region, with a point of doubles where it is, exactly, if the middle of one
/// such region is that.
fn off_region(complex: &PolyhedralComplex, layer: usize) -> Option<(usize, Vec<Rational>)> {
    let flat = &complex.frame.flat;
    let units = flat.layers[layer].first..flat.layers[layer].first + flat.layers[layer].width;
    let is_off = |x: &[Rational]| {
        complex.frame.arbiter.values(flat, x)[units.clone()].iter().all(Rational::is_negative)
    };
    let mut found = None;
    for region in complex.regions() {
        if region.cell().signs()[units.clone()].iter().all(|&sign| sign == Sign::Negative) {
            let center = region.center();
            let center: Vec<Rational> = center.iter().filter_map(|&x| Rational::from_f64(x)).collect();
            if is_off(&center) {
                return Some((layer, center));
            }
            found.get_or_insert((layer, center));
        }
    }
    found
}

/// Neurons that are zero on some cell inside and do not change sign around it.
fn zero_optima(complex: &PolyhedralComplex, deadline: &Deadline) -> Result<Vec<Neuron>, LimitReached> {
    let d = complex.factor_dimension();
    let mut found = BTreeSet::new();
    // For every cell the neurons that are positive, and that are negative, on some region around it.
    let mut around: Vec<[Vec<bool>; 2]> = complex
        .cells(d)
        .map(|cell| [Sign::Positive, Sign::Negative].map(|s| cell.signs().iter().map(|&x| x == s).collect()))
        .collect();
    for k in (0..=d).rev() {
        if k < d {
            around = complex
                .cells(k)
                .map(|cell| {
                    deadline.check(WHEN)?;
                    let above = cell.cofacets();
                    Ok([0, 1].map(|side| {
                        (0..complex.frame.flat.neurons)
                            .map(|h| above.iter().any(|&a| around[a as usize][side][h]))
                            .collect()
                    }))
                })
                .collect::<Result<_, LimitReached>>()?;
        }
        let inside = complex.cells(k).zip(&around).filter(|(cell, _)| !cell.is_on_boundary());
        for (cell, around) in inside {
            for (h, &sign) in cell.signs().iter().enumerate() {
                if sign == Sign::Zero && !(around[0][h] && around[1][h]) {
                    found.insert(h);
                }
            }
        }
    }
    Ok(found.into_iter().map(|h| complex.neuron(h)).collect())
}

fn proportional(
    complex: &PolyhedralComplex,
    deadline: &Deadline,
) -> Result<Vec<(Neuron, Neuron)>, LimitReached> {
    let d = complex.factor_dimension();
    let flat = &complex.frame.flat;
    let mut functions: BTreeMap<(Vec<Rational>, Rational), usize> = BTreeMap::new();
    let mut done: BTreeSet<(usize, Vec<Sign>)> = BTreeSet::new();
    let mut pairs = BTreeSet::new();
    for cell in complex.cells(d) {
        let signs = cell.signs();
        for layer in flat.layers.iter().filter(|layer| layer.relu) {
            if !done.insert((layer.first, signs[..layer.first].to_vec())) {
                continue;
            }
            for h in layer.first..layer.first + layer.width {
                deadline.check(WHEN)?;
                let active = |i: usize| signs[i] == Sign::Positive;
                let (normal, offset) = complex.frame.arbiter.function(flat, h, active);
                let Some(lead) = normal.iter().find(|x| !x.is_zero()) else { continue };
                let inverse = lead.recip().expect("the leading entry is not zero");
                let key = (normal.iter().map(|x| x * &inverse).collect(), &offset * &inverse);
                if let Some(other) = functions.insert(key, h) {
                    pairs.insert((other.min(h), other.max(h)));
                }
            }
        }
    }
    Ok(pairs.into_iter().map(|(a, b)| (complex.neuron(a), complex.neuron(b))).collect())
}
