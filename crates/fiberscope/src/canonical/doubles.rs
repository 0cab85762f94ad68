//! The canonical form of networks of doubles that have nothing to be reduced, in doubles.
//!
//! Of most large networks no neuron can go, and the scales of the canonical form are powers of two. Then the form
//! is made of doubles, and the fingerprint is a hash of their bytes but for the affine rest, a product of matrices
//! that is computed exactly. Every step here is exact, too: where a number would be rounded, or where more is to
//! be done than is done here, there is no answer, and [`super::canonicalize`] gives the same one in rational
//! numbers.

use dashu_int::ops::Gcd;
use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::rational::product_of_doubles;
use fiberscope_core::{
    Activation, Layer, Matrix, Move, MoveChain, Network, Rational, Scalar, Strictness, mantissa_and_exponent,
};

use super::fingerprint::are_quickly_independent;
use super::hashed::{FingerprintVersion, Lines};
use super::{Canonical, CoveredClass, Representative, sorted};
use crate::limit::Deadline;
use crate::orbit::lines::{entries, groups};

/// The canonical form on all of `R^n`; `None` if it is not found here, or the time is up.
pub(super) fn canonicalize(network: &Network, deadline: &Deadline) -> Option<Canonical> {
    if !is_reduced(network, deadline) {
        return None;
    }
    // One zero, not two.
    let (mut made, mut moves) = (network.map(|x| x + 0.0).ok()?, MoveChain::default());
    for layer in 0..network.hidden_depth() {
        let factors: Vec<Rational> = (0..made.layers()[layer].width())
            .map(|unit| Some(Rational::dyadic(1, -content(entries(&made.layers()[layer], unit))?)))
            .collect::<Option<_>>()?;
        let scales = factors.iter().any(|factor| *factor != Rational::ONE);
        if let Some(scale) = scales.then_some(Move::Scale { layer, factors }) {
            scale.apply_in_doubles(&mut made)?;
            moves.push(scale);
        }
        if let Some(permute) = sorted(&made, layer) {
            permute.apply_in_doubles(&mut made)?;
            moves.push(permute);
        }
        if deadline.is_past() {
            return None;
        }
    }
    let (fingerprint, class) = fingerprint(&made)?;
    Some(Canonical { network: Representative::Doubles(made), moves, fingerprint, class })
}

/// Whether no step of a reduction applies on all of `R^n`, and no hyperplane is hidden. Sufficient: layers are dense, all
/// neurons have outgoing weights, those of the first layer have incoming ones, and those of other layers some of
/// both signs, so that nothing is dead or linear; and no two rows of a layer are on one line.
fn is_reduced(network: &Network, deadline: &Deadline) -> bool {
    let bends = |(l, layer): (usize, &Layer)| {
        let signs = |row: &[f64]| [row.iter().any(|&w| w > 0.0), row.iter().any(|&w| w < 0.0)];
        let mut rows = layer.weight().iter_rows().map(signs);
        layer.activation() == Activation::Relu && rows.all(|[up, down]| up && down || l == 0 && (up || down))
    };
    let is_used = |layer: &Layer| layer.weights().used_columns().into_iter().all(|used| used);
    network.hidden_depth() > 0
        && network.layers().iter().all(|layer| layer.weights().as_dense().is_some())
        && network.layers()[1..].iter().all(is_used)
        && network.hidden_layers().iter().enumerate().all(bends)
        && (0..network.hidden_depth()).all(|l| network.hidden_unit(l, Strictness::Alive).is_none())
        && network.hidden_layers().iter().all(|layer| !deadline.is_past() && groups(layer).is_empty())
}

/// The exponent of the content of a vector, if it is a power of two.
fn content<'a>(numbers: impl Iterator<Item = &'a f64>) -> Option<i64> {
    let (mut common, mut largest) = (0, 0.0f64);
    for x in numbers.filter(|x| **x != 0.0) {
        if common != 1 {
            let size = mantissa_and_exponent(*x).0.unsigned_abs();
            common = (size >> size.trailing_zeros()).gcd(common);
        }
        largest = largest.max(x.abs());
    }
    let (mantissa, exponent) = mantissa_and_exponent(largest);
    (common == 1).then(|| i64::from(exponent) + i64::from(mantissa.ilog2()))
}

/// A neuron of the last hidden layer: its hyperplane is its row times a number, a power of two or its negative.
struct Hyperplane<'a> {
    row: &'a [f64],
    bias: f64,
    unit: usize,
    factor: f64,
}

impl Hyperplane<'_> {
    /// The normal and the offset.
    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.row.iter().chain([&self.bias]).map(|x| x * self.factor)
    }
}

/// The fingerprint of a network in canonical form of which nothing could be reduced, and its class.
fn fingerprint(network: &Network) -> Option<(String, CoveredClass)> {
    let (layers, depth) = (network.layers(), network.hidden_depth());
    let narrow = layers[1..depth].iter().any(|layer| layer.input_width() == 1);
    if narrow || !is_no_line(layers[0].weight()) {
        return None;
    }
    let mut lines = Lines::new(FingerprintVersion::V2);
    lines.text(&format!("inputs {} outputs {}", network.input_width(), network.output_width()));
    for layer in &layers[..depth - 1] {
        lines.text(&format!("layer {} {}", layer.activation(), layer.width()));
        (0..layer.width()).for_each(|unit| lines.doubles("neuron", entries(layer, unit).copied()));
    }
    let (hidden, output) = (&layers[depth - 1], &layers[depth]);
    let mut hyperplanes: Vec<Hyperplane> =
        (0..hidden.width()).map(|unit| hyperplane(hidden, unit)).collect::<Option<_>>()?;
    hyperplanes.sort_by(|x, y| x.numbers().partial_cmp(y.numbers()).expect("finite numbers"));
    if hyperplanes.windows(2).any(|pair| pair[0].numbers().eq(pair[1].numbers())) {
        return None;
    }
    for each in &hyperplanes {
        let size = each.factor.abs().recip();
        let column = || output.weight().column(each.unit);
        if column().any(|v| !is_exact(*v, size)) {
            return None;
        }
        lines.doubles("hyperplane", each.numbers().chain(column().map(|v| v * size)));
    }
    // What neurons leave whose rows are negative multiples of their hyperplanes' normals.
    let turned: Vec<&Hyperplane> = hyperplanes.iter().filter(|each| each.factor < 0.0).collect();
    let columns = Matrix::from_fn(output.width(), turned.len(), |o, i| output.weight()[(o, turned[i].unit)]);
    let inputs = hidden.input_width();
    let rows =
        Matrix::from_fn(
            turned.len(),
            inputs + 1,
            |i, j| {
                if j < inputs { turned[i].row[j] } else { turned[i].bias }
            },
        );
    let mut affine = product_of_doubles(&columns, &rows);
    for (o, bias) in output.bias().iter().enumerate() {
        affine[(o, inputs)] += &bias.to_rational();
        lines.numbers("affine", affine.row(o).iter());
    }
    let class = match &layers[..depth - 1] {
        [] => CoveredClass::OneHiddenLayer,
        [first] if are_independent(first.weight()) => CoveredClass::Bottleneck,
        _ => CoveredClass::General,
    };
    Some((lines.finish(), class))
}

/// Whether some row is surely no multiple of the first one: then the function may depend on more than one variable.
fn is_no_line(rows: &Matrix) -> bool {
    const SURE: f64 = 1e-9;
    let first = rows.row(0);
    let Some(place) = first.iter().position(|x| *x != 0.0) else { return false };
    rows.iter_rows().any(|row| {
        first.iter().zip(row).any(|(x, y)| {
            let (one, other) = (first[place] * y, x * row[place]);
            let size = one.abs() + other.abs();
            size.is_normal() && (one - other).abs() > SURE * size.max(f64::MIN_POSITIVE / SURE)
        })
    })
}

/// `None` if the hyperplane's numbers are no doubles, or its size is no power of two.
fn hyperplane(layer: &Layer, unit: usize) -> Option<Hyperplane<'_>> {
    let row = layer.weight().row(unit);
    let content = content(row.iter()).filter(|content| content.abs() <= 1022)?;
    let leading = row.iter().find(|x| **x != 0.0)?;
    let size = f64::from_bits(((1023 - content) as u64) << 52);
    let found = Hyperplane { row, bias: layer.bias()[unit], unit, factor: size.copysign(*leading) };
    let exact = row.iter().chain([&found.bias]).all(|x| is_exact(*x, found.factor));
    exact.then_some(found)
}

/// Whether a double times a power of two, or its negative, is a double. (Both normal, as is the reciprocal; see the proof
/// of [`Move::apply_in_doubles`]'s scaling.)
fn is_exact(x: f64, power: f64) -> bool {
    let product = x * power;
    product.is_finite() && product * power.recip() == x
}

fn are_independent(rows: &Matrix) -> bool {
    are_quickly_independent(rows) || independent_rows(&rows.map(Scalar::to_rational)).len() == rows.rows()
}
