//! What happens between two networks when their parameters are interpolated.
//!
//! For targets `y` (given, or the average of both networks' outputs) the loss of parameters `theta` on
//! points `x` is the mean over the points of `norm(f_theta(x) - y(x))^2`. The barrier between `a` and
//! `b` is
//!
//! ```text
//! max over t of   loss((1 - t) a + t b) - (1 - t) loss(a) - t loss(b),
//! ```
//!
//! over equally spaced `t` from 0 to 1: never negative, because the ends give 0. Computed in doubles.

use fiberscope_core::{InputError, Layer, Matrix, Network, SparseMatrix, Weights, side_by_side};

use super::{AlignError, same_shape};

/// The losses along the segment between two networks' parameters, and the barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Barrier {
    /// The losses at `t = 0, 1/n, ..., 1`.
    pub losses: Vec<f64>,
    /// The barrier.
    pub height: f64,
    /// The `t` at which it is reached (the first of these).
    pub at: f64,
}

/// The barrier between two networks of the same shape on the given points (one per row), with
/// `intervals + 1` values of `t`. Targets, if given, have one row per point.
///
/// ```
/// use fiberscope::align::interpolation_barrier;
/// use fiberscope::{Matrix, Network};
///
/// // The same function with its neurons in another order: halfway between the parameters it is constant.
/// let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// let b = Network::from_rows(&[(&[&[-1.0], &[1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// let points = Matrix::from_rows(&[[-1.0], [1.0]]).unwrap();
/// let barrier = interpolation_barrier(&a, &b, &points, None, 2).unwrap();
/// assert_eq!((barrier.height, barrier.at), (1.0, 0.5));
/// ```
pub fn interpolation_barrier(
    a: &Network,
    b: &Network,
    points: &Matrix,
    targets: Option<&Matrix>,
    intervals: usize,
) -> Result<Barrier, AlignError> {
    same_shape(a, b)?;
    let (at_a, at_b) = (outputs(a, points)?, outputs(b, points)?);
    let average = Matrix::from_fn(at_a.rows(), at_a.cols(), |i, j| (at_a[(i, j)] + at_b[(i, j)]) / 2.0);
    let targets = targets.unwrap_or(&average);
    if (targets.rows(), targets.cols()) != (points.rows(), a.output_width()) {
        return Err(AlignError::Targets {
            expected: [points.rows(), a.output_width()],
            found: [targets.rows(), targets.cols()],
        });
    }
    let intervals = intervals.max(1);
    let (loss_a, loss_b) = (loss(&at_a, targets), loss(&at_b, targets));
    let mut losses = vec![loss_a];
    for step in 1..intervals {
        let between = interpolate(a, b, step as f64 / intervals as f64)?;
        losses.push(loss(&outputs(&between, points)?, targets));
    }
    losses.push(loss_b);
    let (mut height, mut at) = (0.0, 0.0);
    for (step, &loss) in losses.iter().enumerate() {
        let t = step as f64 / intervals as f64;
        let above = loss - (1.0 - t) * loss_a - t * loss_b;
        if above > height {
            (height, at) = (above, t);
        }
    }
    Ok(Barrier { losses, height, at })
}

fn outputs(network: &Network, points: &Matrix) -> Result<Matrix, AlignError> {
    network.evaluate_batch(points).map_err(|error: InputError| AlignError::Points(error.to_string()))
}

fn loss(outputs: &Matrix, targets: &Matrix) -> f64 {
    let squares = outputs.entries().iter().zip(targets.entries()).map(|(x, y)| (x - y) * (x - y));
    squares.sum::<f64>() / outputs.rows().max(1) as f64
}

/// The network with the parameters `(1 - t) a + t b`, in doubles; numbers that are equal stay what they are.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::align::interpolate;
///
/// let network = |w: f64| Network::from_rows(&[(&[&[w]], &[1.0])]).unwrap();
/// assert_eq!(interpolate(&network(1.0), &network(3.0), 0.25).unwrap(), network(1.5));
/// ```
pub fn interpolate(a: &Network, b: &Network, t: f64) -> Result<Network, AlignError> {
    same_shape(a, b)?;
    let mix = |x: f64, y: f64| if x == y { x } else { (1.0 - t) * x + t * y };
    let layer = |(x, y): (&Layer, &Layer)| {
        let bias = x.bias().iter().zip(y.bias()).map(|(&x, &y)| mix(x, y)).collect();
        let weights = match (x.weights(), y.weights()) {
            (Weights::Dense(x), Weights::Dense(y)) => {
                Weights::Dense(Matrix::from_fn(x.rows(), x.cols(), |i, j| mix(x[(i, j)], y[(i, j)])))
            }
            (x, y) => {
                let mut mixed = SparseMatrix::new(x.cols());
                for (x, y) in x.iter_rows().zip(y.iter_rows()) {
                    let number = |entry: Option<&f64>| entry.copied().unwrap_or(0.0);
                    mixed.push_row(side_by_side(x, y).map(|(j, x, y)| (j, mix(number(x), number(y)))));
                }
                Weights::Sparse(mixed)
            }
        };
        Layer::new(weights, bias, x.activation())
    };
    let layers = a.layers().iter().zip(b.layers()).map(layer).collect();
    Network::new(layers).map_err(|error| AlignError::Points(error.to_string()))
}
