//! Is the class of a network certain on a box?
//!
//! With `i` the largest output at a point, the class is certain on a box if `f_i(x) > f_j(x)` for every other
//! output `j` and every `x` of the box; of a single output it is the sign. The network with the outputs
//! `f_i - f_j` behind it, a layer of ones and minus ones, has certified ranges ([`ranges`]): the class is certain if
//! they are positive, and it is not if an exactly evaluated point has one that is not.

use fiberscope_core::{Activation, Domain, Layer, Matrix, Network, Rational};

use super::{DifferenceError, DifferenceOptions, Ended, Point, ranges};

/// The search begins anew with so many times as many boxes as long as the question is open.
const MORE: usize = 8;
/// Ranges may be looked at more closely by this factor than their own question asks for.
const FINE: f64 = 1.0 / 64.0;

/// What is known of the class on a box.
#[derive(Clone, Debug, PartialEq)]
pub enum Certainty {
    /// It is the same everywhere: its output exceeds every other one by at least this much, which is positive.
    Certain(Rational),
    /// There is an input where another output is at least as large: the input, the exact outputs there, and
    /// which one.
    Broken {
        /// The input.
        x: Vec<Rational>,
        /// The outputs there.
        outputs: Vec<Rational>,
        /// The other class, from 0.
        class: usize,
    },
    /// Neither is known.
    Undecided,
}

/// The class at a point, and whether it is certain around it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Class {
    /// The first of the largest outputs at the point, from 0; of a single output whether it is positive.
    pub class: usize,
    /// Whether it is the class on the whole box.
    pub certainty: Certainty,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// What ended the search.
    pub ended: Ended,
}

/// The class at a point of a bounded box, and whether it is certain on the box.
///
/// ```
/// use fiberscope::difference::{Certainty, DifferenceOptions, class};
/// use fiberscope::{Domain, Network};
///
/// let network = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0])]).unwrap();
/// let on = |lo: f64, hi: f64| {
///     let ball = Domain::from_bounds(&[(lo, hi)]).unwrap();
///     class(&network, &[1.0], &ball, &DifferenceOptions::new()).unwrap().certainty
/// };
/// assert!(matches!(on(0.5, 1.5), Certainty::Certain(_)));
/// assert!(matches!(on(-0.5, 2.5), Certainty::Broken { class: 1, .. }));
/// ```
pub fn class(
    network: &Network,
    point: &[f64],
    domain: &Domain,
    options: &DifferenceOptions,
) -> Result<Class, DifferenceError> {
    let wrong = |input: usize| DifferenceError::Points { point: 1, input: input + 1 };
    let exact = point.iter().enumerate().map(|(j, &x)| Rational::from_f64(x).ok_or_else(|| wrong(j)));
    let exact = exact.collect::<Result<Vec<_>, _>>()?;
    let outputs = network.evaluate_exact(&exact).map_err(|_| wrong(point.len()))?;
    let class = first_largest(&outputs);
    if let Some(other) = overtaking(&outputs, class) {
        // Two outputs are the largest at the point itself.
        let certainty = Certainty::Broken { x: exact, outputs, class: other };
        return Ok(Class { class, certainty, cells: 0, ended: Ended::Reached });
    }
    let margins = with_margins(network, class)?;
    let mut options = options.clone().points(vec![point.to_vec()]);
    options.gap *= FINE;
    let (mut cells, mut boxes) = (0, 1);
    loop {
        // Few boxes decide most questions; ranges that are known well enough for that are not looked at further.
        let found = ranges(&margins, domain, &options.clone().boxes(boxes))?;
        cells += found.cells;
        let broken = found.points.into_iter().find_map(|Point { x, .. }| {
            let outputs = network.evaluate_exact(&x).ok()?;
            let other = overtaking(&outputs, class)?;
            Some(Certainty::Broken { x, outputs, class: other })
        });
        let least = found.outputs.and_then(|all| all.into_iter().map(|range| range.lower).min());
        let certain = least.filter(Rational::is_positive).map(Certainty::Certain);
        let decided = broken.or(certain);
        let ended = found.ended;
        if decided.is_some() || ended != Ended::Boxes {
            return Ok(Class { class, certainty: decided.unwrap_or(Certainty::Undecided), cells, ended });
        }
        boxes = boxes.saturating_mul(MORE);
    }
}

/// The first of the largest outputs; of a single one, whether it is positive.
fn first_largest(outputs: &[Rational]) -> usize {
    match outputs {
        [only] => usize::from(only.is_positive()),
        _ => (0..outputs.len()).fold(0, |best, k| if outputs[k] > outputs[best] { k } else { best }),
    }
}

/// Another class whose output is at least as large, if there is one.
fn overtaking(outputs: &[Rational], class: usize) -> Option<usize> {
    match outputs {
        [only] => {
            let kept = if class == 1 { only.is_positive() } else { only.is_negative() };
            (!kept).then_some(1 - class)
        }
        _ => {
            let others = (0..outputs.len()).filter(|&k| k != class && outputs[k] >= outputs[class]);
            others.max_by(|&j, &k| outputs[j].cmp(&outputs[k]))
        }
    }
}

/// The network with the differences of its outputs behind it: `f_i - f_j` for `j != i`; of a single output the
/// output itself, or its negative.
fn with_margins(network: &Network, class: usize) -> Result<Network, DifferenceError> {
    let outputs = network.output_width();
    let weight = match outputs {
        1 => Matrix::from_fn(1, 1, |_, _| if class == 1 { 1.0 } else { -1.0 }),
        _ => Matrix::from_fn(outputs - 1, outputs, |row, column| {
            let other = if row < class { row } else { row + 1 };
            match column {
                _ if column == class => 1.0,
                _ if column == other => -1.0,
                _ => 0.0,
            }
        }),
    };
    let rows = weight.rows();
    let mut layers = network.layers().to_vec();
    layers.push(Layer::new(weight, vec![0.0; rows], Activation::Identity));
    Network::new(layers).map_err(|error| DifferenceError::Shape(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(network: &Network, point: &[f64], radius: f64) -> Class {
        let sides: Vec<(f64, f64)> = point.iter().map(|x| (x - radius, x + radius)).collect();
        class(network, point, &Domain::from_bounds(&sides).unwrap(), &DifferenceOptions::new()).unwrap()
    }

    /// Three outputs of two inputs that change places on known lines: `x`, `y` and `relu(x) + relu(y) - 1`.
    fn three() -> Network {
        let hidden: &[&[f64]] = &[&[1.0, 0.0], &[-1.0, 0.0], &[0.0, 1.0], &[0.0, -1.0]];
        let last: &[&[f64]] = &[&[1.0, -1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, -1.0], &[1.0, 0.0, 1.0, 0.0]];
        Network::from_rows(&[(hidden, &[0.0; 4]), (last, &[0.0, 0.0, -1.0])]).unwrap()
    }

    #[test]
    fn the_class_is_certain_just_as_far_as_it_is() {
        let network = three();
        // At (2, -1) the outputs are 2, -1 and 1. On the ball of radius r < 2 the first exceeds the second by at
        // least 3 - 2 r and the third by at least 1 - relu(r - 1).
        let far = on(&network, &[2.0, -1.0], 1.4);
        assert_eq!(far.class, 0);
        let Certainty::Certain(margin) = far.certainty else { panic!("{far:?}") };
        // The least lead on the ball: x - y at (0.6, 0.4) is 0.2.
        assert!(margin.to_f64() > 0.0 && margin.to_f64() <= 0.2, "{margin}");
        let Certainty::Broken { outputs, class, .. } = on(&network, &[2.0, -1.0], 1.6).certainty else {
            panic!("not broken")
        };
        assert_eq!(class, 1);
        assert!(outputs[1] >= outputs[0]);
    }

    #[test]
    fn a_single_output_has_its_sign() {
        let rows: &[&[f64]] = &[&[1.0]];
        let network = Network::from_rows(&[(rows, &[0.0])]).unwrap();
        assert!(matches!(
            on(&network, &[-1.0], 0.9),
            Class { class: 0, certainty: Certainty::Certain(_), .. }
        ));
        assert!(matches!(on(&network, &[1.0], 1.1).certainty, Certainty::Broken { class: 0, .. }));
        // A constant is decided at once, though its range has no width that a search could aim at.
        let rows: &[&[f64]] = &[&[0.0]];
        let constant = Network::from_rows(&[(rows, &[3.0])]).unwrap();
        assert!(matches!(
            on(&constant, &[0.0], 1.0),
            Class { certainty: Certainty::Certain(_), cells: 1, .. }
        ));
        // On the border itself.
        assert!(matches!(on(&network, &[0.0], 0.1).certainty, Certainty::Broken { .. }));
    }
}
