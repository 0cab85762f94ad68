//! Scales with which an exact network is made of doubles.
//!
//! Scaling neuron `i` of hidden layer `l` by `c_{l,i} > 0` multiplies its row and divides its outgoing
//! column. Powers of two do not matter, so look at the power of one odd prime `p` in every number: with
//! `x = v_p(c)` the parameters have no `p` in a denominator iff
//!
//! ```text
//! x_{l,i} >= x_{l-1,j} - v_p(W_l[i,j]),    x_{l,i} >= -v_p(b_l[i]),    x = 0 for inputs and outputs.
//! ```
//!
//! These are difference constraints on a layered graph. The pass from the first layer on gives the least
//! solution (every row over its odd [content], which is the canonical form's scaling), the pass from the last
//! one back the greatest; there is a solution iff the least one leaves the output layer without odd
//! denominators. Least and greatest of valuations are common multiples and divisors of fractions, so no
//! number is factored. Among the solutions those are tried that stay near the given scales, the least and the
//! greatest one, each followed by steps that take or give one neuron's common divisor where a parameter is
//! longer than 53 bits.
//!
//! [content]: fiberscope_core::content

use dashu_int::ops::{BitTest, Gcd, UnsignedAbs};
use dashu_int::{IBig, UBig};
use fiberscope_core::{Domain, ExactNetwork, Layer, Move, MoveChain, Rational};

use crate::orbit::lines::nonzero;

/// How often the layers are gone through to shorten numbers.
const SWEEPS: usize = 3;

/// In networks with more parameters numbers that are only too long are not moved through several layers.
const LARGE: usize = 1 << 16;

/// The scalings after which every parameter is a double (none if they all are); `None` if such scales were
/// not found.
///
/// There are none at all if [`is_dyadic_up_to_scales`] says so, or if a first-layer row over its content has
/// an entry of more than 53 bits.
pub fn scales_to_doubles(network: &ExactNetwork) -> Option<MoveChain> {
    if count_longer(network) == 0 {
        return Some(MoveChain::default());
    }
    // Numbers that are only too long are dealt with where they are.
    if is_dyadic(network) {
        let found = shortened(network.clone(), MoveChain::default());
        if found.is_some() || network.parameter_count() > LARGE {
            return found;
        }
    }
    let bounds = Bounds::new(network)?;
    [Choice::Near, Choice::Least, Choice::Greatest].into_iter().find_map(|choice| {
        let mut scaled = network.clone();
        let moves = bounds.choose(&mut scaled, choice);
        shortened(scaled, moves)
    })
}

/// The moves, and those that shorten what they leave too long, if that is possible.
fn shortened(mut network: ExactNetwork, mut moves: MoveChain) -> Option<MoveChain> {
    let mut longer = count_longer(&network);
    for _ in 0..SWEEPS {
        if longer == 0 {
            break;
        }
        moves = moves.compose(shorten(&mut network));
        let left = count_longer(&network);
        if left == longer {
            return None;
        }
        longer = left;
    }
    (longer == 0).then_some(moves)
}

fn is_dyadic(network: &ExactNetwork) -> bool {
    let dyadic = |layer: &Layer<Rational>| {
        layer.weights().stored().iter().chain(layer.bias()).all(Rational::is_dyadic)
    };
    network.layers().iter().all(dyadic)
}

/// Whether positive scales exist with which every parameter is an integer times a power of two, of any
/// length.
pub fn is_dyadic_up_to_scales(network: &ExactNetwork) -> bool {
    Bounds::new(network).is_some()
}

/// The number of parameters that are no doubles.
fn count_longer(network: &ExactNetwork) -> usize {
    let of = |layer: &Layer<Rational>| {
        layer.weights().stored().iter().chain(layer.bias()).filter(|x| !x.is_f64()).count()
    };
    network.layers().iter().map(of).sum()
}

/// Which of the solutions is taken.
#[derive(Clone, Copy)]
enum Choice {
    /// As near to 1 as the bounds allow.
    Near,
    Least,
    Greatest,
}

/// The greatest solution: `None` for a neuron that has no outgoing weights.
struct Bounds {
    greatest: Vec<Vec<Option<Odd>>>,
}

impl Bounds {
    /// `None` if there is no solution.
    fn new(network: &ExactNetwork) -> Option<Self> {
        let mut least = vec![Odd::one(); network.input_width()];
        for layer in network.hidden_layers() {
            least = (0..layer.width()).map(|unit| least_scale(layer, unit, &least)).collect();
        }
        let output = &network.layers()[network.depth() - 1];
        // The scale of an output is 1.
        if (0..output.width()).any(|unit| least_scale(output, unit, &least).numerator != UBig::ONE) {
            return None;
        }
        let mut greatest: Vec<Vec<Option<Odd>>> = Vec::new();
        let mut after: Vec<Option<Odd>> = vec![Some(Odd::one()); output.width()];
        for layer in network.layers()[1..].iter().rev() {
            let columns = layer.weights().columns();
            let of = |column: usize| {
                let mut found: Option<Odd> = None;
                for &(row, x) in &columns[column] {
                    let Some(bound) = &after[row] else { continue };
                    let here = Odd::of(x).times(bound);
                    found = Some(found.map_or_else(|| here.clone(), |found| found.common_divisor(&here)));
                }
                found
            };
            after = (0..layer.input_width()).map(of).collect();
            greatest.push(after.clone());
        }
        greatest.reverse();
        Some(Bounds { greatest })
    }

    /// Scales the layers, first to last.
    fn choose(&self, network: &mut ExactNetwork, choice: Choice) -> MoveChain {
        let mut moves = MoveChain::default();
        for (layer, bounds) in self.greatest.iter().enumerate() {
            let rows = &network.layers()[layer];
            let ones = vec![Odd::one(); rows.input_width()];
            let factor = |(unit, greatest): (usize, &Option<Odd>)| {
                let least = least_scale(rows, unit, &ones);
                let chosen = match (choice, greatest) {
                    (Choice::Least, _) => least,
                    (Choice::Near, Some(greatest)) => {
                        least.common_multiple(&greatest.common_divisor(&Odd::one()))
                    }
                    (Choice::Greatest, Some(greatest)) => greatest.clone(),
                    (_, None) => least.common_multiple(&Odd::one()),
                };
                chosen.near_one()
            };
            let factors: Vec<Rational> = bounds.iter().enumerate().map(factor).collect();
            moves = moves.compose(scale(network, layer, factors));
        }
        moves
    }
}

/// The least scale of a row without odd denominators, the columns divided by their scales; 1 for a row of
/// zeros.
fn least_scale(layer: &Layer<Rational>, unit: usize, columns: &[Odd]) -> Odd {
    let one = Odd::one();
    let mut common: Option<Odd> = None;
    for (place, x) in nonzero(layer, unit) {
        let here = Odd::of(x).over(columns.get(place).unwrap_or(&one));
        common = Some(common.map_or_else(|| here.clone(), |common| common.common_divisor(&here)));
    }
    common.map_or(one, |common| Odd::one().over(&common))
}

/// One round over the neurons: where a row or a column holds a number that is no double, the common divisor
/// of the one goes to the other if that leaves fewer of them.
fn shorten(network: &mut ExactNetwork) -> MoveChain {
    let mut moves = MoveChain::default();
    for layer in 0..network.hidden_depth() {
        let [rows, next] = [layer, layer + 1].map(|l| &network.layers()[l]);
        let columns = next.weights().columns();
        let factor = |unit: usize| -> Rational {
            let longer = |c: &Rational| {
                let Some(inverse) = c.recip() else { return usize::MAX };
                let row = nonzero(rows, unit).filter(|(_, x)| !(*x * c).is_f64()).count();
                row + columns[unit].iter().filter(|(_, x)| !(*x * &inverse).is_f64()).count()
            };
            let given = longer(&Rational::ONE);
            if given == 0 {
                return Rational::ONE;
            }
            let ones = vec![Odd::one(); rows.input_width()];
            let column = columns[unit].iter().map(|(_, x)| Odd::of(x));
            let of_row = least_scale(rows, unit, &ones).near_one();
            let of_column = column.reduce(|x, y| x.common_divisor(&y)).map(|odd| odd.near_one());
            let best = [Some(of_row), of_column].into_iter().flatten().min_by_key(|c| longer(c));
            best.filter(|c| longer(c) < given).unwrap_or(Rational::ONE)
        };
        let factors: Vec<Rational> = (0..rows.width()).map(factor).collect();
        moves = moves.compose(scale(network, layer, factors));
    }
    moves
}

/// Scales a layer, unless all factors are 1.
fn scale(network: &mut ExactNetwork, layer: usize, factors: Vec<Rational>) -> MoveChain {
    if factors.iter().all(|c| *c == Rational::ONE) {
        return MoveChain::default();
    }
    let each = Move::Scale { layer, factors };
    each.apply(network, &Domain::Space).expect("positive factors");
    MoveChain::from(vec![each])
}

/// A positive fraction of odd integers in lowest terms.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Odd {
    numerator: UBig,
    denominator: UBig,
}

impl Odd {
    fn one() -> Self {
        Odd { numerator: UBig::ONE, denominator: UBig::ONE }
    }

    /// The odd part of a number other than zero.
    fn of(x: &Rational) -> Self {
        let (n, d, _) = x.to_big_parts();
        Odd { numerator: n.unsigned_abs(), denominator: d }
    }

    fn times(&self, other: &Self) -> Self {
        let fraction = Rational::from_big_parts(
            IBig::from(&self.numerator * &other.numerator),
            &self.denominator * &other.denominator,
            0,
        );
        Odd::of(&fraction)
    }

    fn over(&self, other: &Self) -> Self {
        if other.numerator == UBig::ONE && other.denominator == UBig::ONE {
            return self.clone();
        }
        self.times(&Odd { numerator: other.denominator.clone(), denominator: other.numerator.clone() })
    }

    /// The least valuation of the two at every prime.
    fn common_divisor(&self, other: &Self) -> Self {
        Odd {
            numerator: (&self.numerator).gcd(&other.numerator),
            denominator: lcm(&self.denominator, &other.denominator),
        }
    }

    /// The greatest valuation of the two at every prime.
    fn common_multiple(&self, other: &Self) -> Self {
        Odd {
            numerator: lcm(&self.numerator, &other.numerator),
            denominator: (&self.denominator).gcd(&other.denominator),
        }
    }

    /// The fraction times a power of two, between 1/2 and 2.
    fn near_one(&self) -> Rational {
        let exponent = self.denominator.bit_len() as i64 - self.numerator.bit_len() as i64;
        Rational::from_big_parts(IBig::from(self.numerator.clone()), self.denominator.clone(), exponent)
    }
}

fn lcm(x: &UBig, y: &UBig) -> UBig {
    x / x.gcd(y) * y
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Matrix, Network};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn network(layers: &[&[&[&str]]]) -> ExactNetwork {
        let last = layers.len() - 1;
        let layer = |(l, rows): (usize, &&[&[&str]])| {
            let number = |x: &&str| x.parse::<Rational>().unwrap();
            let width = rows[0].len() - 1;
            let weight: Vec<Vec<_>> =
                rows.iter().map(|row| row[..width].iter().map(number).collect()).collect();
            let bias = rows.iter().map(|row| number(&row[width])).collect();
            let activation = if l == last { Activation::Identity } else { Activation::Relu };
            Layer::new(Matrix::from_rows(&weight).unwrap(), bias, activation)
        };
        Network::new(layers.iter().enumerate().map(layer).collect()).unwrap()
    }

    fn check(network: &ExactNetwork) {
        let moves = scales_to_doubles(network).expect("scales exist");
        let mut scaled = network.clone();
        moves.apply(&mut scaled, &Domain::Space).unwrap();
        assert_eq!(count_longer(&scaled), 0, "{scaled:?}");
    }

    #[test]
    fn denominators_go_through_the_layers() {
        // A third in the first layer, taken up by the column behind it.
        check(&network(&[&[&["1/3", "2"]], &[&["3", "1"]]]));
        // A third that only a factor of the last layer takes up, past a whole layer.
        check(&network(&[&[&["1/3", "2"]], &[&["1", "0"], &["5", "0"]], &[&["3", "9", "1"]]]));
        // A denominator in a column that the row pays.
        check(&network(&[&[&["15", "3"]], &[&["7/3", "1"]]]));
        check(&network(&[&[&["15", "3"]], &[&["7/3", "0"]], &[&["1", "1/2"]]]));
    }

    #[test]
    fn there_are_none_where_the_least_scales_are_none() {
        for (layers, dyadic) in [
            (network(&[&[&["1/3", "2"]], &[&["1", "1"]]]), false),
            (network(&[&[&["1", "2"]], &[&["1", "1/3"]]]), false),
            // The bias of the second layer asks for 3, the last layer has none.
            (network(&[&[&["1", "0"]], &[&["1", "1/3"]], &[&["1", "0"]]]), false),
            (network(&[&[&["9007199254740993", "1"]], &[&["1", "1"]]]), true),
        ] {
            assert_eq!(is_dyadic_up_to_scales(&layers), dyadic);
            assert_eq!(scales_to_doubles(&layers), None);
        }
    }

    #[test]
    fn long_numbers_share_their_common_divisor() {
        // 3 (2^53 - 1) and 5 of the row are too long only as long as the factor 3 is in the row.
        let long = ((1i64 << 53) - 1) * 3;
        check(&network(&[&[&[&long.to_string(), "15"]], &[&["7", "1"]]]));
    }

    #[test]
    fn doubles_scaled_by_any_fractions_become_doubles_again() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for round in 0..100 {
            let widths: &[usize] = [&[2, 3, 1][..], &[2, 3, 4, 2], &[1, 2, 2, 3, 1]][round % 3];
            let last = widths.len() - 2;
            let layers = widths.windows(2).enumerate().map(|(l, ends)| {
                let mut number = || Rational::dyadic(rng.random_range(-4096..4096), -6);
                let weight = Matrix::from_fn(ends[1], ends[0], |_, _| number());
                let bias = (0..ends[1]).map(|_| number()).collect();
                Layer::new(weight, bias, if l == last { Activation::Identity } else { Activation::Relu })
            });
            let mut network = Network::new(layers.collect()).unwrap();
            for layer in 0..network.hidden_depth() {
                let factors = (0..widths[layer + 1])
                    .map(|_| {
                        &Rational::from(rng.random_range(1..100)) / &Rational::from(rng.random_range(1..100))
                    })
                    .collect();
                Move::Scale { layer, factors }.apply(&mut network, &Domain::Space).unwrap();
            }
            check(&network);
        }
    }
}
