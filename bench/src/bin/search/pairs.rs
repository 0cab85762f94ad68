//! Pairs of networks that are equal on `[-1, 1]^d` and compute their function in different ways.
//!
//! Parameters are multiples of `2^-8` and the values that are carried through a layer are shifted by a power
//! of two that keeps them positive on the box, so that the identities hold exactly.

use fiberscope::{Activation, Layer, Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// An affine function of the neurons of a layer.
#[derive(Clone)]
struct Row {
    weight: Vec<f64>,
    bias: f64,
}

impl Row {
    fn random(rng: &mut ChaCha8Rng, inputs: usize) -> Row {
        let mut number = |size: f64| (256.0 * size * (2.0 * rng.random::<f64>() - 1.0)).round() / 256.0;
        let size = (6.0 / inputs as f64).sqrt();
        Row { weight: (0..inputs).map(|_| number(size)).collect(), bias: number(0.5) }
    }

    fn unit(inputs: usize, j: usize) -> Row {
        Row { weight: (0..inputs).map(|i| f64::from(u8::from(i == j))).collect(), bias: 0.0 }
    }

    fn plus(&self, factor: f64, other: &Row) -> Row {
        let weight = self.weight.iter().zip(&other.weight).map(|(x, y)| x + factor * y).collect();
        Row { weight, bias: self.bias + factor * other.bias }
    }

    fn shifted(&self, amount: f64) -> Row {
        Row { bias: self.bias + amount, ..self.clone() }
    }

    /// The function behind functions of the layer before.
    fn behind(&self, before: &[Row]) -> Row {
        let zero = Row { weight: vec![0.0; before[0].weight.len()], bias: self.bias };
        self.weight.iter().zip(before).fold(zero, |sum, (w, row)| sum.plus(*w, row))
    }
}

/// Layers so far, and values as functions of the last one.
struct Builder {
    layers: Vec<Layer>,
    values: Vec<Row>,
}

impl Builder {
    fn new(inputs: usize) -> Self {
        Builder { layers: Vec::new(), values: (0..inputs).map(|j| Row::unit(inputs, j)).collect() }
    }

    fn push(&mut self, rows: &[Row], activation: Activation) {
        let rows: Vec<Row> = rows.iter().map(|row| row.behind(&self.values)).collect();
        let weight = Matrix::from_fn(rows.len(), rows[0].weight.len(), |i, j| rows[i].weight[j]);
        self.layers.push(Layer::new(weight, rows.iter().map(|row| row.bias).collect(), activation));
        self.values = (0..rows.len()).map(|j| Row::unit(rows.len(), j)).collect();
    }

    /// A layer of relu of functions of the values.
    fn relu(&mut self, rows: &[Row]) {
        self.push(rows, Activation::Relu);
    }

    fn output(mut self, row: &Row) -> Network {
        self.push(std::slice::from_ref(row), Activation::Identity);
        Network::new(self.layers).expect("the widths chain")
    }
}

/// More than any value that is carried through a layer.
const SHIFT: f64 = 256.0;

/// The largest of `m` affine functions: one after another, and as a tournament.
pub fn maxima(inputs: usize, m: usize) -> [Network; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let functions: Vec<Row> = (0..m).map(|_| Row::random(&mut rng, inputs)).collect();
    [one_after_another(inputs, &functions), tournament(inputs, &functions)]
}

fn one_after_another(inputs: usize, functions: &[Row]) -> Network {
    let mut builder = Builder::new(inputs);
    // The values are the inputs and the largest function so far.
    builder.values.push(functions[0].clone());
    for function in &functions[1..] {
        let n = inputs + 1;
        let largest = Row::unit(n, inputs);
        let wider = Row { weight: [&function.weight[..], &[0.0]].concat(), bias: function.bias };
        let mut rows: Vec<Row> = (0..inputs).map(|j| Row::unit(n, j).shifted(1.0)).collect();
        rows.extend([largest.shifted(SHIFT), wider.plus(-1.0, &largest)]);
        builder.relu(&rows);
        let unit = |j: usize| Row::unit(inputs + 2, j);
        builder.values = (0..inputs).map(|j| unit(j).shifted(-1.0)).collect();
        builder.values.push(unit(inputs).shifted(-SHIFT).plus(1.0, &unit(inputs + 1)));
    }
    builder.output(&Row::unit(inputs + 1, inputs))
}

fn tournament(inputs: usize, functions: &[Row]) -> Network {
    let mut builder = Builder::new(inputs);
    builder.values = functions.to_vec();
    while builder.values.len() > 1 {
        let n = builder.values.len();
        let unit = |j: usize| Row::unit(n, j);
        let rows: Vec<Row> = (0..n)
            .map(|j| if j % 2 == 0 { unit(j).shifted(SHIFT) } else { unit(j).plus(-1.0, &unit(j - 1)) })
            .collect();
        builder.relu(&rows);
        let winner = |j: usize| {
            let first = unit(j).shifted(-SHIFT);
            if j + 1 < n { first.plus(1.0, &unit(j + 1)) } else { first }
        };
        builder.values = (0..n).step_by(2).map(winner).collect();
    }
    builder.output(&Row::unit(1, 0))
}

/// A network whose first layer holds `relu(z)`, and one that holds `relu(max(z, u))` with `u < 0` on the box
/// for some neurons.
pub fn dominated(widths: &[usize], changed: usize) -> [Network; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let layers = random_layers(&mut rng, widths);
    let inputs = widths[0];
    let pieces: Vec<Row> = (0..changed)
        .map(|_| {
            let row = Row::random(&mut rng, inputs);
            let reach: f64 = row.weight.iter().map(|w| w.abs()).sum();
            Row { bias: -reach - 0.125, ..row }
        })
        .collect();
    let mut builder = Builder::new(inputs);
    let first: Vec<Row> = (0..widths[1])
        .map(|j| if j < changed { layers[0][j].shifted(SHIFT) } else { layers[0][j].clone() })
        .chain((0..changed).map(|j| pieces[j].plus(-1.0, &layers[0][j])))
        .collect();
    builder.relu(&first);
    let unit = |j: usize| Row::unit(first.len(), j);
    let second: Vec<Row> = (0..widths[1])
        .map(|j| if j < changed { unit(j).shifted(-SHIFT).plus(1.0, &unit(widths[1] + j)) } else { unit(j) })
        .collect();
    builder.relu(&second);
    [plain(inputs, &layers), finish(builder, &layers[1..])]
}

/// A network with pairs of neurons of a hidden layer that have equal outgoing weights, and one that holds the
/// larger and the smaller of the two: `relu(y) + relu(z) = relu(max(y, z)) + relu(min(y, z))`.
pub fn sorted(widths: &[usize], layer: usize, pairs: usize) -> [Network; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut layers = random_layers(&mut rng, widths);
    for row in &mut layers[layer + 1] {
        (0..pairs).for_each(|k| row.weight[2 * k + 1] = row.weight[2 * k]);
    }
    let mut builder = Builder::new(widths[0]);
    layers[..layer].iter().for_each(|rows| builder.relu(rows));
    let rows: Vec<Row> = layers[layer]
        .iter()
        .enumerate()
        .map(|(j, row)| if j < 2 * pairs { row.shifted(SHIFT) } else { row.clone() })
        .chain((0..pairs).map(|k| layers[layer][2 * k + 1].plus(-1.0, &layers[layer][2 * k])))
        .collect();
    builder.relu(&rows);
    let (n, width) = (rows.len(), widths[layer + 1]);
    let unit = |j: usize| Row::unit(n, j);
    let next: Vec<Row> = (0..width)
        .map(|j| match j {
            j if j >= 2 * pairs => unit(j),
            j => {
                let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
                unit(j).shifted(-SHIFT).plus(sign, &unit(width + j / 2))
            }
        })
        .collect();
    builder.relu(&next);
    [plain(widths[0], &layers), finish(builder, &layers[layer + 1..])]
}

/// Both networks side by side in one, whose regions are the joint regions of the two.
pub fn stacked([a, b]: &[Network; 2]) -> Network {
    let depth = a.depth().max(b.depth());
    let (a, b) = (deepened(a, depth), deepened(b, depth));
    let layers = a.iter().zip(&b).enumerate().map(|(l, (a, b))| {
        let (rows, cols) = (a.weight().rows(), a.weight().cols());
        let entry = |i: usize, j: usize| match (i < rows, l == 0) {
            (true, true) => a.weight()[(i, j)],
            (false, true) => b.weight()[(i - rows, j)],
            (true, false) if j < cols => a.weight()[(i, j)],
            (false, false) if j >= cols => b.weight()[(i - rows, j - cols)],
            _ => 0.0,
        };
        let width = if l == 0 { cols } else { cols + b.weight().cols() };
        let weight = Matrix::from_fn(rows + b.weight().rows(), width, entry);
        Layer::new(weight, [a.bias(), b.bias()].concat(), a.activation())
    });
    Network::new(layers.collect()).expect("the widths chain")
}

/// The layers, with layers behind the last hidden one that pass everything on.
fn deepened(network: &Network, depth: usize) -> Vec<Layer> {
    let mut layers = network.layers().to_vec();
    while layers.len() < depth {
        let output = layers.pop().expect("a network has a layer");
        let n = output.input_width();
        let unit = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
        let last = layers.len() + 2 == depth;
        layers.push(Layer::new(unit, vec![if last { 1.0 } else { 0.0 }; n], Activation::Relu));
        // Shifted by 1 in the layer before, so that what is passed on has a sign.
        let bias = output
            .bias()
            .iter()
            .enumerate()
            .map(|(i, b)| b - if last { output.weight().row(i).iter().sum::<f64>() } else { 0.0 });
        layers.push(Layer::new(output.weight().clone(), bias.collect(), Activation::Identity));
    }
    layers
}

fn random_layers(rng: &mut ChaCha8Rng, widths: &[usize]) -> Vec<Vec<Row>> {
    widths.windows(2).map(|pair| (0..pair[1]).map(|_| Row::random(rng, pair[0])).collect()).collect()
}

fn plain(inputs: usize, layers: &[Vec<Row>]) -> Network {
    finish(Builder::new(inputs), layers)
}

fn finish(mut builder: Builder, layers: &[Vec<Row>]) -> Network {
    let (output, hidden) = layers.split_last().expect("a network has a layer");
    hidden.iter().for_each(|rows| builder.relu(rows));
    builder.output(&output[0])
}
