//! A network whose neurons are on or off, modulo the prime `2^61 - 1`.
//!
//! With a pattern of activity fixed, everything is linear in homogeneous coordinates `v = (x, t)`: `h_0 = x`,
//! `h_l = M_l (W_l h_{l-1} + b_l t)`, and the pre-activation of neuron `i` of layer `l` is
//! `z_i(v) = w_i h_{l-1}(v) + b_i t`. A vector `(h_l, t)` is kept as a matrix with one row per neuron, one for
//! `t`, and `n_0 + 1` columns: its values at the unit vectors.

use fiberscope_core::residue::{PRIME, inverse, multiply, reduce};
use fiberscope_core::{Network, Rational, Scalar};

/// Which neurons of each hidden layer are on.
pub type Pattern = Vec<Vec<bool>>;

/// How many products of residues fit into a sum of 128 bits, with room for one more number.
const TERMS: usize = 60;

/// The parameters of a network as residues.
#[derive(Clone, Debug)]
pub struct ResidueNetwork {
    layers: Vec<ResidueLayer>,
    inputs: usize,
}

#[derive(Clone, Debug)]
struct ResidueLayer {
    /// Row by row, the bias behind the weights of each row.
    rows: Vec<u64>,
    width: usize,
    inputs: usize,
}

impl ResidueLayer {
    fn row(&self, unit: usize) -> &[u64] {
        &self.rows[unit * (self.inputs + 1)..][..self.inputs + 1]
    }
}

/// A matrix of residues, row by row.
#[derive(Clone, Debug)]
pub struct Rows {
    entries: Vec<u64>,
    cols: usize,
}

impl Rows {
    pub(super) fn row(&self, i: usize) -> &[u64] {
        &self.entries[i * self.cols..][..self.cols]
    }

    pub(super) fn columns(&self) -> usize {
        self.cols
    }

    pub(super) fn count(&self) -> usize {
        self.entries.len() / self.cols
    }
}

impl ResidueNetwork {
    /// The residues of a network's parameters, which are doubles: the prime divides no power of two.
    pub fn new(network: &Network) -> Self {
        let layers = network.layers().iter().map(|layer| {
            let (width, inputs) = (layer.width(), layer.input_width());
            let mut rows = vec![0; width * (inputs + 1)];
            for (i, j, w) in layer.weights().iter() {
                rows[i * (inputs + 1) + j] = residue(&w.to_rational());
            }
            for (i, b) in layer.bias().iter().enumerate() {
                rows[i * (inputs + 1) + inputs] = residue(&b.to_rational());
            }
            ResidueLayer { rows, width, inputs }
        });
        ResidueNetwork { layers: layers.collect(), inputs: network.input_width() }
    }

    /// The number of parameters, those that are zero included.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| layer.rows.len()).sum()
    }

    /// The weights of a neuron, its bias behind them.
    pub(super) fn own_row(&self, layer: usize, unit: usize) -> &[u64] {
        self.layers[layer].row(unit)
    }

    /// The width of each layer, the inputs not among them.
    pub(super) fn widths(&self) -> impl Iterator<Item = usize> {
        self.layers.iter().map(|layer| layer.width)
    }

    /// `(h_l, t)` for `l = 0, ..., up_to`.
    pub(super) fn activations(&self, pattern: &Pattern, up_to: usize) -> Vec<Rows> {
        let cols = self.inputs + 1;
        let unit = |i: usize, j: usize| u64::from(i == j);
        let entries = (0..cols * cols).map(|at| unit(at / cols, at % cols)).collect();
        let mut all = vec![Rows { entries, cols }];
        for l in 0..up_to {
            all.push(self.next(l, &pattern[l], &all[l]));
        }
        all
    }

    fn next(&self, l: usize, on: &[bool], before: &Rows) -> Rows {
        let (layer, cols) = (&self.layers[l], before.cols);
        let mut entries = vec![0; (layer.width + 1) * cols];
        for unit in (0..layer.width).filter(|&unit| on[unit]) {
            let out = &mut entries[unit * cols..][..cols];
            if l == 0 {
                out.copy_from_slice(layer.row(unit));
            } else {
                combine(layer.row(unit), before, out);
            }
        }
        entries[layer.width * cols + cols - 1] = 1;
        Rows { entries, cols }
    }

    /// Vectors `v` that span the kernel of `z_i`, each as `e_b - c e_pivot` with its `b` and `c`; `None` if `z_i`
    /// is zero modulo the prime.
    pub(super) fn kernel(&self, layer: usize, unit: usize, inputs: &Rows) -> Option<Kernel> {
        let mut z = vec![0; inputs.cols];
        combine(self.layers[layer].row(unit), inputs, &mut z);
        let pivot = z.iter().rposition(|&x| x != 0)?;
        let scale = inverse(z[pivot]);
        let others = (0..z.len()).filter(|&b| b != pivot).map(|b| (b, multiply(z[b], scale))).collect();
        Some(Kernel { pivot, others })
    }

    /// Whether the output depends on the neuron's activation: `B_i != 0` modulo the prime.
    pub fn reaches_output(&self, pattern: &Pattern, layer: usize, unit: usize) -> bool {
        let next = &self.layers[layer + 1];
        let mut signal: Vec<u64> = (0..next.width).map(|i| next.row(i)[unit]).collect();
        for (on, next) in pattern[layer + 1..].iter().zip(&self.layers[layer + 2..]) {
            signal.iter_mut().zip(on).filter(|(_, on)| !**on).for_each(|(x, _)| *x = 0);
            signal = (0..next.width).map(|i| dot(next.row(i).iter().zip(&signal))).collect();
        }
        signal.iter().any(|&x| x != 0)
    }

    /// The values of `(h_{l-1}, t)` at vectors that span the kernel of `z_i`: what the fold of the neuron says of
    /// its own row `(w_i, b_i)`. None if `z_i` is zero modulo the prime.
    pub fn fold_rows(&self, pattern: &Pattern, layer: usize, unit: usize) -> Vec<Vec<u64>> {
        let inputs = self.activations(pattern, layer).pop().expect("that of the inputs at least");
        let Some(kernel) = self.kernel(layer, unit, &inputs) else { return Vec::new() };
        let at = |b: usize, c: u64| {
            let entry = |i: usize| minus_product(inputs.row(i)[b], c, inputs.row(i)[kernel.pivot]);
            (0..inputs.count()).map(entry).collect()
        };
        kernel.others.iter().map(|&(b, c)| at(b, c)).collect()
    }

    /// The values of `(h_{L-1}, t)` at all unit vectors: what a region says of the rows of the last layer.
    pub fn output_rows(&self, pattern: &Pattern) -> Vec<Vec<u64>> {
        self.input_rows(pattern, self.layers.len() - 1)
    }

    /// The values of `(h_{l-1}, t)`, what layer `l` reads, at all unit vectors.
    pub fn input_rows(&self, pattern: &Pattern, layer: usize) -> Vec<Vec<u64>> {
        let inputs = self.activations(pattern, layer).pop().expect("as above");
        (0..inputs.cols).map(|b| (0..inputs.count()).map(|i| inputs.row(i)[b]).collect()).collect()
    }

    /// The differential of `z_i(v)` with respect to all parameters, the last layer's first, at vectors that span
    /// the kernel of `z_i`, or for a neuron of the last layer at all unit vectors.
    pub fn differentials(&self, pattern: &Pattern, layer: usize, unit: usize) -> Vec<Vec<u64>> {
        let inputs = self.activations(pattern, layer);
        let vectors: Vec<(usize, Option<(u64, usize)>)> = if layer + 1 == self.layers.len() {
            (0..=self.inputs).map(|b| (b, None)).collect()
        } else {
            let Some(kernel) = self.kernel(layer, unit, &inputs[layer]) else { return Vec::new() };
            kernel.others.iter().map(|&(b, c)| (b, Some((c, kernel.pivot)))).collect()
        };
        let signals = self.signals(pattern, layer, unit);
        let row = |&(b, minus): &(usize, Option<(u64, usize)>)| {
            let value = |rows: &Rows, i: usize| match minus {
                None => rows.row(i)[b],
                Some((c, pivot)) => minus_product(rows.row(i)[b], c, rows.row(i)[pivot]),
            };
            let mut row = vec![0; self.parameters()];
            let mut end = row.len();
            for (l, (signal, rows)) in signals.iter().zip(&inputs).enumerate() {
                let values: Vec<u64> = (0..rows.count()).map(|i| value(rows, i)).collect();
                let start = end - self.layers[l].rows.len();
                let places = row[start..end].chunks_exact_mut(values.len());
                for (place, &s) in places.zip(signal).filter(|(_, s)| **s != 0) {
                    place.iter_mut().zip(&values).for_each(|(x, &v)| *x = multiply(s, v));
                }
                end = start;
            }
            row
        };
        vectors.iter().map(row).collect()
    }

    /// The derivatives of `z_i` with respect to the pre-activations of the layers up to its own.
    pub fn signals(&self, pattern: &Pattern, layer: usize, unit: usize) -> Vec<Vec<u64>> {
        let mut own = vec![0; self.layers[layer].width];
        own[unit] = 1;
        let mut all = vec![own];
        for l in (0..layer).rev() {
            let (next, signal) = (&self.layers[l + 1], all.last().expect("not empty"));
            let used: Vec<(usize, u64)> =
                signal.iter().copied().enumerate().filter(|(_, s)| *s != 0).collect();
            let entry = |k: usize| match pattern[l][k] {
                true => dot(used.iter().map(|&(i, ref s)| (&next.row(i)[k], s))),
                false => 0,
            };
            all.push((0..self.layers[l].width).map(entry).collect());
        }
        all.reverse();
        all
    }
}

/// The vectors `e_b - c e_pivot`.
pub(super) struct Kernel {
    pub(super) pivot: usize,
    pub(super) others: Vec<(usize, u64)>,
}

fn residue(number: &Rational) -> u64 {
    number.residue().expect("the denominator of a double is a power of two")
}

pub(super) fn minus_product(x: u64, c: u64, y: u64) -> u64 {
    reduce(u128::from(x) + u128::from(PRIME - c) * u128::from(y))
}

/// `out = row * rows`.
pub(super) fn combine(row: &[u64], rows: &Rows, out: &mut [u64]) {
    let used: Vec<usize> = (0..row.len()).filter(|&i| row[i] != 0).collect();
    let mut sums = vec![0u128; out.len()];
    for part in used.chunks(TERMS) {
        for &i in part {
            let factor = u128::from(row[i]);
            sums.iter_mut().zip(rows.row(i)).for_each(|(sum, &x)| *sum += factor * u128::from(x));
        }
        sums.iter_mut().for_each(|sum| *sum = u128::from(reduce(*sum)));
    }
    out.iter_mut().zip(&sums).for_each(|(out, &sum)| *out = sum as u64);
}

/// The scalar product.
pub fn dot<'a>(pairs: impl Iterator<Item = (&'a u64, &'a u64)>) -> u64 {
    let mut sum = 0u128;
    for (at, (&a, &b)) in pairs.enumerate() {
        sum += u128::from(a) * u128::from(b);
        if at % TERMS == TERMS - 1 {
            sum = u128::from(reduce(sum));
        }
    }
    reduce(sum)
}
