//! The pieces of a fiber as equations and inequalities between all parameters, scalings included.
//!
//! Neurons stand in the order of the given parameter; their permutations are not listed. Let `(u_i, t_i)` be
//! a row and an offset, `p` an input with `u_ip != 0`. That a neuron has the row `l (u_i, t_i)` with `l > 0`
//! is said without `l`: `u_ip w_ij = u_ij w_ip`, `u_ip b_i = t_i w_ip`, `u_ip w_ip > 0`, and `l = w_ip / u_ip`
//! divides its outgoing weights. Behind a first layer of this kind, weights are multiplied by the `l` of
//! their inputs before they are compared.

use anyhow::{Context, bail};
use fiberscope::fiber::{BottleneckFiber, Fiber, FiberComponent, HiddenHyperplane, LayerFiber, Rest};
use fiberscope_core::{Domain, ExactNetwork, Layer, Move, Rational, ratio_of};

use super::Subject;
use crate::export::{Piece, Polynomial, System, Variable};

/// The pieces of the fiber, at most so many; an error if the theory does not cover the network, or a limit is
/// reached.
pub fn system(subject: &Subject, most: usize) -> anyhow::Result<System> {
    let Ok(fiber) = &subject.fiber else {
        bail!("the theory does not cover {}, so there is no description of its fiber to write", subject.name)
    };
    let network = fiber.network();
    let names = Names::new(&network, matches!(fiber, Fiber::Bottleneck(inner) if inner.hidden().is_some()));
    let scalings: usize = network.hidden_layers().iter().map(Layer::width).sum();
    let own = fiber.own().ok();
    let mut system = System {
        title: format!("The fiber of {}", subject.name),
        notes: notes(subject, &names),
        variables: names.variables(),
        ..System::default()
    };
    let mut left_out = false;
    for component in fiber.components().filter(|component| !component.is_empty()) {
        subject.deadline.check("before all pieces were written")?;
        if system.pieces.len() == most {
            left_out = true;
            break;
        }
        let mut piece = match fiber {
            Fiber::OneHiddenLayer(layer) => one_layer(layer, &component, &names, 0, Vec::new()),
            Fiber::Bottleneck(inner) => match inner.rest() {
                Rest::Layerwise(layer) => behind(inner, layer, &component, &names),
                Rest::Hiding(hidden) => hiding(inner, hidden, &component, &names)?,
            },
        };
        let linear = component.linear;
        piece.title = format!(
            "piece {}, {linear} linear: {piece_dimension} dimensions",
            sign_text(&component),
            piece_dimension = component.dimension.unwrap_or(0) + scalings
        );
        if own.as_ref() == Some(&component.piece()) {
            system.point = Some((names.values(&network), system.pieces.len()));
        }
        system.pieces.push(piece);
    }
    if left_out {
        system.notes.push(format!("There are more pieces; the first {most} that have points are written."));
    }
    Ok(system)
}

fn sign_text(component: &FiberComponent) -> String {
    let signs = component.orientation.to_string();
    if signs.is_empty() { "without signs".into() } else { signs }
}

fn notes(subject: &Subject, names: &Names) -> Vec<String> {
    let widths: Vec<String> = subject.network.widths().iter().map(ToString::to_string).collect();
    let mut notes = vec![
        format!("Parameters of widths {}: w (layer, neuron, input) and b (layer, neuron).", widths.join("-")),
        "Every parameter of a piece has the function of the given one; a piece stands for itself with the neurons of each layer in any order.".to_owned(),
        "A linear neuron has a weight or a bias that is not zero.".to_owned(),
    ];
    if names.translation.is_some() {
        notes.push("t is the translation of the hidden hyperplane; w and b determine it.".to_owned());
    }
    notes
}

/// The numbers of the variables.
struct Names {
    widths: Vec<usize>,
    /// Where the variables of a layer begin.
    first: Vec<usize>,
    translation: Option<usize>,
}

impl Names {
    fn new(network: &ExactNetwork, translation: bool) -> Self {
        let widths = network.widths();
        let mut first = vec![0];
        for pair in widths.windows(2) {
            first.push(first[first.len() - 1] + pair[1] * (pair[0] + 1));
        }
        let translation = translation.then(|| first[first.len() - 1]);
        Names { widths, first, translation }
    }

    fn weight(&self, layer: usize, unit: usize, input: usize) -> usize {
        self.first[layer] + unit * self.widths[layer] + input
    }

    fn bias(&self, layer: usize, unit: usize) -> usize {
        self.first[layer] + self.widths[layer] * self.widths[layer + 1] + unit
    }

    /// All of them, each layer's weights row by row, then its biases.
    fn variables(&self) -> Vec<Variable> {
        let mut all = Vec::new();
        for (l, pair) in self.widths.windows(2).enumerate() {
            let weights = (1..=pair[1]).flat_map(|i| (1..=pair[0]).map(move |j| (i, j)));
            all.extend(weights.map(|(i, j)| Variable::new('w', &[l + 1, i, j])));
            all.extend((1..=pair[1]).map(|i| Variable::new('b', &[l + 1, i])));
        }
        all.extend(self.translation.map(|_| Variable::new('t', &[])));
        all
    }

    /// The values at a network, without translation.
    fn values(&self, network: &ExactNetwork) -> Vec<Rational> {
        let layer = |layer: &Layer<Rational>| [layer.weight().entries(), layer.bias()].concat();
        let mut values: Vec<Rational> = network.layers().iter().flat_map(layer).collect();
        values.extend(self.translation.map(|_| Rational::ZERO));
        values
    }
}

/// A row of a layer with its weights in the scale of fixed inputs.
struct Rows<'a> {
    names: &'a Names,
    layer: usize,
    /// The scale of every input: a variable of the layer before, and the number that it is at scale 1. Empty
    /// if inputs have no scales.
    scales: Vec<(usize, Rational)>,
}

impl Rows<'_> {
    /// A weight times the scale of its input.
    fn weight(&self, unit: usize, input: usize) -> Polynomial {
        let weight = self.names.weight(self.layer, unit, input);
        match self.scales.get(input) {
            None => Polynomial::monomial(Rational::ONE, &[weight]),
            Some((variable, at_one)) => {
                let inverse = at_one.recip().expect("a scale is measured by a weight that is not zero");
                Polynomial::monomial(inverse, &[weight, *variable])
            }
        }
    }

    /// That a neuron's row is a positive multiple of `sign (normal, offset)`; its multiple, times the entry
    /// of the normal that measures it; and that entry.
    fn multiple(
        &self,
        piece: &mut Piece,
        unit: usize,
        normal: &[Rational],
        offset: &Polynomial,
        sign: &Rational,
    ) -> (Polynomial, Rational) {
        let pivot = normal.iter().position(|u| !u.is_zero()).expect("a hyperplane has a normal");
        let (lead, at) = (self.weight(unit, pivot), &normal[pivot]);
        for (input, u) in normal.iter().enumerate().filter(|(input, _)| *input != pivot) {
            let other = Polynomial::default().plus_times(at, &self.weight(unit, input));
            piece.equations.push(other.plus_times(&-u, &lead));
        }
        let bias = Polynomial::monomial(at.clone(), &[self.names.bias(self.layer, unit)]);
        piece.equations.push(bias.plus_times(&-Rational::ONE, &offset.times(&lead)));
        piece.positive.push(Polynomial::default().plus_times(&(sign * at), &lead));
        (Polynomial::default().plus_times(sign, &lead), at.clone())
    }

    /// A neuron on a visible hyperplane, with its outgoing weights.
    fn visible(
        &self,
        piece: &mut Piece,
        unit: usize,
        (normal, offset, weight): (&[Rational], &Polynomial, &[Rational]),
        sign: &Rational,
    ) {
        let (multiple, at) = self.multiple(piece, unit, normal, offset, sign);
        for (output, a) in weight.iter().enumerate() {
            let outgoing =
                Polynomial::monomial(Rational::ONE, &[self.names.weight(self.layer + 1, output, unit)]);
            piece.equations.push(outgoing.times(&multiple).plus(-(a * &at), &[]));
        }
    }

    /// A neuron whose weights and bias are not negative (`sign` 1), or not positive.
    fn one_sided(&self, piece: &mut Piece, unit: usize, sign: i64) {
        let inputs = self.names.widths[self.layer];
        let entries = (0..inputs).map(|input| self.names.weight(self.layer, unit, input));
        let entries = entries.chain([self.names.bias(self.layer, unit)]);
        piece.nonnegative.extend(entries.map(|entry| Polynomial::monomial(Rational::from(sign), &[entry])));
    }
}

/// A piece of a map with one hidden layer, which is `layer` of the network.
fn one_layer(
    fiber: &LayerFiber,
    component: &FiberComponent,
    names: &Names,
    layer: usize,
    scales: Vec<(usize, Rational)>,
) -> Piece {
    let rows = Rows { names, layer, scales };
    let mut piece = Piece::default();
    let (places, others) = places(fiber);
    for ((each, &active), &unit) in
        fiber.hyperplanes().iter().zip(component.orientation.active()).zip(&places)
    {
        let sign = Rational::from(if active { 1 } else { -1 });
        let offset = Polynomial::constant(each.offset.clone());
        rows.visible(&mut piece, unit, (&each.normal, &offset, &each.weight), &sign);
    }
    let (linear, dead) = others.split_at(component.linear.min(others.len()));
    linear.iter().for_each(|&unit| rows.one_sided(&mut piece, unit, 1));
    dead.iter().for_each(|&unit| rows.one_sided(&mut piece, unit, -1));
    let (matrix, constant) = fiber.affine_rest(&component.orientation);
    for (output, constant) in constant.iter().enumerate() {
        let outgoing =
            |unit: usize| Polynomial::monomial(Rational::ONE, &[names.weight(layer + 1, output, unit)]);
        if !linear.is_empty() {
            for input in 0..fiber.inputs() {
                let product = |sum: Polynomial, &unit: &usize| {
                    sum.plus_times(&Rational::ONE, &outgoing(unit).times(&rows.weight(unit, input)))
                };
                piece.equations.push(
                    linear.iter().fold(Polynomial::default(), product).plus(-&matrix[(output, input)], &[]),
                );
            }
        }
        let mut sum = Polynomial::monomial(Rational::ONE, &[names.bias(layer + 1, output)]);
        for &unit in linear {
            sum = sum.plus(Rational::ONE, &[names.weight(layer + 1, output, unit), names.bias(layer, unit)]);
        }
        piece.equations.push(sum.plus(-constant, &[]));
    }
    piece
}

/// The neuron of the given parameter on every visible hyperplane, and the others: first those that are linear
/// there.
fn places(fiber: &LayerFiber) -> (Vec<usize>, Vec<usize>) {
    let hidden = fiber.hidden_layer();
    let row = |unit: usize| hidden.weight().row(unit).iter().chain([&hidden.bias()[unit]]);
    let mut free: Vec<usize> = (0..hidden.width()).collect();
    let mut places = Vec::with_capacity(fiber.hyperplanes().len());
    for each in fiber.hyperplanes() {
        let line = || each.normal.iter().chain([&each.offset]);
        let at = free.iter().position(|&unit| ratio_of(line(), row(unit)).is_some()).unwrap_or(0);
        places.push(free.remove(at));
    }
    let linear = fiber.linear();
    free.sort_by_key(|unit| (!linear.contains(unit), *unit));
    (places, free)
}

/// The rows of a first layer that is fixed but for its scales, with them.
fn fixed_rows(
    names: &Names,
    first: &Layer<Rational>,
    piece: &mut Piece,
    offset: impl Fn(usize) -> Polynomial,
) -> Vec<(usize, Rational)> {
    let rows = Rows { names, layer: 0, scales: Vec::new() };
    (0..first.width())
        .map(|unit| {
            let normal = first.weight().row(unit);
            rows.multiple(piece, unit, normal, &offset(unit), &Rational::ONE);
            let pivot = normal.iter().position(|u| !u.is_zero()).expect("the first layer has full rank");
            (names.weight(0, unit, pivot), normal[pivot].clone())
        })
        .collect()
}

/// A piece behind a fixed first layer.
fn behind(inner: &BottleneckFiber, layer: &LayerFiber, component: &FiberComponent, names: &Names) -> Piece {
    let first = &inner.network().layers()[0];
    let mut front = Piece::default();
    let scales =
        fixed_rows(names, first, &mut front, |unit| Polynomial::constant(first.bias()[unit].clone()));
    let rest = one_layer(layer, component, names, 1, scales);
    front.equations.extend(rest.equations);
    front.positive.extend(rest.positive);
    front.nonnegative.extend(rest.nonnegative);
    front
}

/// The translations of a hidden hyperplane, after the flips of a piece.
fn hiding(
    inner: &BottleneckFiber,
    hidden: &HiddenHyperplane,
    component: &FiberComponent,
    names: &Names,
) -> anyhow::Result<Piece> {
    let t = names.translation.context("a hidden hyperplane has a translation")?;
    let mut network = inner.network().clone();
    let flipped = inner.flips_of(&component.orientation);
    let flips: Vec<usize> = (0..flipped.len()).filter(|&unit| flipped[unit]).collect();
    if !flips.is_empty() {
        Move::Flip { layer: 0, unit: hidden.unit, flips }.apply(&mut network, &Domain::Space)?;
    }
    let [first, second, third] = network.layers() else { bail!("expected two hidden layers") };
    let mut piece = Piece::default();
    let offset = |unit: usize| {
        let constant = Polynomial::constant(first.bias()[unit].clone());
        if unit == hidden.unit { constant.plus(Rational::ONE, &[t]) } else { constant }
    };
    let scales = fixed_rows(names, first, &mut piece, offset);
    let rows = Rows { names, layer: 1, scales };
    for unit in 0..second.width() {
        if inner.dead().contains(&unit) {
            rows.one_sided(&mut piece, unit, -1);
            continue;
        }
        let normal = second.weight().row(unit);
        let offset = Polynomial::constant(second.bias()[unit].clone()).plus(-&normal[hidden.unit], &[t]);
        let weight: Vec<Rational> = third.weight().column(unit).cloned().collect();
        rows.visible(&mut piece, unit, (normal, &offset, &weight), &Rational::ONE);
    }
    for (output, constant) in third.bias().iter().enumerate() {
        piece
            .equations
            .push(Polynomial::monomial(Rational::ONE, &[names.bias(2, output)]).plus(-constant, &[]));
    }
    piece.nonnegative.push(Polynomial::monomial(Rational::ONE, &[t]).plus(-&hidden.least, &[]));
    Ok(piece)
}
