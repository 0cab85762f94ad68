//! The range of every output of one network on a box, with proof.
//!
//! The network is compared with a constant one of the same shape: all weights zero, and the middles of the
//! ranges as biases of the outputs. How far it is from that is half the width of its range. With `B` constant
//! the bound has `e = -a`: it is that of one network.

use fiberscope_check::difference::{Pair, outward};
use fiberscope_check::difference_fits;
use fiberscope_core::{Certificate, Domain, ExactNetwork, Layer, Matrix, MoveChain, Network, Rational};

use super::balance::scalings;
use super::exact::{Exact, Point};
use super::rows::{Goal, output, sign};
use super::search::{Purpose, Search, Setting};
use super::shape::root_bound;
use super::tree::Tree;
use super::{DifferenceError, DifferenceOptions, Ended, check, declared, evidence};
use crate::limit::{Deadline, Progress};

/// The certified range of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputRange {
    /// No input has a smaller value.
    pub lower: Rational,
    /// No input has a larger value.
    pub upper: Rational,
    /// The least and the largest exact value that was found.
    pub seen: (Rational, Rational),
}

/// The ranges of all outputs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ranges {
    /// One range per output; `None` if no bounds are known.
    pub outputs: Option<Vec<OutputRange>>,
    /// The number of boxes that were bounded.
    pub cells: usize,
    /// What ended the search.
    pub ended: Ended,
    /// The points at which the values were found; `a` has the exact outputs.
    pub points: Vec<Point>,
    /// The constant network that the certificate compares with.
    pub constant: Network,
    /// The proof: the network differs from the constant one by at most half the width of each range. If a
    /// limit came before the proof, the constant is zero, and it says how large the outputs are at most.
    pub certificate: Option<Certificate>,
}

/// The range of every output on a box. The search ends when every end of a range is known up to `gap` times
/// the width of the values that were seen.
///
/// ```
/// # use fiberscope::difference::{DifferenceOptions, ranges};
/// # use fiberscope::{Domain, Network};
/// # let rows: &[(&[&[f64]], &[f64])] = &[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])];
/// # let absolute_value = Network::from_rows(rows).unwrap();
/// let domain = Domain::from_bounds(&[(-1.0, 2.0)]).unwrap();
/// let found = ranges(&absolute_value, &domain, &DifferenceOptions::new()).unwrap();
/// let range = &found.outputs.unwrap()[0];
/// assert!(range.upper.to_f64() >= 2.0 && range.upper.to_f64() <= 2.2);
/// ```
pub fn ranges(
    network: &Network,
    domain: &Domain,
    options: &DifferenceOptions,
) -> Result<Ranges, DifferenceError> {
    check(network, network, domain, options)?;
    let root = outward(domain).map_err(DifferenceError::Unbounded)?;
    if !difference_fits(&network.widths()) {
        return Err(DifferenceError::Shape("it is too large for the checker".into()));
    }
    let zero = constant(network, &vec![0.0; network.output_width()]);
    let (moved, pair) = Moved::new(network, &zero, (&root.0, &root.1), domain)?;
    let exact = Exact::new(network, &zero, domain);
    let setting = Setting {
        purpose: Purpose::Range(options.gap),
        points: &options.points,
        boxes: options.boxes,
        ceilings: Vec::new(),
        known: f64::INFINITY,
        seed: options.seed,
        deadline: &options.deadline,
        progress: options.progress,
    };
    let mut search = Search::new(&pair, &exact, Tree::new(&pair, root.0, root.1), setting);
    let ended = search.root_and_run();
    let points: Vec<Point> = search.points().iter().filter_map(|x| exact.at(x)).collect();
    let seen = seen(&points, network.output_width());
    let rows = search.bounds();
    let proved = prove((network, &zero), (&moved, domain), &search, &rows, (ended, &options.deadline));
    let outputs = rows.iter().all(|bound| bound.is_finite()).then(|| {
        let ranges = rows.chunks(2).zip(seen).enumerate();
        ranges.map(|(k, (rows, seen))| range(rows, proved.radii.as_ref().map(|all| &all[k]), seen)).collect()
    });
    let Proved { constant, certificate, .. } = proved;
    Ok(Ranges { outputs, cells: search.cells, ended, points, constant, certificate })
}

/// The network with scaled neurons, where its values are beyond the doubles otherwise, and the moves that scale them. A
/// constant network, all of whose weights are zero, stays what it is.
struct Moved {
    network: ExactNetwork,
    moves: MoveChain,
}

impl Moved {
    fn new(
        network: &Network,
        zero: &Network,
        root: (&[f64], &[f64]),
        domain: &Domain,
    ) -> Result<(Self, Pair), DifferenceError> {
        let (network, zero) = (network.to_exact(), zero.to_exact());
        let pair = Pair::new(&network, &zero).map_err(DifferenceError::Shape)?;
        let as_given = Moved { network, moves: MoveChain::default() };
        if root_bound(&pair, root.0, root.1).is_finite() {
            return Ok((as_given, pair));
        }
        let moves = MoveChain::from(scalings([&as_given.network, &zero], root));
        let mut network = as_given.network.clone();
        let scaled = moves.apply(&mut network, domain).ok().and_then(|_| Pair::new(&network, &zero).ok());
        Ok(scaled.map_or((as_given, pair), |pair| (Moved { network, moves }, pair)))
    }
}

/// A constant network, and how far the network is from it, with proof.
struct Proved {
    constant: Network,
    /// Per output the constant and the distance; `None` if the constant is not in the middle of the ranges.
    radii: Option<Vec<(Rational, Rational)>>,
    certificate: Option<Certificate>,
}

/// Bounds the boxes again, against the middles of the ranges. If a limit comes before, the certificate
/// compares with zero, and proves how large the outputs are.
fn prove(
    (network, zero): (&Network, &Network),
    (moved, domain): (&Moved, &Domain),
    search: &Search,
    rows: &[f64],
    (ended, deadline): (Ended, &Deadline),
) -> Proved {
    let certify = |constant: &Network, bounds: Vec<Rational>, tree: &Tree| {
        let moves = [moved.moves.clone(), moved.moves.clone()];
        Certificate::new(network, constant, domain.clone(), evidence(moves, bounds, &tree.preorder()))
    };
    let largest =
        |rows: &[f64]| rows.chunks(2).map(|row| declared(row[0].max(row[1]))).collect::<Option<Vec<_>>>();
    let plain = || Proved {
        constant: zero.clone(),
        radii: None,
        certificate: largest(rows).map(|bounds| certify(zero, bounds, &search.tree)),
    };
    // Row `2 k` is `-f_k` and row `2 k + 1` is `f_k`.
    let middles: Vec<f64> = rows.chunks(2).map(|row| 0.5 * row[1] - 0.5 * row[0]).collect();
    if matches!(ended, Ended::Limit(_)) || middles.iter().any(|middle| !middle.is_finite()) {
        return plain();
    }
    let constant = constant(network, &middles);
    let Ok(pair) = Pair::new(&moved.network, &constant.to_exact()) else { return plain() };
    let exact = Exact::new(network, &constant, domain);
    let (purpose, progress) = (Purpose::Range(0.0), Progress::SILENT);
    let (points, boxes, ceilings, known) = (&[][..], None, Vec::new(), f64::INFINITY);
    let setting = Setting { purpose, points, boxes, ceilings, known, seed: 0, deadline, progress };
    let mut again = Search::new(&pair, &exact, search.tree.clone(), setting);
    let known = rows.iter().enumerate().map(|(row, bound)| bound + sign(row) * middles[output(row)]);
    let goal = Goal { offset: known.collect(), ..Goal::largest(rows.len(), 0.0) };
    let bounds = again.bound_leaves(&goal).then(|| largest(&again.bounds())).flatten();
    let Some(bounds) = bounds else { return plain() };
    let exactly = |middle: &f64| Rational::from_f64(*middle).unwrap_or_default();
    Proved {
        radii: Some(middles.iter().map(exactly).zip(bounds.clone()).collect()),
        certificate: Some(certify(&constant, bounds, &again.tree)),
        constant,
    }
}

/// A range from the distance to the middle, or from the bounds themselves.
fn range(rows: &[f64], proved: Option<&(Rational, Rational)>, seen: (Rational, Rational)) -> OutputRange {
    let (lower, upper) = match proved {
        Some((middle, radius)) => (middle - radius, middle + radius),
        None => {
            let end = |bound: f64| Rational::from_f64(bound).unwrap_or_default();
            (-&end(rows[0]), end(rows[1]))
        }
    };
    OutputRange { lower, upper, seen }
}

/// The least and the largest exact values of the outputs at some points.
fn seen(points: &[Point], outputs: usize) -> Vec<(Rational, Rational)> {
    let mut seen: Vec<Option<(Rational, Rational)>> = vec![None; outputs];
    for point in points {
        for (seen, value) in seen.iter_mut().zip(point.a.iter().cloned()) {
            *seen = Some(match seen.take() {
                None => (value.clone(), value),
                Some((least, most)) => (least.min(value.clone()), most.max(value)),
            });
        }
    }
    seen.into_iter().map(Option::unwrap_or_default).collect()
}

/// A network of the same shape with these outputs everywhere; zeros where there are none.
pub(super) fn constant(network: &Network, outputs: &[f64]) -> Network {
    let last = network.depth() - 1;
    let layers = network.layers().iter().enumerate().map(|(l, layer)| {
        let weight = Matrix::from_fn(layer.width(), layer.input_width(), |_, _| 0.0);
        let bias = |k: usize| if l == last { outputs.get(k).copied().unwrap_or(0.0) } else { 0.0 };
        Layer::new(weight, (0..layer.width()).map(bias).collect(), layer.activation())
    });
    Network::new(layers.collect()).expect("the shape is that of a network and the numbers are finite")
}
