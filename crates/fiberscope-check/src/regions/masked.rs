//! One network on a path of a region tree: which neurons are on and off, and the affine functions that they
//! compute.

use fiberscope_core::{Activation, ExactNetwork, Interval, Neuron, ProductSum, Rational};

use super::Fault;
use super::expression::Expression;
use super::numbering::Numbering;
use crate::Stop;

/// An affine function of the free inputs: its gradient, then its constant.
pub type Form = Vec<Rational>;

/// The inputs as affine functions of the free ones, and the domain of the free ones.
pub struct Inputs {
    /// How many inputs are free.
    pub free: usize,
    /// Per input.
    forms: Vec<Form>,
    /// The finite sides of the free inputs.
    pub sides: Vec<Form>,
    /// The domain of the free inputs.
    pub ranges: Vec<Interval>,
}

impl Inputs {
    /// The inputs on a domain with these sides.
    pub fn new(intervals: &[Interval]) -> Self {
        let fixed = |side: &Interval| side.lower.is_some() && side.lower == side.upper;
        let free = intervals.iter().filter(|side| !fixed(side)).count();
        let (mut forms, mut sides, mut place) = (Vec::new(), Vec::new(), 0);
        for interval in intervals {
            let mut form = vec![Rational::ZERO; free + 1];
            if fixed(interval) {
                form[free] = interval.lower.clone().expect("a fixed input has a value");
            } else {
                form[place] = Rational::ONE;
                if let Some(lower) = &interval.lower {
                    let mut side = form.clone();
                    side[free] = -lower;
                    sides.push(side);
                }
                if let Some(upper) = &interval.upper {
                    let mut side = negated(&form);
                    side[free] = upper.clone();
                    sides.push(side);
                }
                place += 1;
            }
            forms.push(form);
        }
        let ranges = intervals.iter().filter(|side| !fixed(side)).cloned().collect();
        Inputs { free, forms, sides, ranges }
    }
}

/// What is known of one network on the current path.
pub struct Masked<'a> {
    /// The network.
    pub network: &'a ExactNetwork,
    /// Per hidden layer and neuron: on, off or not decided. Identity neurons are always on.
    pub masks: Vec<Vec<Option<bool>>>,
    /// Per hidden layer: how many neurons are not decided.
    pub open: Vec<usize>,
    /// Per layer and neuron: the pre-activation, if it was asked for under the current masks.
    pub forms: Vec<Vec<Option<Form>>>,
    stop: Stop<'a>,
}

impl<'a> Masked<'a> {
    /// Nothing is decided.
    pub fn new(network: &'a ExactNetwork, stop: Stop<'a>) -> Self {
        let hidden = network.hidden_layers();
        let initial = |relu: bool| if relu { None } else { Some(true) };
        let masks: Vec<_> = hidden
            .iter()
            .map(|layer| vec![initial(layer.activation() == Activation::Relu); layer.width()])
            .collect();
        let open = masks.iter().map(|mask| mask.iter().filter(|on| on.is_none()).count()).collect();
        let forms = network.layers().iter().map(|layer| vec![None; layer.width()]).collect();
        Masked { network, masks, open, forms, stop }
    }

    /// The first layer before `layer` with a neuron that is not decided.
    pub fn open_layer(&self, layer: usize) -> Option<usize> {
        self.open[..layer].iter().position(|&open| open > 0)
    }

    /// Decides a neuron, or takes a decision back.
    pub fn set(&mut self, neuron: Neuron, on: Option<bool>) {
        let Neuron { layer, unit } = neuron;
        let before = std::mem::replace(&mut self.masks[layer][unit], on);
        match (before, on) {
            (None, Some(_)) => self.open[layer] -= 1,
            (Some(_), None) => self.open[layer] += 1,
            _ => {}
        }
        if on != before {
            // Only layers that were asked for after this one was complete hold anything.
            for forms in self.forms[layer + 1..].iter_mut() {
                forms.iter_mut().for_each(|form| *form = None);
            }
        }
    }

    /// The pre-activation of a neuron whose layers before are decided.
    pub fn form(&mut self, neuron: Neuron, inputs: &Inputs) -> Result<&Form, Fault> {
        // Layers from the first one to this one whose functions are needed, all neurons that are on.
        for l in 0..=neuron.layer {
            let units = if l == neuron.layer { neuron.unit..neuron.unit + 1 } else { 0..self.forms[l].len() };
            for unit in units {
                let needed = l == neuron.layer || self.masks[l][unit] == Some(true);
                if needed && self.forms[l][unit].is_none() {
                    if (self.stop)() {
                        return Err(Fault::Stopped);
                    }
                    self.forms[l][unit] = Some(self.combine(Neuron { layer: l, unit }, inputs));
                }
            }
        }
        Ok(self.forms[neuron.layer][neuron.unit].as_ref().expect("it was just computed"))
    }

    /// What the first `count` layers compute, one at least, as expressions of the free inputs and of relu of what
    /// is not decided.
    pub fn values(
        &mut self,
        count: usize,
        inputs: &Inputs,
        numbering: &mut Numbering,
    ) -> Result<Vec<Expression>, Fault> {
        let network = self.network;
        let first = self.open_layer(count - 1).unwrap_or(count - 1);
        let mut values: Vec<Expression> = Vec::new();
        for (l, layer) in network.layers().iter().enumerate().take(count).skip(first) {
            let mut next = Vec::with_capacity(layer.width());
            for unit in 0..layer.width() {
                let on = self.masks.get(l).map_or(Some(true), |mask| mask[unit]);
                if on == Some(false) {
                    next.push(Expression::default());
                    continue;
                }
                let z = if l == first {
                    Expression::affine(self.form(Neuron { layer: l, unit }, inputs)?)
                } else {
                    numbering.combine(layer.weight().row(unit), &layer.bias()[unit], &values)?
                };
                next.push(if on.is_none() { numbering.relu(&z)? } else { z });
            }
            values = next;
        }
        Ok(values)
    }

    /// `sum_j w_j a_j + b` with the masked functions `a_j` of the layer before.
    fn combine(&self, neuron: Neuron, inputs: &Inputs) -> Form {
        let layer = &self.network.layers()[neuron.layer];
        let mut total = vec![ProductSum::default(); inputs.free + 1];
        for (j, weight) in layer.weight().row(neuron.unit).iter().enumerate() {
            let input = match neuron.layer.checked_sub(1) {
                None => Some(&inputs.forms[j]),
                Some(before) if self.masks[before][j] == Some(true) => self.forms[before][j].as_ref(),
                Some(_) => None,
            };
            if let (Some(input), false) = (input, weight.is_zero()) {
                total.iter_mut().zip(input).for_each(|(sum, x)| sum.add(weight, x));
            }
        }
        total[inputs.free].add(&layer.bias()[neuron.unit], &Rational::ONE);
        total.iter().map(ProductSum::to_rational).collect()
    }
}

fn negated(form: &[Rational]) -> Form {
    form.iter().map(|x| -x).collect()
}
