//! What a certificate may make the checker do. Those who search for certificates ask here before they begin.

use fiberscope_core::{Domain, ExactNetwork, Interval};

/// The longest parameter after a move, in bits.
const MAX_LENGTH: u64 = 1 << 16;

/// The bits that all parameters of a network may have together after a move: so many, and so many for each parameter that it was given
/// with.
const MAX_BITS: (u64, u64) = (1 << 26, 1 << 12);

/// The most numbers that affine functions of the neurons of both networks may take together.
const MAX_NUMBERS: usize = 1 << 22;

/// Whether the parameters of a network are short enough to go on with; `parameters` is how many the network had when it was given. Every
/// double is; moves may make numbers longer, as products do.
pub fn check_lengths(network: &ExactNetwork, parameters: usize) -> Result<(), String> {
    let most = MAX_BITS.0.saturating_add(MAX_BITS.1.saturating_mul(parameters as u64));
    let mut total = 0u64;
    for (l, layer) in network.layers().iter().enumerate() {
        for number in layer.weight().entries().iter().chain(layer.bias()) {
            let length = number.length();
            total = total.saturating_add(length);
            if length > MAX_LENGTH || total > most {
                let what = if length > MAX_LENGTH {
                    format!("a parameter of layer {} has {length} bits; at most {MAX_LENGTH} are allowed", l + 1)
                } else {
                    format!("the parameters have more than {most} bits together")
                };
                return Err(format!("{what}; rule: numbers stay short"));
            }
        }
    }
    Ok(())
}

/// Whether a tree of regions may be given for these networks: whether the affine functions of their neurons fit.
pub fn regions_fit(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> bool {
    let neurons = |network: &ExactNetwork| network.layers().iter().map(|layer| layer.width()).sum::<usize>();
    let fixed = |side: &Interval| side.lower.is_some() && side.lower == side.upper;
    let free = domain.sides(a.input_width()).iter().filter(|side| !fixed(side)).count();
    (neurons(a) + neurons(b)).saturating_mul(free + 1) <= MAX_NUMBERS
}
