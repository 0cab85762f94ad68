//! The fingerprint: a hash of what the function determines.
//!
//! A network in normal form is a prefix of layers, one more hidden layer and the output layer. The last
//! two are a map with one hidden layer on the box that encloses the prefix's outputs; they enter by
//! their hyperplane representation there, the prefix by its rows. Before that,
//!
//! - while the representation has no hyperplane, the last two layers are an affine map and join the
//!   layer before;
//! - while the map depends on one neuron `a = relu(z)` only, it is
//!   `sum_i alpha_i relu(a + t_i) + M a + beta` with `t_i < 0`, that is
//!   `sum_i alpha_i relu(z + t_i) + M relu(z) + beta`: again a map with one hidden layer, on the inputs
//!   of `z`;
//! - layers behind a layer of one neuron, or behind inputs on which they depend by one linear form only, are
//!   a function of one variable and have such a representation, too, whatever their number ([`super::line`]);
//! - neurons of the prefix on which nothing depends are left out.

use std::borrow::Cow;
use std::fmt::Write;

use fiberscope_algebra::modular::independent_rows;
use fiberscope_core::{
    Activation, Domain, ExactNetwork, HyperplaneRepresentation, Interval, Layer, Matrix, Rational, Scalar,
};
use sha2::{Digest, Sha256};

use super::CoveredClass;
use super::line::{representation, single_point};
use crate::limit::Deadline;

/// The fingerprint of a network in normal form, and its class. What is found after the time is up may be less
/// than there is.
pub fn fingerprint(network: &ExactNetwork, domain: &Domain, deadline: &Deadline) -> (String, CoveredClass) {
    let invariants = Invariants::new(network, domain, deadline);
    let class = invariants.class(domain);
    (invariants.hash(network, domain), class)
}

/// Whether rows of doubles are found independent by matrix products; if not, nothing is known.
#[cfg(feature = "dense")]
fn are_quickly_independent(rows: &Matrix<Rational>) -> bool {
    rows.entries().iter().all(Rational::is_f64)
        && crate::dimension::are_surely_independent(&rows.map(Rational::to_f64))
}

/// There are no matrix products here.
#[cfg(not(feature = "dense"))]
fn are_quickly_independent(_: &Matrix<Rational>) -> bool {
    false
}

struct Invariants<'a> {
    /// The layers of the prefix with the neurons that matter.
    prefix: Vec<(&'a Layer<Rational>, Vec<usize>)>,
    tail: HyperplaneRepresentation,
}

impl<'a> Invariants<'a> {
    fn new(network: &'a ExactNetwork, domain: &Domain, deadline: &Deadline) -> Self {
        let ranges: Vec<Vec<Interval>> = network.activation_ranges(domain).collect();
        let mut depth = network.hidden_depth();
        let output = &network.layers()[depth];
        let affine = |layer: &Layer<Rational>| HyperplaneRepresentation {
            hyperplanes: Vec::new(),
            linear: layer.weight().iter_rows().map(<[Rational]>::to_vec).collect(),
            constant: layer.bias().to_vec(),
        };
        let mut tail = affine(output);
        if let Some((start, found)) = on_a_line(network, &ranges, deadline) {
            (depth, tail) = (start, found);
        }
        while depth > 0 {
            let layer = &network.layers()[depth - 1];
            let Some((hidden, output)) = joined(layer, &tail) else { break };
            depth -= 1;
            tail = HyperplaneRepresentation::new(&hidden, &output, &ranges[depth]);
        }
        if depth == 0 {
            put_single_points_into_constant(&mut tail, &ranges[0]);
        }
        let mut used = inputs_of(&tail);
        let mut prefix = Vec::new();
        for layer in network.layers()[..depth].iter().rev() {
            let inputs = (0..layer.input_width())
                .filter(|&j| used.iter().any(|&i| !layer.weight()[(i, j)].is_zero()))
                .collect();
            prefix.push((layer, std::mem::replace(&mut used, inputs)));
        }
        prefix.reverse();
        Invariants { prefix, tail }
    }

    fn class(&self, domain: &Domain) -> CoveredClass {
        match self.prefix.as_slice() {
            [] if self.tail.hyperplanes.is_empty() => CoveredClass::Affine,
            [] => CoveredClass::OneHiddenLayer,
            [(layer, used)] if *domain == Domain::Space && layer.activation() == Activation::Relu => {
                let rows = layer.weight().select_rows(used);
                let full = are_quickly_independent(&rows) || independent_rows(&rows).len() == used.len();
                if full { CoveredClass::Bottleneck } else { CoveredClass::General }
            }
            _ => CoveredClass::General,
        }
    }

    fn hash(&self, network: &ExactNetwork, domain: &Domain) -> String {
        let mut text = Text::new();
        text.line("fiberscope-fingerprint-v1", []);
        if let Domain::Box(sides) = domain {
            for side in sides {
                let end = |end: &Option<Rational>| end.as_ref().map_or("none".into(), Rational::to_string);
                text.line(&format!("side {} {}", end(&side.lower), end(&side.upper)), []);
            }
        }
        text.line(&format!("inputs {} outputs {}", network.input_width(), network.output_width()), []);
        let mut inputs: Vec<usize> = (0..network.input_width()).collect();
        for (layer, used) in &self.prefix {
            text.line(&format!("layer {} {}", layer.activation(), used.len()), []);
            for &unit in used {
                let row = inputs.iter().map(|&j| &layer.weight()[(unit, j)]);
                text.line("neuron", row.chain([&layer.bias()[unit]]));
            }
            inputs.clone_from(used);
        }
        for each in &self.tail.hyperplanes {
            let normal = inputs.iter().map(|&j| &each.normal[j]);
            text.line("hyperplane", normal.chain([&each.offset]).chain(&each.weight));
        }
        for (row, constant) in self.tail.linear.iter().zip(&self.tail.constant) {
            text.line("affine", inputs.iter().map(|&j| &row[j]).chain([constant]));
        }
        text.hash.finalize().iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string does not fail");
            hex
        })
    }
}

/// The first layer from which on the network is a function of one variable, and its representation; not where
/// that is the output layer alone.
fn on_a_line(
    network: &ExactNetwork,
    ranges: &[Vec<Interval>],
    deadline: &Deadline,
) -> Option<(usize, HyperplaneRepresentation)> {
    let narrow = (1..network.hidden_depth()).filter(|&layer| network.layers()[layer].input_width() == 1);
    let starts = std::iter::once(0).filter(|_| network.hidden_depth() > 0).chain(narrow);
    starts.into_iter().find_map(|start| {
        Some((start, representation(&network.layers()[start..], &ranges[start], deadline)?))
    })
}

/// Inputs that have one value only are no variables.
fn put_single_points_into_constant(tail: &mut HyperplaneRepresentation, sides: &[Interval]) {
    for (j, side) in sides.iter().enumerate() {
        let Some(value) = single_point(side) else { continue };
        for (row, constant) in tail.linear.iter_mut().zip(&mut tail.constant) {
            *constant += &(&row[j] * value);
            row[j] = Rational::ZERO;
        }
    }
}

/// The map with one hidden layer that `tail` makes with the layer before it, if it is one.
fn joined<'a>(
    layer: &'a Layer<Rational>,
    tail: &HyperplaneRepresentation,
) -> Option<(Cow<'a, Layer<Rational>>, Layer<Rational>)> {
    let outputs = tail.constant.len();
    let output = |weight| Layer::new(weight, tail.constant.clone(), Activation::Identity);
    if tail.hyperplanes.is_empty() {
        let weight = Matrix::from_fn(outputs, layer.width(), |i, j| tail.linear[i][j].clone());
        return Some((Cow::Borrowed(layer), output(weight)));
    }
    let used = inputs_of(tail);
    let &[unit] = used.as_slice() else { return None };
    if layer.activation() == Activation::Identity {
        return None;
    }
    let bends = tail.hyperplanes.len();
    let bias = |i: usize| match tail.hyperplanes.get(i) {
        Some(bend) => &layer.bias()[unit] + &bend.offset,
        None => layer.bias()[unit].clone(),
    };
    let rows = Matrix::from_fn(bends + 1, layer.input_width(), |_, j| layer.weight()[(unit, j)].clone());
    let columns = Matrix::from_fn(outputs, bends + 1, |o, i| match tail.hyperplanes.get(i) {
        Some(bend) => bend.weight[o].clone(),
        None => tail.linear[o][unit].clone(),
    });
    let hidden = Layer::new(rows, (0..=bends).map(bias).collect(), Activation::Relu);
    Some((Cow::Owned(hidden), output(columns)))
}

/// The inputs on which the map depends.
fn inputs_of(tail: &HyperplaneRepresentation) -> Vec<usize> {
    let rows = || tail.hyperplanes.iter().map(|each| &each.normal).chain(&tail.linear);
    let inputs = tail.linear.first().map_or(0, Vec::len);
    (0..inputs).filter(|&j| rows().any(|row| !row[j].is_zero())).collect()
}

/// Lines of numbers on their way into the hash.
struct Text {
    hash: Sha256,
    line: Vec<u8>,
    /// The powers of two that denominators are.
    powers: Vec<String>,
}

impl Text {
    fn new() -> Self {
        let powers = (0..128).map(|power| (1u128 << power).to_string()).collect();
        Text { hash: Sha256::new(), line: Vec::new(), powers }
    }

    fn line<'a>(&mut self, word: &str, numbers: impl IntoIterator<Item = &'a Rational>) {
        self.line.clear();
        self.line.extend_from_slice(word.as_bytes());
        for x in numbers {
            self.line.push(b' ');
            self.number(x);
        }
        self.line.push(b'\n');
        self.hash.update(&self.line);
    }

    /// The number as it is displayed. A network has millions of them, nearly all with short mantissas.
    fn number(&mut self, x: &Rational) {
        let power = |exponent: i64| usize::try_from(-exponent).ok().filter(|&power| power < 128);
        match Scalar::short_parts(x).map(|(mantissa, exponent)| (mantissa, power(exponent))) {
            Some((mantissa, Some(0))) => push_integer(&mut self.line, mantissa),
            Some((mantissa, Some(power))) => {
                push_integer(&mut self.line, mantissa);
                self.line.push(b'/');
                self.line.extend_from_slice(self.powers[power].as_bytes());
            }
            _ => self.line.extend_from_slice(x.to_string().as_bytes()),
        }
    }
}

/// Adds an integer in decimal digits.
fn push_integer(text: &mut Vec<u8>, integer: i64) {
    let (mut digits, mut first) = ([b'0'; 20], 20);
    let mut rest = integer.unsigned_abs();
    while rest >= 10 {
        let pair = (rest % 100) as u8;
        rest /= 100;
        first -= 2;
        digits[first..first + 2].copy_from_slice(&[b'0' + pair / 10, b'0' + pair % 10]);
    }
    if rest > 0 || first == 20 {
        first -= 1;
        digits[first] = b'0' + rest as u8;
    }
    if integer < 0 {
        text.push(b'-');
    }
    text.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_enter_as_they_are_displayed() {
        let edges = [0, 1, -1, 9, 10, -99, 100, 105, 999, 1 << 53, i64::MAX, i64::MIN, i64::MIN + 1];
        let exponents = [-1074, -200, -128, -127, -64, -63, -1, 0, 1, 20, 63, 64, 300];
        let dyadic = edges.iter().flat_map(|&m| exponents.map(|e| Rational::dyadic(m.into(), e)));
        let others = ["1/3", "-22/7", "123456789012345678901234567890"].map(|text| text.parse().unwrap());
        for x in dyadic.chain(others) {
            let mut text = Text::new();
            text.number(&x);
            assert_eq!(String::from_utf8(text.line).unwrap(), x.to_string());
        }
    }
}
