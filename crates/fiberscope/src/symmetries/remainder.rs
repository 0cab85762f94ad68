//! What the catalogue does not explain: directions of the kernel in as few adjacent layers as possible, and points
//! of the fiber along them.
//!
//! In the parameters of some layers, independent equations and as many parameters determine each other near the
//! given ones; the other parameters are free. One of them moves, and Newton's method brings the determined ones
//! after it: the point lies on the fiber up to rounding if no region disagrees.

use fiberscope_algebra::modular::Residue;
use fiberscope_algebra::{Echelon, Number, elimination};
use fiberscope_core::{Network, Neuron, Rational};

use super::kernel::{Kernel, Place};
use super::layout::{Direction, Parameter, changed, value};
use super::numeric::Numeric;
use super::view::View;
use crate::limit::Deadline;

/// A direction of the kernel that no mechanism explains.
pub struct Leftover {
    /// The neurons whose rows it moves.
    pub neurons: Vec<Neuron>,
    /// The direction, in doubles.
    pub direction: Direction,
    chart: Chart,
}

/// Parameters that equations determine.
struct Chart {
    equations: Vec<Place>,
    determined: Vec<usize>,
    velocity: Vec<f64>,
}

/// Steps of Newton's method, and the largest disagreement of a region, relative to the values.
const STEPS: usize = 40;
const SMALL: f64 = 1e-10;

/// Directions that complete `known` to the kernel; `None` when it is late, fewer if numbers overflow.
pub fn remainder(
    network: &Network,
    view: &View,
    kernel: &Kernel,
    known: &mut Echelon<Residue>,
    deadline: &Deadline,
) -> Option<Vec<Leftover>> {
    let theta = vector(network, view);
    let numeric = Numeric { layout: &view.layout, patterns: &view.patterns };
    let (depth, wanted) = (view.layout.last() + 1, view.layout.count() - kernel.rank());
    let mut found = Vec::new();
    for (span, first) in (1..=depth).flat_map(|span| (0..=depth - span).map(move |first| (span, first))) {
        if known.rank() >= wanted {
            break;
        }
        let columns: Vec<Parameter> =
            (first..first + span).flat_map(|layer| view.layout.of_layer(layer)).collect();
        let places: Vec<usize> = columns.iter().map(|&parameter| view.layout.place(parameter)).collect();
        let (mut echelon, mut rows, mut equations) = (Echelon::default(), Vec::new(), Vec::new());
        for (place, row) in &kernel.rows {
            if deadline.is_past() {
                return None;
            }
            let row: Vec<Residue> = places.iter().map(|&at| row[at]).collect();
            if echelon.insert(row.clone()) {
                rows.push(row);
                equations.push(*place);
            }
        }
        let leads = elimination::reduce(&mut rows, columns.len(), &|| deadline.is_past())?;
        let gradients: Vec<Vec<f64>> =
            equations.iter().map(|&place| numeric.gradient(&theta, place)).collect();
        let determined: Vec<usize> = leads.iter().map(|&lead| places[lead]).collect();
        for free in (0..columns.len()).filter(|column| !leads.contains(column)) {
            if deadline.is_past() {
                return None;
            }
            let mut residues = vec![Residue::ZERO; view.layout.count()];
            residues[places[free]] = Residue::ONE;
            rows.iter().zip(&determined).for_each(|(row, &at)| residues[at] = row[free].negated());
            if !known.insert(residues.clone()) {
                continue;
            }
            let system = gradients.iter().map(|gradient| {
                let row = determined.iter().map(|&at| gradient[at]);
                row.chain([-gradient[places[free]]]).collect()
            });
            let Some(speeds) = elimination::solve::<f64>(system.collect()) else { continue };
            let mut velocity = vec![0.0; theta.len()];
            velocity[places[free]] = 1.0;
            determined.iter().zip(&speeds).for_each(|(&at, &speed)| velocity[at] = speed);
            let moves = |parameter: &&Parameter| !residues[view.layout.place(**parameter)].is_zero();
            let speed = |parameter: &Parameter| {
                Some((*parameter, Rational::from_f64(velocity[view.layout.place(*parameter)])?))
            };
            let Some(direction) = columns.iter().filter(moves).map(speed).collect::<Option<Direction>>()
            else {
                continue;
            };
            let mut neurons: Vec<Neuron> = direction.iter().map(|(parameter, _)| parameter.neuron).collect();
            neurons.sort();
            neurons.dedup();
            let (equations, determined) = (equations.clone(), determined.clone());
            found.push(Leftover { neurons, direction, chart: Chart { equations, determined, velocity } });
        }
    }
    Some(found)
}

impl Leftover {
    /// A network of the fiber, up to rounding, a step along the direction; `None` if the regions do not agree there.
    pub fn follow(&self, network: &Network, view: &View, step: f64, deadline: &Deadline) -> Option<Network> {
        let theta = vector(network, view);
        let numeric = Numeric { layout: &view.layout, patterns: &view.patterns };
        let Chart { equations, determined, velocity } = &self.chart;
        let targets: Vec<f64> = equations.iter().map(|&place| numeric.value(&theta, place)).collect();
        let mut moved: Vec<f64> = theta.iter().zip(velocity).map(|(x, v)| x + step * v).collect();
        let mut best = f64::INFINITY;
        for _ in 0..STEPS {
            if deadline.is_past() {
                return None;
            }
            let errors: Vec<f64> = equations
                .iter()
                .zip(&targets)
                .map(|(&place, target)| target - numeric.value(&moved, place))
                .collect();
            let size = errors.iter().fold(0.0, |most: f64, error| most.max(error.abs()));
            if size.is_nan() || size >= best / 2.0 {
                break;
            }
            best = size;
            let system = equations.iter().zip(&errors).map(|(&place, &error)| {
                let gradient = numeric.gradient(&moved, place);
                determined.iter().map(|&at| gradient[at]).chain([error]).collect()
            });
            let change = elimination::solve::<f64>(system.collect())?;
            determined.iter().zip(&change).for_each(|(&at, change)| moved[at] += change);
        }
        let (inputs, outputs) = (view.layout.widths[0], view.layout.widths[view.layout.last() + 1]);
        for region in 0..view.patterns.len() {
            if deadline.is_past() {
                return None;
            }
            for (output, at) in (0..outputs).flat_map(|output| (0..=inputs).map(move |at| (output, at))) {
                let place = Place { region, output, at };
                let (old, new) = (numeric.value(&theta, place), numeric.value(&moved, place));
                if (old - new).abs() > SMALL * (1.0 + old.abs()) || new.is_nan() {
                    return None;
                }
            }
        }
        changed(network, |parameter| moved[view.layout.place(parameter)]).ok()
    }
}

/// The parameters as one vector.
fn vector(network: &Network, view: &View) -> Vec<f64> {
    let mut theta = vec![0.0; view.layout.count()];
    for layer in 0..=view.layout.last() {
        for parameter in view.layout.of_layer(layer) {
            theta[view.layout.place(parameter)] = value(network, parameter).to_f64();
        }
    }
    theta
}
