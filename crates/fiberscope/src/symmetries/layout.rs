//! Parameters by name and by place.

use fiberscope_algebra::Number;
use fiberscope_algebra::modular::Residue;
use fiberscope_core::{Layer, Network, NetworkError, Neuron, Rational, Scalar};

/// One parameter: a weight or the bias of a neuron, which may be one of the last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameter {
    /// The neuron whose row it stands in.
    pub neuron: Neuron,
    /// The input of its layer, counted from 0; the number of inputs for the bias.
    pub input: usize,
}

/// A direction in the space of parameters: those that move, each with its speed.
pub type Direction = Vec<(Parameter, Rational)>;

/// Where parameters lie in one vector: the last layer first, each row with its bias behind it, as in the rows of
/// the checker.
#[derive(Clone, Debug)]
pub struct Layout {
    starts: Vec<usize>,
    /// The widths of the network.
    pub widths: Vec<usize>,
}

impl Layout {
    pub fn of(network: &Network) -> Self {
        let (widths, mut end) = (network.widths(), network.parameter_count());
        let start = |layer: &Layer| {
            end -= layer.width() * (layer.input_width() + 1);
            end
        };
        Layout { starts: network.layers().iter().map(start).collect(), widths }
    }

    /// The number of hidden layers, which is the number of the last layer.
    pub fn last(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn count(&self) -> usize {
        self.starts[0] + self.widths[1] * (self.widths[0] + 1)
    }

    /// The place of a parameter.
    pub fn place(&self, parameter: Parameter) -> usize {
        let Parameter { neuron, input } = parameter;
        self.starts[neuron.layer] + neuron.unit * (self.widths[neuron.layer] + 1) + input
    }

    /// The parameters of a layer, in their order.
    pub fn of_layer(&self, layer: usize) -> impl Iterator<Item = Parameter> {
        let inputs = self.widths[layer] + 1;
        let at = move |k: usize| Parameter { neuron: Neuron { layer, unit: k / inputs }, input: k % inputs };
        (0..self.widths[layer + 1] * inputs).map(at)
    }

    /// The parameters of a neuron's row, its bias last.
    pub fn of_row(&self, neuron: Neuron) -> impl Iterator<Item = Parameter> {
        (0..=self.widths[neuron.layer]).map(move |input| Parameter { neuron, input })
    }

    /// The outgoing weights of a hidden neuron.
    pub fn of_column(&self, neuron: Neuron) -> impl Iterator<Item = Parameter> {
        let (layer, input) = (neuron.layer + 1, neuron.unit);
        (0..self.widths[layer + 1]).map(move |unit| Parameter { neuron: Neuron { layer, unit }, input })
    }

    /// The residues of a direction; `None` if a number has none.
    pub fn residues(&self, direction: &Direction) -> Option<Vec<Residue>> {
        let mut row = vec![Residue::ZERO; self.count()];
        for (parameter, speed) in direction {
            let place = self.place(*parameter);
            row[place].add_product(&Residue::of(speed)?, &Residue::ONE);
        }
        Some(row)
    }
}

/// The value of a parameter.
pub fn value(network: &Network, Parameter { neuron, input }: Parameter) -> Rational {
    let layer = &network.layers()[neuron.layer];
    match input == layer.input_width() {
        true => layer.bias()[neuron.unit].to_rational(),
        false => layer.weight()[(neuron.unit, input)].to_rational(),
    }
}

/// The network with other numbers, one for each parameter.
pub fn changed(network: &Network, number: impl Fn(Parameter) -> f64) -> Result<Network, NetworkError> {
    let layer = |(l, layer): (usize, &Layer)| {
        let inputs = layer.input_width();
        let at = |unit: usize, input: usize| number(Parameter { neuron: Neuron { layer: l, unit }, input });
        let weight = fiberscope_core::Matrix::from_fn(layer.width(), inputs, at);
        let bias = (0..layer.width()).map(|unit| at(unit, inputs)).collect();
        Layer::new(weight, bias, layer.activation())
    };
    Network::new(network.layers().iter().enumerate().map(layer).collect())
}
