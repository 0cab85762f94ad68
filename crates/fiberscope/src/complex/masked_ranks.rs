//! Whether all masked products `D_k W_k D_{k-1} ... D_j W_j` of a network have the largest rank that their
//! masks allow, `min(n_{j-1}, rank D_j, ..., rank D_k)` [phuong2020functional, Section 3].
//!
//! The masks are gone through layer by layer, with the products of all first layers `j` so far modulo a
//! prime: a rank modulo a prime is never larger than the rank, so that the largest one is proved there. What
//! it leaves open is decided over the rationals. Where the masks are too many, random ones are tried.

use std::ops::ControlFlow;

use fiberscope_algebra::modular::rank_of_residues;
use fiberscope_algebra::rational::rank_at_most;
use fiberscope_core::residue::reduce;
use fiberscope_core::{Activation, Layer, Matrix, Network, Rational, Scalar};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::limit::{Deadline, LimitReached};

/// How many random masks are tried, at most, and at least.
const RANDOM: [usize; 2] = [4, 128];
/// What random masks may cost together, in multiplications.
const RANDOM_WORK: usize = 20_000_000;
/// What all masks may cost together.
const WORK: usize = 1 << 27;
/// After so many products of too small a rank the others do not matter.
const DEFICIENT: usize = 512;
/// When a limit ends the checks.
const WHEN: &str = "before the ranks of the masked products were known";

/// The ranks of masked products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskedRanks {
    /// How many masks were checked.
    pub checked: usize,
    /// Whether these were all.
    pub is_complete: bool,
    /// How many have a product of less than maximal rank.
    pub deficient: usize,
}

impl MaskedRanks {
    /// Checks all masks of a small network and random ones of a larger one, fewer the larger it is; exactly.
    /// The rows of the output layer are not masked.
    pub fn new(network: &Network, seed: u64, deadline: &Deadline) -> Result<Self, LimitReached> {
        if let Some(is_maximal) = by_one_layer(network) {
            return Ok(MaskedRanks { checked: 1, is_complete: true, deficient: usize::from(!is_maximal) });
        }
        let layers = network.layers();
        let is_masked = |l: usize| l + 1 < layers.len() && layers[l].activation() == Activation::Relu;
        let widths: Vec<(usize, bool)> =
            (0..layers.len()).map(|l| (layers[l].width(), is_masked(l))).collect();
        let bits: usize = widths.iter().filter(|(_, is_masked)| *is_masked).map(|(width, _)| width).sum();
        // Multiplications for one mask.
        let work: usize = layers.iter().map(|l| l.width() * l.input_width()).sum::<usize>()
            * layers.iter().map(Layer::width).max().unwrap_or(0)
            * layers.len();
        let walk = Walk::new(network, deadline);
        let mut tally = MaskedRanks { checked: 0, is_complete: false, deficient: 0 };
        let all = u32::try_from(bits).ok().and_then(|bits| 1usize.checked_shl(bits));
        if let Some(all) = all.filter(|all| all.saturating_mul(work) <= WORK) {
            let every = |(width, is_masked): (usize, bool)| match is_masked {
                true => (0..1usize << width).map(|set| members(width, |i| set >> i & 1 == 1)).collect(),
                false => vec![members(width, |_| true)],
            };
            let masks: Vec<Vec<Vec<usize>>> = widths.iter().map(|&width| every(width)).collect();
            let _ = walk.go(&masks, &mut Vec::new(), &[], &mut tally)?;
            return Ok(MaskedRanks { is_complete: tally.checked == all, ..tally });
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..(RANDOM_WORK / work.max(1)).clamp(RANDOM[0], RANDOM[1]) {
            let mut some =
                |(width, is_masked): (usize, bool)| members(width, |_| !is_masked || rng.random::<bool>());
            let masks: Vec<Vec<Vec<usize>>> = widths.iter().map(|&width| vec![some(width)]).collect();
            let _ = walk.go(&masks, &mut Vec::new(), &[], &mut tally)?;
        }
        Ok(tally)
    }
}

fn members(width: usize, mut belongs: impl FnMut(usize) -> bool) -> Vec<usize> {
    (0..width).filter(|&i| belongs(i)).collect()
}

/// Whether all masked products of a network with one hidden layer, no wider than its input, and one output
/// have maximal rank, for any number of masks: rows of `W_1` that are independent stay so where some are left
/// out, and then `W_2 D W_1 = 0` only if `W_2 D = 0`.
fn by_one_layer(network: &Network) -> Option<bool> {
    let [hidden, output] = network.layers() else { return None };
    if hidden.activation() != Activation::Relu || output.width() != 1 || hidden.width() > hidden.input_width()
    {
        return None;
    }
    let rows = hidden.weight().map(Scalar::to_rational);
    let is_full = rank_at_most(&rows, hidden.width()) == hidden.width();
    Some(is_full && output.weight().entries().iter().all(|w| *w != 0.0))
}

/// A product of the layers from `first` on, modulo the prime, without the rows that are masked.
struct Product {
    first: usize,
    cols: usize,
    residues: Vec<u64>,
    /// The largest rank that the masks allow; not zero.
    most: usize,
}

/// The layers of a network.
struct Walk<'a> {
    weights: Vec<Matrix<Rational>>,
    /// Their residues, row by row.
    residues: Vec<Vec<u64>>,
    deadline: &'a Deadline,
}

impl<'a> Walk<'a> {
    fn new(network: &Network, deadline: &'a Deadline) -> Self {
        let weights: Vec<Matrix<Rational>> =
            network.layers().iter().map(|layer| layer.weight().map(Scalar::to_rational)).collect();
        let residue = |w: &Rational| w.residue().expect("denominators of doubles are powers of two");
        let residues = weights.iter().map(|weight| weight.entries().iter().map(residue).collect()).collect();
        Walk { weights, residues, deadline }
    }

    /// Goes through the masks of the layers that are left, `masks` for every layer, after those that were
    /// chosen; stops where too many products are deficient.
    fn go(
        &self,
        masks: &[Vec<Vec<usize>>],
        chosen: &mut Vec<Vec<usize>>,
        products: &[Product],
        tally: &mut MaskedRanks,
    ) -> Result<ControlFlow<()>, LimitReached> {
        let layer = chosen.len();
        let Some(own) = masks.get(layer) else {
            tally.checked += 1;
            return Ok(ControlFlow::Continue(()));
        };
        for mask in own {
            self.deadline.check(WHEN)?;
            let next: Vec<Product> = products
                .iter()
                .filter_map(|product| self.times(layer, mask, chosen.last(), product))
                .chain(self.start(layer, mask))
                .collect();
            chosen.push(mask.clone());
            if next.iter().all(|product| self.is_maximal(layer, chosen, product)) {
                if self.go(masks, chosen, &next, tally)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            } else {
                // So are all masks that begin like this.
                let rest: usize = masks[layer + 1..].iter().map(Vec::len).product();
                tally.checked += rest;
                tally.deficient += rest;
            }
            chosen.pop();
            if tally.deficient >= DEFICIENT && masks[layer..].iter().any(|masks| masks.len() > 1) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The product that begins with a layer.
    fn start(&self, layer: usize, mask: &[usize]) -> Option<Product> {
        let cols = self.weights[layer].cols();
        let most = mask.len().min(cols);
        let rows = mask.iter().flat_map(|&i| &self.residues[layer][i * cols..(i + 1) * cols]);
        (most > 0).then(|| Product { first: layer, cols, residues: rows.copied().collect(), most })
    }

    /// A product with one more layer, if its masks allow a rank above zero.
    fn times(
        &self,
        layer: usize,
        mask: &[usize],
        before: Option<&Vec<usize>>,
        product: &Product,
    ) -> Option<Product> {
        let (before, cols) = (before?, product.cols);
        let most = product.most.min(mask.len());
        if most == 0 {
            return None;
        }
        let inner = self.weights[layer].cols();
        let mut residues = vec![0; mask.len() * cols];
        for (sums, &i) in residues.chunks_mut(cols).zip(mask) {
            for (row, &k) in product.residues.chunks(cols).zip(before) {
                let w = u128::from(self.residues[layer][i * inner + k]);
                sums.iter_mut()
                    .zip(row)
                    .for_each(|(sum, &x)| *sum = reduce(u128::from(*sum) + w * u128::from(x)));
            }
        }
        Some(Product { first: product.first, cols, residues, most })
    }

    fn is_maximal(&self, layer: usize, chosen: &[Vec<usize>], product: &Product) -> bool {
        let Product { first, cols, residues, most } = product;
        if rank_of_residues(residues.clone(), *cols) == *most {
            return true;
        }
        let mut exact = self.weights[*first].select_rows(&chosen[*first]);
        for k in first + 1..=layer {
            let factor = self.weights[k].select_columns(&chosen[k - 1]).select_rows(&chosen[k]);
            exact = Rational::product(&factor, &exact).expect("the shapes chain");
        }
        rank_at_most(&exact, *most) == *most
    }
}
