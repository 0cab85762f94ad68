//! How many parameters the function determines near the given ones.
//!
//! Lemma (`docs/formats/certificate-v1.md`, with its proof). Let all hidden layers be ReLU layers, `P` the number
//! of parameters and `H` that of hidden neurons. At a point of the interior of the domain where no pre-activation
//! is zero, the outputs are polynomials of the parameters near the given ones, and as functions of the point they
//! are affine near it. So the differentials of the outputs at `n_0 + 1` points near it span the same space as
//! those of `F_s(v)`, the outputs with the neurons' pattern `s` fixed, at the unit vectors `v` of homogeneous
//! coordinates. If `r` of all these differentials are independent, the parameters with the same function lie,
//! near the given ones, in a manifold of dimension `P - r`. Positive scalings of the hidden neurons are such
//! parameters and form a manifold of dimension `H`. If `r = P - H`, the two are the same near the given parameters.
//!
//! Independent differentials are found layer by layer. Where two patterns differ in neuron `i` of layer `l` only,
//! `F_s - F_s' = B_i z_i`; at a `v` with `z_i(v) = 0` its differential is `B_i dz_i(v)`, which for the row
//! `(w_i, b_i)` is `B_i (h_{l-1}(v), t)` and for other neurons of this layer and all layers behind it zero. The
//! ranks of these rows, neuron by neuron, and the rank of `(h_{L-1}, t)` once for each output, add up to a lower
//! bound of `r`. With `extra` points the rank is that of all rows together with those of the points; they are eliminated
//! layer by layer (`open.rs`).

mod echelon;
mod open;
mod residues;

use fiberscope_core::{
    Activation, Certificate, Domain, ExactEvaluator, FoldPair, Interval, Layer, Network, Neuron,
    RankEvidence, Rational, Sign,
};

pub use echelon::Echelon;
pub use open::{Open, Unlisted};
pub use residues::{Pattern, ResidueNetwork};

use crate::{End, Stop, go_on, refuse};

/// The most parameters of a network.
const MOST_PARAMETERS: usize = 1 << 24;
/// The most numbers that the activations of a layer may take as affine functions of the inputs.
const MOST_NUMBERS: usize = 1 << 25;

/// Whether the evidence fits: what a search asks before it begins.
///
/// ```
/// use fiberscope_check::rank::fits;
/// use fiberscope_core::Network;
///
/// let network = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 1.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// assert!(fits(&network).is_ok());
/// ```
pub fn fits(network: &Network) -> Result<(), String> {
    let parameters = network.parameter_count();
    if parameters > MOST_PARAMETERS {
        return Err(format!("the network has {parameters} parameters; expected at most {MOST_PARAMETERS}"));
    }
    let widest = network.widths().iter().max().map_or(0, |width| width + 1);
    if widest.saturating_mul(network.input_width() + 1) > MOST_NUMBERS {
        return Err(format!("the widest layer times the inputs is more than {MOST_NUMBERS}"));
    }
    Ok(())
}

/// Checks evidence about a network on a domain.
pub(crate) fn verify(
    certificate: &Certificate,
    evidence: &RankEvidence,
    network: &Network,
    stop: Stop,
) -> Result<(), End> {
    if certificate.a != certificate.b {
        return refuse("networks", "this kind of evidence is about one network; A and B must be the same");
    }
    if let Some(l) =
        (0..network.hidden_depth()).find(|&l| network.layers()[l].activation() != Activation::Relu)
    {
        return refuse("network A", format!("layer {} is no ReLU layer; all hidden layers must be", l + 1));
    }
    fits(network).or_else(|rule| refuse("network A", rule))?;
    let patterns = patterns(network, &certificate.domain, &evidence.points, stop)?;
    verify_folds(network, evidence, &patterns)?;
    let used = evidence.outputs.iter().chain(&evidence.extra);
    if let Some(point) = used.into_iter().find(|&&point| point >= patterns.len()) {
        return refuse("outputs and extra", format!("there is no point {}", point + 1));
    }
    let hidden: usize = network.hidden_layers().iter().map(Layer::width).sum();
    let most = network.parameter_count() - hidden;
    if evidence.rank > most as u64 {
        let rule = format!(
            "the stated rank is {}; it is at most parameters minus hidden neurons, {most}",
            evidence.rank
        );
        return refuse("rank", rule);
    }
    let residues = ResidueNetwork::new(network);
    let found = match evidence.extra.is_empty() {
        true => block_rank(network, &residues, evidence, &patterns, stop)?,
        false => whole_rank(&residues, evidence, &patterns, most, stop)?,
    };
    match found as u64 >= evidence.rank {
        true => Ok(()),
        false => refuse("rank", format!("the stated rank is {}, found {found}", evidence.rank)),
    }
}

/// The activation patterns of the points, each of which must lie in the interior of the domain and have no
/// pre-activation zero.
fn patterns(
    network: &Network,
    domain: &Domain,
    points: &[Vec<Rational>],
    stop: Stop,
) -> Result<Vec<Pattern>, End> {
    if points.is_empty() {
        return refuse("points", "there must be at least one point");
    }
    let (evaluator, sides) = (ExactEvaluator::new(network), domain.sides(network.input_width()));
    let pattern = |(place, x): (usize, &Vec<Rational>)| {
        go_on(stop)?;
        let step = || format!("point {}", place + 1);
        let signs = evaluator.sign_vector(x).or_else(|error| refuse(step(), error.to_string()))?;
        let outside = |(x, side): (&Rational, &Interval)| {
            side.lower.as_ref().is_some_and(|lower| x <= lower)
                || side.upper.as_ref().is_some_and(|upper| x >= upper)
        };
        if x.iter().zip(&sides).any(outside) {
            return refuse(step(), "a point must lie in the interior of the domain");
        }
        let zero =
            |(l, signs): (usize, &[Sign])| Some((l, signs.iter().position(|&sign| sign == Sign::Zero)?));
        if let Some((l, unit)) = signs.layers().enumerate().find_map(zero) {
            let rule = format!("the pre-activation of neuron {} of layer {} is zero there", unit + 1, l + 1);
            return refuse(step(), rule);
        }
        Ok(signs.layers().map(|signs| signs.iter().map(|&sign| sign == Sign::Positive).collect()).collect())
    };
    points.iter().enumerate().map(pattern).collect()
}

/// Checks that the pairs stand in the order of their neurons, and that their patterns differ there only.
fn verify_folds(network: &Network, evidence: &RankEvidence, patterns: &[Pattern]) -> Result<(), End> {
    let mut last = None;
    for (place, FoldPair { neuron, points: (p, q) }) in evidence.folds.iter().enumerate() {
        let step = || format!("fold {}", place + 1);
        let width = network.hidden_layers().get(neuron.layer).map_or(0, Layer::width);
        if neuron.unit >= width {
            return refuse(step(), format!("there is no hidden {neuron}"));
        }
        let (Some(one), Some(other)) = (patterns.get(*p), patterns.get(*q)) else {
            return refuse(step(), format!("there is no point {}", p.max(q) + 1));
        };
        if last > Some((neuron.layer, neuron.unit)) {
            return refuse(step(), "folds must stand in the order of their neurons");
        }
        last = Some((neuron.layer, neuron.unit));
        let differ = |l: usize, unit: usize| one[l][unit] != other[l][unit];
        let places = (0..one.len()).flat_map(|l| (0..one[l].len()).map(move |unit| (l, unit)));
        if !places.into_iter().all(|(l, unit)| differ(l, unit) == ((l, unit) == (neuron.layer, neuron.unit)))
        {
            return refuse(
                step(),
                format!("the patterns of its points must differ in {neuron} and nowhere else"),
            );
        }
    }
    Ok(())
}

/// The ranks of the neurons' own rows and of the last layer's, added up.
fn block_rank(
    network: &Network,
    residues: &ResidueNetwork,
    evidence: &RankEvidence,
    patterns: &[Pattern],
    stop: Stop,
) -> Result<usize, End> {
    let mut total = 0;
    for folds in evidence.folds.chunk_by(|a, b| a.neuron == b.neuron) {
        let mut own = Echelon::default();
        let (layer, unit) = (folds[0].neuron.layer, folds[0].neuron.unit);
        let full = network.layers()[layer].input_width();
        for fold in folds {
            go_on(stop)?;
            let pattern = &patterns[fold.points.0];
            if own.rank() < full && residues.reaches_output(pattern, layer, unit) {
                residues.fold_rows(pattern, layer, unit).into_iter().for_each(|row| _ = own.insert(row));
            }
        }
        total += own.rank();
    }
    let mut last = Echelon::default();
    for &point in &evidence.outputs {
        go_on(stop)?;
        residues.output_rows(&patterns[point]).into_iter().for_each(|row| _ = last.insert(row));
    }
    Ok(total + last.rank() * network.output_width())
}

/// The rank of all rows together.
fn whole_rank(
    residues: &ResidueNetwork,
    evidence: &RankEvidence,
    patterns: &[Pattern],
    most: usize,
    stop: Stop,
) -> Result<usize, End> {
    let folds: Vec<(Neuron, &Pattern)> =
        evidence.folds.iter().map(|fold| (fold.neuron, &patterns[fold.points.0])).collect();
    let mut open = match Open::of_folds(residues, &folds, stop) {
        Ok(open) => open,
        Err(Unlisted::Stopped) => return Err(End::Stopped),
        Err(Unlisted::TooMany(count)) => {
            return refuse(
                "folds",
                format!("they leave {count} dimensions open, too many for `extra` points"),
            );
        }
    };
    for &point in evidence.outputs.iter().chain(&evidence.extra) {
        go_on(stop)?;
        if open.rank() >= most {
            break;
        }
        open.insert(&patterns[point]);
    }
    Ok(open.rank())
}
