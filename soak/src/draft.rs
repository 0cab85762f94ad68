//! Networks in the making: exact numbers in plain vectors, and rewritings of them that keep the function.
//!
//! Nothing here is shared with the moves of the library, whose work is under test: each rewriting is an
//! identity of one line, written out.

use fiberscope_core::{Activation, Layer, Matrix, Network, Rational};

/// One layer: rows, biases, and whether a ReLU follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// One row per neuron.
    pub weight: Vec<Vec<Rational>>,
    /// One bias per neuron.
    pub bias: Vec<Rational>,
    /// Whether a ReLU follows.
    pub relu: bool,
}

/// A network of exact numbers that may still be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The layers, the last one without ReLU.
    pub layers: Vec<Rows>,
}

impl Rows {
    /// The number of neurons.
    pub fn width(&self) -> usize {
        self.bias.len()
    }

    fn numbers(&mut self) -> impl Iterator<Item = &mut Rational> {
        self.weight.iter_mut().flatten().chain(self.bias.iter_mut())
    }

    fn push(&mut self, row: Vec<Rational>, bias: Rational) {
        self.weight.push(row);
        self.bias.push(bias);
    }
}

impl Draft {
    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.layers[0].weight[0].len()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].width()
    }

    /// The number of hidden layers.
    pub fn hidden(&self) -> usize {
        self.layers.len() - 1
    }

    /// The exact network with these numbers as doubles.
    pub fn of(network: &Network) -> Self {
        let exact = |x: &f64| Rational::from_f64(*x).expect("a network's parameters are finite");
        let rows = |layer: &Layer| Rows {
            weight: layer.weight().iter_rows().map(|row| row.iter().map(exact).collect()).collect(),
            bias: layer.bias().iter().map(exact).collect(),
            relu: layer.activation() == Activation::Relu,
        };
        Draft { layers: network.layers().iter().map(rows).collect() }
    }

    /// The network, if every number is a double.
    pub fn network(&self) -> Option<Network> {
        self.rounded(|x| x.is_f64().then(|| x.to_f64()))
    }

    /// The network with its numbers rounded in a way of one's own.
    pub fn rounded(&self, mut round: impl FnMut(&Rational) -> Option<f64>) -> Option<Network> {
        let mut layers = Vec::new();
        for rows in &self.layers {
            let entries = rows.weight.iter().flatten().map(&mut round).collect::<Option<Vec<_>>>()?;
            let bias = rows.bias.iter().map(&mut round).collect::<Option<Vec<_>>>()?;
            let matrix = Matrix::from_entries(rows.width(), rows.weight[0].len(), entries)?;
            let activation = if rows.relu { Activation::Relu } else { Activation::Identity };
            layers.push(Layer::new(matrix, bias, activation));
        }
        Network::new(layers).ok()
    }

    /// The value at a point.
    pub fn value(&self, x: &[Rational]) -> Vec<Rational> {
        self.layers.iter().fold(x.to_vec(), |inputs, rows| {
            let value = |(row, bias): (&Vec<Rational>, &Rational)| {
                let mut sum = bias.clone();
                for (w, x) in row.iter().zip(&inputs) {
                    if !w.is_zero() && !x.is_zero() {
                        sum += &(w * x);
                    }
                }
                if rows.relu { sum.max(Rational::ZERO) } else { sum }
            };
            rows.weight.iter().zip(&rows.bias).map(value).collect()
        })
    }

    /// The column of outgoing weights of a hidden neuron.
    pub fn column(&self, layer: usize, unit: usize) -> Vec<Rational> {
        self.layers[layer + 1].weight.iter().map(|row| row[unit].clone()).collect()
    }

    /// New neuron `i` is old neuron `order[i]`.
    pub fn permute(&mut self, layer: usize, order: &[usize]) {
        let rows = &mut self.layers[layer];
        rows.weight = order.iter().map(|&j| rows.weight[j].clone()).collect();
        rows.bias = order.iter().map(|&j| rows.bias[j].clone()).collect();
        for row in &mut self.layers[layer + 1].weight {
            *row = order.iter().map(|&j| row[j].clone()).collect();
        }
    }

    /// `relu(c z) = c relu(z)` for `c > 0`.
    pub fn scale(&mut self, layer: usize, unit: usize, factor: &Rational) {
        let rows = &mut self.layers[layer];
        rows.weight[unit].iter_mut().for_each(|w| *w *= factor);
        rows.bias[unit] *= factor;
        for row in &mut self.layers[layer + 1].weight {
            row[unit] = &row[unit] / factor;
        }
    }

    /// Puts a neuron behind the others of its layer.
    pub fn append(&mut self, layer: usize, row: Vec<Rational>, bias: Rational, out: &[Rational]) {
        self.layers[layer].push(row, bias);
        self.layers[layer + 1].weight.iter_mut().zip(out).for_each(|(row, v)| row.push(v.clone()));
    }

    /// Beside neuron `unit`: its multiple by `factor`, which takes over `share` of the outgoing weights.
    pub fn split(&mut self, layer: usize, unit: usize, factor: &Rational, share: &Rational) {
        let row = self.layers[layer].weight[unit].iter().map(|w| w * factor).collect();
        let bias = &self.layers[layer].bias[unit] * factor;
        let column = self.column(layer, unit);
        let out: Vec<Rational> = column.iter().map(|v| &(v * share) / factor).collect();
        for (row, v) in self.layers[layer + 1].weight.iter_mut().zip(&column) {
            row[unit] = v - &(v * share);
        }
        self.append(layer, row, bias, &out);
    }

    /// Four neurons whose sum is zero: `relu(z) - relu(-z) = z`, taken once as it is and once scaled, with
    /// opposite signs.
    pub fn cancel(
        &mut self,
        layer: usize,
        row: &[Rational],
        bias: &Rational,
        out: &[Rational],
        factor: &Rational,
    ) {
        for (sign, size) in [(1, &Rational::ONE), (-1, &Rational::ONE), (1, factor), (-1, factor)] {
            let c = &Rational::from(sign) * size;
            let v =
                if *size == Rational::ONE { Rational::from(sign) } else { -&(&Rational::from(sign) / size) };
            let out: Vec<_> = out.iter().map(|x| x * &v).collect();
            self.append(layer, row.iter().map(|w| w * &c).collect(), bias * &c, &out);
        }
    }

    /// `relu(z) = z + relu(-z)` with `z` from the pair `relu(c z) / c - relu(-c z) / c`.
    pub fn turn(&mut self, layer: usize, unit: usize, factor: &Rational) {
        let (row, bias) = (self.layers[layer].weight[unit].clone(), self.layers[layer].bias[unit].clone());
        let column = self.column(layer, unit);
        self.layers[layer].weight[unit] = row.iter().map(|w| -w).collect();
        self.layers[layer].bias[unit] = -&bias;
        for sign in [1, -1] {
            let c = &Rational::from(sign) * factor;
            let out: Vec<_> = column.iter().map(|v| v / &c).collect();
            self.append(layer, row.iter().map(|w| w * &c).collect(), &bias * &c, &out);
        }
    }

    /// A neuron without inputs: what it gives is taken off the next biases.
    pub fn constant(&mut self, layer: usize, bias: Rational, out: &[Rational]) {
        let zeros = vec![Rational::ZERO; self.layers[layer].weight[0].len()];
        let given = bias.clone().max(Rational::ZERO);
        for (b, v) in self.layers[layer + 1].bias.iter_mut().zip(out) {
            *b -= &(v * &given);
        }
        self.append(layer, zeros, bias, out);
    }

    /// A layer of the identity behind a hidden layer, whose values are not negative.
    pub fn deepen(&mut self, layer: usize, relu: bool) {
        let width = self.layers[layer].width();
        let unit = |i: usize, j: usize| if i == j { Rational::ONE } else { Rational::ZERO };
        let weight = (0..width).map(|i| (0..width).map(|j| unit(i, j)).collect()).collect();
        self.layers.insert(layer + 1, Rows { weight, bias: vec![Rational::ZERO; width], relu });
    }

    /// The outputs as pairs `relu(z) - relu(-z)`.
    pub fn pair_outputs(&mut self) {
        let last = self.layers.len() - 1;
        let (width, zero) = (self.layers[last].width(), Rational::ZERO);
        let rows = &mut self.layers[last];
        for i in 0..width {
            let (row, bias) = (rows.weight[i].iter().map(|w| -w).collect(), -&rows.bias[i]);
            rows.push(row, bias);
        }
        rows.relu = true;
        let entry = |i: usize, j: usize| match j {
            j if j == i => Rational::ONE,
            j if j == i + width => Rational::from(-1),
            _ => zero.clone(),
        };
        let weight = (0..width).map(|i| (0..2 * width).map(|j| entry(i, j)).collect()).collect();
        self.layers.push(Rows { weight, bias: vec![zero.clone(); width], relu: false });
    }

    /// All numbers, for changing one: layer by layer, the weights row by row, then the biases.
    pub fn numbers(&mut self) -> Vec<&mut Rational> {
        self.layers.iter_mut().flat_map(Rows::numbers).collect()
    }
}
