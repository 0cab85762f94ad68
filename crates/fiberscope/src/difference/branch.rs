//! How to cut a part of the box.
//!
//! The row that was tightened last loses `abs(c_e)` times the gap between the lines of `e`, and `abs(c_a)`
//! times the height of the band of `a`, at every hidden neuron. Where the sign of the neuron is known it
//! loses nothing there: a cut at a neuron gains its loss in both parts. Bisecting an input makes all neurons'
//! losses smaller: each loss is laid on the inputs in proportion to the coefficients of the neuron's form, and
//! the input that answers for most of it gains a part of that. Few free inputs answer for much each; of
//! hundreds of them none does, and a neuron is cut.

use fiberscope_check::difference::{Bounder, middle};
use fiberscope_core::{Activation, Neuron, Operand};

use super::tree::{Cut, Part, Tree};

/// What bisecting an input gains of the losses that it answers for, against the loss of a neuron.
const GAIN: f64 = 4.0;

/// The cuts, the best one first; at most two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Splits {
    first: Option<Cut>,
    second: Option<Cut>,
}

impl Splits {
    /// The cut that gains most for the row that was tightened last; where there is no loss, the widest
    /// inputs are bisected.
    pub fn new(bounder: &mut Bounder, part: &Part, tree: &Tree) -> Self {
        let Losses { inputs, neurons } = losses(bounder, part.lo.len());
        let found = best(&inputs, part);
        let gained = found[0].map_or(0.0, |input| GAIN * inputs[input]);
        if neurons[0].is_some_and(|(_, loss)| loss > gained) {
            let [first, second] =
                neurons.map(|neuron| neuron.and_then(|((operand, neuron), _)| tree.neuron(operand, neuron)));
            return Splits { first, second };
        }
        Splits::bisect(found, part, tree)
    }

    /// The inputs that answer for most of the loss of the row that was tightened last; where there is none,
    /// the widest ones.
    pub fn of_boxes(bounder: &mut Bounder, part: &Part, tree: &Tree) -> Self {
        let inputs = losses(bounder, part.lo.len()).inputs;
        Splits::bisect(best(&inputs, part), part, tree)
    }

    fn bisect(found: [Option<usize>; 2], part: &Part, tree: &Tree) -> Self {
        if found[0].is_some() { Splits::of_inputs(found, tree) } else { Splits::widest(part, tree) }
    }

    /// The widest inputs, measured against the root box.
    pub fn widest(part: &Part, tree: &Tree) -> Self {
        let (root_lo, root_hi) = tree.root();
        let width = |j: usize| (0.5 * part.hi[j] - 0.5 * part.lo[j]) / (0.5 * root_hi[j] - 0.5 * root_lo[j]);
        let widths: Vec<f64> = (0..part.lo.len()).map(width).collect();
        Splits::of_inputs(best(&widths, part), tree)
    }

    fn of_inputs(inputs: [Option<usize>; 2], tree: &Tree) -> Self {
        let [first, second] = inputs.map(|input| input.map(|input| tree.input(input)));
        Splits { first, second }
    }

    /// The cuts to make one after the other: two if the part is far from the goal.
    pub fn cuts(self, twice: bool) -> Vec<Cut> {
        [self.first, self.second.filter(|_| twice)].into_iter().flatten().collect()
    }

    /// Whether there is no cut.
    pub fn is_empty(self) -> bool {
        self.first.is_none()
    }
}

/// The inputs with the largest scores, the first one counted half for the second choice. Inputs that cannot
/// be bisected are left out.
fn best(scores: &[f64], Part { lo, hi, .. }: &Part) -> [Option<usize>; 2] {
    let choose = |halved: Option<usize>| {
        let mut best: Option<(usize, f64)> = None;
        for (j, &score) in scores.iter().enumerate() {
            let again = halved == Some(j);
            let score = if again { 0.5 * score } else { score };
            let cuts = match middle(lo[j], hi[j]) {
                Some(centre) if again => middle(lo[j], centre).and(middle(centre, hi[j])),
                other => other,
            };
            if cuts.is_some() && score > best.map_or(0.0, |(_, most)| most) {
                best = Some((j, score));
            }
        }
        best.map(|(j, _)| j)
    };
    let first = choose(None);
    [first, first.and_then(|_| choose(first))]
}

struct Losses {
    /// What every input answers for.
    inputs: Vec<f64>,
    /// The two neurons with an open sign that lose most.
    neurons: [Option<((Operand, Neuron), f64)>; 2],
}

/// The losses of the row that was tightened last.
fn losses(bounder: &mut Bounder, inputs: usize) -> Losses {
    let mut losses = Losses { inputs: vec![0.0; inputs], neurons: [None, None] };
    for l in 0..bounder.pair().layers().len() - 1 {
        let gaps = bounder.gap(l).clone();
        let coefficients = bounder.row_coefficients(l);
        let bounds = bounder.layer(l);
        let relu = bounder.pair().layers()[l].activation == Activation::Relu;
        let forms = bounder.input_coefficients(l).chunks_exact(inputs);
        for (i, form) in forms.enumerate() {
            let loss = coefficients.e[i].abs() * gaps.e[i] + coefficients.a[i].abs() * gaps.a[i];
            if !(loss > 0.0 && relu) {
                continue;
            }
            let total: f64 = form.iter().sum();
            if total > 0.0 {
                let unit = loss / total;
                losses.inputs.iter_mut().zip(form).for_each(|(loss, c)| *loss += unit * c);
            }
            let operand = match () {
                () if bounds.zl[i] < 0.0 && bounds.zu[i] > 0.0 => Operand::A,
                () if bounds.yl[i] < 0.0 && bounds.yu[i] > 0.0 => Operand::B,
                () => continue,
            };
            let found = Some(((operand, Neuron { layer: l, unit: i }), loss));
            let more = |than: Option<(_, f64)>| than.is_none_or(|(_, most)| loss > most);
            losses.neurons = match losses.neurons {
                [first, _] if more(first) => [found, first],
                [first, second] if more(second) => [first, found],
                both => both,
            };
        }
    }
    losses
}
