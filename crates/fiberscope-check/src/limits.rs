//! What a certificate may make the checker do. Those who search for certificates ask here before they begin.
//!
//! Moves multiply numbers, so that a short certificate could make parameters long, and many. [`check_move`]
//! predicts before a move, and [`check_lengths`] sees after it, that memory stays in proportion to the
//! network.

use fiberscope_core::{
    Domain, ExactNetwork, Interval, Layer, LinearChange, Move, NeuronCopy, Rational, Share, Weights,
};

/// The longest parameter after a move, in bits.
const MAX_LENGTH: u64 = 1 << 16;

/// The bits that a parameter counts for at least.
const LEAST_LENGTH: u64 = 64;

/// The bits that all parameters of a network may have together after a move: so many, and so many for each
/// parameter that it was given with.
const MAX_BITS: (u64, u64) = (1 << 28, 1 << 12);

/// The most numbers that affine functions of the neurons of both networks may take together, and the most
/// bits of these numbers.
const MAX_NUMBERS: usize = 1 << 22;
const MAX_FORM_BITS: u64 = 1 << 34;

/// The most entries of the forms of a layer in a tree of boxes: rows times columns.
const MAX_ENTRIES: usize = 1 << 25;

fn most_bits(parameters: usize) -> u64 {
    MAX_BITS.0.saturating_add(MAX_BITS.1.saturating_mul(parameters as u64))
}

fn too_many(parameters: usize) -> String {
    format!(
        "the parameters would have more than {} bits together; rule: numbers stay short",
        most_bits(parameters)
    )
}

/// Whether the parameters of a network are short enough to go on with; `parameters` is how many the network
/// had when it was given. Every double is; moves may make numbers longer, as products do.
pub fn check_lengths(network: &ExactNetwork, parameters: usize) -> Result<(), String> {
    let (most, mut total) = (most_bits(parameters), 0u64);
    for (l, layer) in network.layers().iter().enumerate() {
        for length in numbers(layer).map(Rational::length) {
            total = total.saturating_add(length.max(LEAST_LENGTH));
            if length > MAX_LENGTH {
                return Err(format!(
                    "a parameter of layer {} has {length} bits, more than {MAX_LENGTH}; rule: numbers stay short",
                    l + 1
                ));
            }
            if total > most {
                return Err(too_many(parameters));
            }
        }
    }
    Ok(())
}

/// Whether a move can be tried: whether the products that it computes are few and short. With `L` the longest
/// number of the move and of the layers that it is about, moves that multiply two layers compute
/// `inputs * outputs` numbers of `2 L` bits (64 at least); factors lengthen their rows and columns.
pub fn check_move(each: &Move, network: &ExactNetwork, parameters: usize) -> Result<(), String> {
    let layers = network.layers();
    let Some(first) = layers.get(each.layer()) else { return Ok(()) };
    let second = layers.get(each.layer() + 1).unwrap_or(first);
    let (inputs, outputs) = (first.input_width() as u64, second.width() as u64);
    let product = |given: u64, terms: u64| {
        let longest = longest(numbers(first).chain(numbers(second))).max(given);
        let entries = inputs.saturating_mul(outputs).min(terms);
        entries.saturating_mul((2 * longest).max(LEAST_LENGTH))
    };
    if let Move::Mute { neurons, .. } = each
        && neurons.iter().flat_map(|neuron| &neuron.shares).any(|share| share_length(share) > MAX_LENGTH)
    {
        return Err(format!(
            "the numbers of a share have more than {MAX_LENGTH} bits together; rule: numbers stay short"
        ));
    }
    let bits = match each {
        Move::Fold { .. } => product(0, product_terms(first, second)),
        Move::Cancel { linear, .. } | Move::Refactor { linear, .. } | Move::Reorient { linear, .. } => {
            let inserted =
                linear.insert.iter().map(|neuron| filled(&neuron.weight) * filled(&neuron.out)).sum();
            product(longest_of(linear), product_terms(first, second).saturating_add(inserted))
        }
        Move::Unfold { weight, bias, next_weight, next_bias, .. } => {
            let given = longest(weight.iter().chain(next_weight).flatten().chain(bias).chain(next_bias));
            inputs.saturating_mul(next_weight.len() as u64).saturating_mul((2 * given).max(LEAST_LENGTH))
        }
        Move::Scale { factors, .. } => {
            let columns = second.weights().stored_in_columns();
            let around = |unit: usize| {
                let row = if unit < first.width() { first.weights().stored_in_row(unit) } else { 0 };
                (row + 1 + columns.get(unit).copied().unwrap_or(0)) as u64
            };
            let bits = |(unit, factor): (usize, &Rational)| factor.length().saturating_mul(around(unit));
            factors.iter().enumerate().map(bits).fold(0, u64::saturating_add)
        }
        Move::Split { copies, .. } => {
            let row = longest(numbers(first)).max(LEAST_LENGTH);
            // A copy has at most the entries of the longest row, and its own outgoing weights.
            let widest =
                (0..first.width()).map(|unit| first.weights().stored_in_row(unit)).max().unwrap_or(0) as u64;
            let bits = |copy: &NeuronCopy| {
                (copy.factor.length() + row).saturating_mul(widest + 1 + filled(&copy.out))
            };
            copies.iter().map(bits).fold(0, u64::saturating_add)
        }
        _ => 0,
    };
    if bits > most_bits(parameters) { Err(too_many(parameters)) } else { Ok(()) }
}

/// The lengths of all numbers of a share: a sum of that many fractions is not much longer.
pub fn share_length(share: &Share) -> u64 {
    let by = share.by.iter().map(|each| &each.weight);
    by.chain([&share.factor, &share.constant]).map(Rational::length).fold(0, u64::saturating_add)
}

/// The number of entries that are not zero.
fn filled(numbers: &[Rational]) -> u64 {
    numbers.iter().filter(|x| !x.is_zero()).count() as u64
}

/// How many products of two entries the product of two layers has.
fn product_terms(first: &Layer<Rational>, second: &Layer<Rational>) -> u64 {
    Weights::product_terms(second.weights(), first.weights()).map_or(u64::MAX, |terms| terms as u64)
}

fn numbers(layer: &Layer<Rational>) -> impl Iterator<Item = &Rational> {
    layer.weights().stored().iter().chain(layer.bias())
}

fn longest<'a>(numbers: impl Iterator<Item = &'a Rational>) -> u64 {
    numbers.map(Rational::length).max().unwrap_or(0)
}

fn longest_of(linear: &LinearChange) -> u64 {
    let neurons = linear.insert.iter();
    longest(neurons.flat_map(|neuron| neuron.weight.iter().chain(&neuron.out).chain([&neuron.bias])))
}

/// Whether a tree of regions may be given for these networks: whether the affine functions of their neurons
/// fit.
pub fn regions_fit(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> bool {
    let neurons = |network: &ExactNetwork| network.layers().iter().map(|layer| layer.width()).sum::<usize>();
    let fixed = |side: &Interval| side.lower.is_some() && side.lower == side.upper;
    let free = domain.sides(a.input_width()).iter().filter(|side| !fixed(side)).count();
    // A coefficient is a sum of products of one parameter per layer.
    let bits = |network: &ExactNetwork| {
        let length = network.layers().iter().map(|layer| longest(numbers(layer))).sum::<u64>();
        length.saturating_mul(neurons(network) as u64).saturating_mul(free as u64 + 1)
    };
    (neurons(a) + neurons(b)).saturating_mul(free + 1) <= MAX_NUMBERS
        && bits(a).saturating_add(bits(b)) <= MAX_FORM_BITS
}

/// Whether a tree of boxes may be given for networks of these widths: whether the forms of a layer fit, with
/// a column for the centre, one for each input and two for each hidden neuron, and whether the inputs'
/// coefficients of all neurons do.
pub fn difference_fits(widths: &[usize]) -> bool {
    let [inputs, hidden @ .., outputs] = widths else { return false };
    let neurons = hidden.iter().sum::<usize>();
    let columns = neurons.saturating_mul(2).saturating_add(inputs + 1);
    let widest = hidden.iter().max().unwrap_or(outputs).max(outputs);
    widest.saturating_mul(columns) <= MAX_ENTRIES
        && (neurons + outputs).saturating_mul(*inputs) <= MAX_ENTRIES
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Counterweight, Mute, NeuronCopy, Nudge};

    use super::*;
    use crate::testing::network;

    fn long() -> Rational {
        Rational::from_canonical(&format!("1{}", "0".repeat(15_000))).unwrap()
    }

    /// One neuron between many inputs and many outputs.
    fn hourglass(n: usize) -> ExactNetwork {
        let (row, columns) = (vec![1; n], vec![[1]; n]);
        let columns: Vec<&[i64]> = columns.iter().map(|column| &column[..]).collect();
        network(&[(&[&row], &[0]), (&columns, &vec![0; n])])
    }

    fn set_first_weight(network: &mut ExactNetwork, value: Rational) {
        Nudge { layer: 0, weight: vec![(0, 0, value)], bias: vec![] }.apply(network).unwrap();
    }

    #[test]
    fn moves_that_would_fill_memory_are_not_tried() {
        let (mut middle, wide) = (hourglass(1_000), hourglass(4_000));
        let parameters = wide.parameter_count();
        assert_eq!(check_lengths(&wide, parameters), Ok(()));
        let fold = Move::Fold { layer: 0, pairs: vec![] };
        assert_eq!(check_move(&fold, &middle, middle.parameter_count()), Ok(()));
        assert!(check_move(&fold, &wide, parameters).is_err());
        let scale = Move::Scale { layer: 0, factors: vec![long()] };
        assert_eq!(check_move(&scale, &middle, middle.parameter_count()), Ok(()));
        assert!(check_move(&scale, &wide, parameters).is_err());
        set_first_weight(&mut middle, long());
        assert!(check_move(&fold, &middle, middle.parameter_count()).is_err());
        let copy = NeuronCopy { of: 0, unit: 1, factor: Rational::ONE, out: vec![] };
        let split = Move::Split { layer: 0, copies: vec![copy; 10_000] };
        assert!(check_move(&split, &wide, parameters).is_err());
    }

    #[test]
    fn long_shares_are_not_tried() {
        let network = hourglass(2);
        let with = |weight: Rational| {
            let by =
                vec![Counterweight { unit: 0, weight: weight.clone() }, Counterweight { unit: 1, weight }];
            let share = Share { of: 0, factor: Rational::ONE, constant: Rational::ZERO, by };
            Move::Mute { layer: 0, neurons: vec![Mute { unit: 0, out: vec![], shares: vec![share] }] }
        };
        assert_eq!(check_move(&with(Rational::ONE), &network, 5), Ok(()));
        assert!(check_move(&with(long()), &network, 5).unwrap_err().contains("numbers of a share"));
    }

    #[test]
    fn differences_of_large_networks_do_not_fit() {
        assert!(difference_fits(&[5, 50, 50, 50, 50, 50, 50, 5]));
        assert!(difference_fits(&[784, 256, 256, 256, 256, 10]));
        assert!(difference_fits(&[3, 1]));
        assert!(!difference_fits(&[10, 5_000, 5_000, 1]));
        assert!(!difference_fits(&[100_000, 1_000, 1]));
        assert!(!difference_fits(&[usize::MAX / 4, 1]));
    }

    #[test]
    fn long_parameters_are_refused() {
        let mut small = hourglass(3);
        set_first_weight(&mut small, &long() * &long());
        assert!(check_lengths(&small, 9).unwrap_err().contains("a parameter of layer 1 has"));
        assert!(!regions_fit(&wide_and_long(), &small, &Domain::Space));
    }

    fn wide_and_long() -> ExactNetwork {
        let mut wide = hourglass(2_000);
        set_first_weight(&mut wide, &(&long() * &long()) * &long());
        wide
    }
}
