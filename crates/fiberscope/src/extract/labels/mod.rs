//! Extraction from classes alone: which output is the largest is answered, and nothing else.
//!
//! A boundary between two classes is found by halving a segment whose ends have different classes, to the last
//! bit of a double. It is piecewise linear, and bends exactly where it crosses the boundary of a neuron
//! [chen2024hardlabel, carlini2025polynomial]. In a plane a bend is where two lines meet that are known to 14
//! digits. What is told in the end is a network with the same class everywhere: outputs up to a common positive
//! factor, and up to a function that is added to all of them.
//!
//! One hidden layer is solved for as a whole once its hyperplanes are known: every point between two classes is
//! a linear equation for the output layer and the orientation. If that has no solution, the hyperplanes are those
//! of the first of two layers. Normals of boundaries are sums of the rows of neurons that are on, which tells the
//! orientation; then the outputs of the layer take the place of the inputs.

mod ask;
mod compare;
mod gate;
mod hunt;
mod model;
mod oracle;
mod output;
mod piece;
mod polish;
mod space;

use fiberscope_core::Network;

use super::inquiry::Halt;
use super::prefix::{Prefix, Rows};
use super::{ExtractError, ExtractOptions, ExtractOutcome, ExtractStep, KnownLayer, Oracle};
use ask::Asker;
pub use compare::compare_labels;
pub use gate::LabelAgreement;
use gate::verify;
use hunt::Hunt;
use model::Model;
pub use oracle::{LabelOracle, class_of};
use output::{Outputs, idle, orient, outputs};
use polish::polish;
use space::{Pair, Place, Space, ordered};

/// Walks along boundaries per layer, at most.
const WALKS: usize = 240;

/// How far out walks begin, in radii of the domain, one after the other.
const SCALES: [f64; 8] = [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 4.0, 1.0];

/// Fresh boundaries that have to fit before a network is made.
const FRESH: usize = 24;

/// Segments on which pairs of classes are looked for that have not met.
const SEARCHED: usize = 160;

/// After so many walks one of several solutions is taken.
const SETTLED: usize = 40;

/// Points with their classes that tell how solutions are combined.
const LABELLED: usize = 400;

/// Solutions more than these are no solution: neurons are missing.
const MOST_SOLUTIONS: usize = 8;

/// A network from classes alone.
#[derive(Clone, Debug)]
pub struct LabelExtraction {
    /// What the result is. Verified: classes agreed on fresh queries.
    pub outcome: ExtractOutcome,
    /// A network with the same class: outputs add up to zero over the classes that were seen, and the largest
    /// output weight is one.
    pub network: Option<Network>,
    /// The layers that are known without a network. Only the last one may lack its orientation.
    pub known: Vec<KnownLayer>,
    /// The agreement on fresh queries.
    pub agreement: Option<LabelAgreement>,
    /// What the answers do not determine of the network: sentences.
    pub open: Vec<String>,
    /// Classes that were answered.
    pub classes: Vec<usize>,
    /// Whether queries or time ran out before there was more to say.
    pub stopped: bool,
    /// All queries.
    pub queries: u64,
    /// Queries by hidden layer (from 0) and step.
    pub spent: Vec<(usize, ExtractStep, u64)>,
    /// What was seen on the way: sentences.
    pub remarks: Vec<String>,
}

/// Recovers a network from an oracle that answers the class of an input as a number, such as a [`LabelOracle`].
/// `outputs` is the number of outputs that the network shall have: 1 for a network whose class is 1 where its
/// output is positive, `None` for as many as there are classes. It looks for one or two hidden layers, and for
/// two only where the first is no wider than the input; of two, it is mostly the first that is found.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::extract::{ExtractOptions, ExtractOutcome, LabelOracle, NetworkOracle};
/// use fiberscope::extract::{compare_labels, extract_labels};
///
/// let secret = Network::from_rows(&[
///     (&[&[1.0, 0.5, 0.2], &[-1.0, 2.0, 0.1], &[0.3, 0.4, -1.5]], &[0.1, 0.2, -0.3]),
///     (&[&[1.0, -1.0, 0.5], &[-0.2, 0.4, 1.1]], &[0.0, 0.3]),
/// ])?;
/// let mut oracle = LabelOracle::new(NetworkOracle::new(secret.clone()));
/// let found = extract_labels(&mut oracle, Some(2), &ExtractOptions::new())?;
/// assert_eq!(found.outcome, ExtractOutcome::Verified);
/// // Its parameters are those of the secret, unless it says that classes leave some open.
/// let error = compare_labels(&secret, &found.network.unwrap()).map(|comparison| comparison.max_error);
/// assert!(error.is_some_and(|error| error < 1e-9) || !found.open.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the oracle gives no usable answers, or the options make no sense.
pub fn extract_labels(
    oracle: &mut dyn Oracle,
    outputs: Option<usize>,
    options: &ExtractOptions,
) -> Result<LabelExtraction, ExtractError> {
    let asker = Asker::new(oracle, options)?;
    let mut search = Search {
        asker,
        outputs,
        known: Vec::new(),
        hunted: Vec::new(),
        wide: Hunt::new(0),
        best: None,
        open: Vec::new(),
        remarks: Vec::new(),
    };
    let ended = search.run();
    search.conclude(ended)
}

/// A model, how it agrees, and points where it does not.
type Judged = (Model, LabelAgreement, Vec<Vec<f64>>);

/// The extraction at work.
struct Search<'a> {
    asker: Asker<'a>,
    outputs: Option<usize>,
    /// Layers with their orientation.
    known: Vec<Rows>,
    /// Hyperplanes of the next layer.
    hunted: Vec<hunt::Plane>,
    /// Points between classes, as inputs, but for those of the second layer.
    wide: Hunt,
    best: Option<Judged>,
    open: Vec<String>,
    remarks: Vec<String>,
}

/// With less than three inputs or neurons before a layer: walks after which it is given up.
const FLAT_WALKS: usize = 4;

/// What a layer turned out to be.
enum Found {
    /// The last one.
    Last,
    /// One of several.
    Inner(Rows),
    /// Not that: a sentence.
    Nothing(String),
}

impl Search<'_> {
    /// The reason why there is no verified network; `None` if there is.
    fn run(&mut self) -> Result<Option<String>, Halt> {
        self.repeat()?;
        loop {
            if self.known.len() == 2 {
                let last = self.last(&mut Hunt::new(2), true)?;
                return Ok((!last).then(|| {
                    "the two hidden layers that were found do not explain the boundaries between classes"
                        .into()
                }));
            }
            let Some(space) = self.space() else {
                return Ok(Some("the rows of hidden layer 1 are dependent".into()));
            };
            match self.layer(&space)? {
                Found::Last => return Ok(None),
                Found::Inner(rows) => self.known.push(rows),
                Found::Nothing(reason) => return Ok(Some(reason)),
            }
        }
    }

    /// Asks some questions twice.
    fn repeat(&mut self) -> Result<(), Halt> {
        self.asker.begin(0, ExtractStep::Noise);
        let points: Vec<Vec<f64>> = (0..16).map(|_| self.asker.point(1.0)).collect();
        let (first, second) = (self.asker.classes(&points)?, self.asker.classes(&points)?);
        match (0..points.len()).find(|&k| first[k] != second[k]) {
            None => Ok(()),
            Some(k) => Err(Halt::Error(ExtractError::NotDeterministic {
                x: points[k].iter().map(|v| v + self.asker.center).collect(),
                output: 0,
                first: first[k] as f64,
                second: second[k] as f64,
            })),
        }
    }

    /// Where the next layer is looked for.
    fn space(&self) -> Option<Space> {
        match self.known.last() {
            None => Some(Space::inputs(&self.asker)),
            Some(layer) => Space::behind(&self.asker, layer),
        }
    }

    fn layer(&mut self, space: &Space) -> Result<Found, Halt> {
        let number = self.known.len() + 1;
        let mut hunt = Hunt::new(self.known.len());
        if !self.known.is_empty() && self.last(&mut hunt, false)? {
            return Ok(Found::Last);
        }
        // What was looked at last: planes and points.
        let mut tried = (usize::MAX, 0);
        for walk in 0..WALKS {
            if !hunt.walk(&mut self.asker, space, SCALES[walk % SCALES.len()])? && walk == 0 {
                if self.last(&mut hunt, true)? {
                    return Ok(Found::Last);
                }
                let seen = self.asker.seen.iter().filter(|seen| **seen).count();
                return Ok(Found::Nothing(match seen {
                    1 => "the oracle answers one class only on the domain".into(),
                    _ => format!("no boundary between classes was found for hidden layer {number}"),
                }));
            }
            self.hunted.clone_from(&hunt.planes);
            let now = (hunt.planes.len(), self.wide.places.len() + hunt.places.len());
            // Behind a layer without bends there is nothing more to see.
            let settle = walk >= if now.0 == 0 { 4 } else { SETTLED };
            if now.0 != tried.0
                || now.1 > tried.1 + tried.1 / 4
                || (settle && walk % 8 == 4)
                || !hunt.starts.is_empty()
            {
                tried = now;
                if self.last(&mut hunt, settle)? {
                    return Ok(Found::Last);
                }
            }
            if walk >= FLAT_WALKS && space.dimension < 3 && hunt.seen > 0 {
                let of = if self.known.is_empty() { "inputs" } else { "neurons before it" };
                return Ok(Found::Nothing(format!(
                    "boundaries between classes bend, but with {} {of} the normals on either side of a bend do not tell the \
                     neuron of hidden layer {number} that it belongs to: this takes three at least",
                    space.dimension
                )));
            }
            if walk % 4 == 3 {
                // Bends that are not explained may be those of a layer behind, and planes, too.
                let deep = hunt.unexplained() > 0 && self.known.is_empty();
                if deep {
                    hunt.confirm(&mut self.asker, space)?;
                }
                let sure = hunt.unexplained() == 0
                    || deep && hunt.planes.iter().all(|plane| plane.confirmed == Some(true));
                if let Some(sides) = hunt.sides(space.dimension).filter(|_| sure) {
                    let lifted =
                        hunt.places.drain(..).map(|place| Place { at: space.input(&place.at), ..place });
                    self.wide.places.extend(lifted);
                    if deep {
                        hunt.sharpen(&mut self.asker, space)?;
                    }
                    let rows: Vec<(Vec<f64>, f64)> = hunt
                        .planes
                        .iter()
                        .zip(&sides)
                        .map(|(plane, side)| (plane.w.iter().map(|w| side * w).collect(), side * plane.b))
                        .collect();
                    self.hunted.clear();
                    return Ok(Found::Inner(Rows::new(&rows).expect("rows of one length")));
                }
            }
        }
        hunt.confirm(&mut self.asker, space)?;
        self.hunted.clone_from(&hunt.planes);
        let found = hunt.planes.len();
        if found == 0 {
            return Ok(Found::Nothing(format!(
                "no neuron of a hidden layer {number} was found, if there is such a layer"
            )));
        }
        Ok(Found::Nothing(format!(
            "{found} neuron{} of hidden layer {number} {} found, which do not explain the boundaries between classes: \
             {} of {} bends on them are of others",
            if found == 1 { "" } else { "s" },
            if found == 1 { "was" } else { "were" },
            hunt.unexplained(),
            hunt.seen
        )))
    }

    /// A point between classes in the coordinates of the next layer.
    fn behind(&self, place: &Place) -> Place {
        let prefix = Prefix::of(self.asker.inputs, &self.known);
        Place { at: prefix.hidden(&place.at), pair: place.pair }
    }

    /// What all points between classes tell of the outputs.
    fn outputs(&self, hunt: &Hunt) -> Option<Outputs> {
        let mut places: Vec<Place> = self.wide.places.iter().map(|place| self.behind(place)).collect();
        places.extend(hunt.places.iter().cloned());
        outputs(&hunt.planes, &places)
    }

    /// Tries the planes as the last hidden layer. `true` if there is a verified network. Several solutions are
    /// taken only where no more is hoped for (`settle`).
    fn last(&mut self, hunt: &mut Hunt, settle: bool) -> Result<bool, Halt> {
        if self.known.is_empty() {
            self.wide.places.append(&mut hunt.places);
        }
        let Some(mut found) = self.outputs(hunt) else { return Ok(false) };
        if found.solutions.len() > 1 {
            self.meet(hunt.planes.len())?;
            let Some(again) = self.outputs(hunt) else { return Ok(false) };
            found = again;
        }
        let inputs = Space::inputs(&self.asker);
        for round in 0..FRESH {
            let scale = SCALES[round % SCALES.len()];
            let fresh = self.wide.boundary(&mut self.asker, &inputs, scale, 8, &|_| true)?;
            let Some((place, _)) = fresh else { continue };
            if !found.explains(&hunt.planes, &self.behind(&place)) {
                // It may tell which of several solutions it is.
                let Some(again) = self.outputs(hunt) else {
                    if self.known.len() < 2 {
                        // Off the walls of the space.
                        let aside = if self.known.is_empty() { 0.0 } else { 0.02 * self.asker.radius };
                        hunt.starts.push(self.behind(&place).at.iter().map(|v| v + aside).collect());
                    }
                    return Ok(false);
                };
                found = again;
            }
        }
        if found.solutions.len() > if settle { MOST_SOLUTIONS } else { 1 } {
            return Ok(false);
        }
        let points: Vec<Vec<f64>> = (0..LABELLED).map(|_| self.asker.point(1.0)).collect();
        let classes = self.asker.classes(&points)?;
        let prefix = Prefix::of(self.asker.inputs, &self.known);
        let labelled: Vec<(Vec<f64>, usize)> = points.iter().map(|x| prefix.hidden(x)).zip(classes).collect();
        let Some(theta) = found.combine(&hunt.planes, &labelled) else { return Ok(false) };
        if let Some(idle) = idle(&theta, hunt.planes.len()) {
            hunt.planes.remove(idle);
            return self.last(hunt, settle);
        }
        let Some(last) = orient(&hunt.planes, &theta) else { return Ok(false) };
        let model = Model::new(&self.known, &hunt.planes, &last, found.classes.clone(), &self.asker);
        let Some(model) = model else { return Ok(false) };
        let mut places = self.wide.places.clone();
        if let Some(space) = self.space().filter(|_| !hunt.places.is_empty()) {
            places.extend(
                hunt.places.iter().map(|place| Place { at: space.input(&place.at), pair: place.pair }),
            );
        }
        let polished = polish(&model, &places);
        let (agreement, bad) = verify(&mut self.asker, &polished)?;
        let whole = bad.is_empty();
        if whole || self.best.as_ref().is_none_or(|(_, _, worst)| worst.len() > bad.len()) {
            self.say(&polished, found.solutions.len(), last.oriented);
            self.best = Some((polished, agreement, bad));
        }
        Ok(whole)
    }

    /// Looks for more points between classes that rarely meet, and for pairs of classes that have not met: how
    /// large outputs are beside each other is known only where they do.
    fn meet(&mut self, planes: usize) -> Result<(), Halt> {
        let space = Space::inputs(&self.asker);
        let enough = planes + self.known.last().map_or(space.dimension, Rows::len) + 5;
        let (asker, wide) = (&mut self.asker, &mut self.wide);
        wide.more(asker, &space, enough)?;
        let met = wide.pairs().len();
        for scale in [1.0, 3.0, 9.0, 27.0] {
            let known: Vec<Pair> = wide.pairs().into_iter().map(|(pair, _)| pair).collect();
            let is_new = |pair: Pair| !known.contains(&ordered(pair));
            wide.boundary(asker, &space, scale, SEARCHED, &is_new)?;
        }
        if wide.pairs().len() > met {
            wide.more(asker, &space, enough)?;
        }
        Ok(())
    }

    /// What the answers leave open.
    fn say(&mut self, model: &Model, solutions: usize, oriented: bool) {
        self.open.clear();
        if solutions > 1 {
            self.open.push(format!(
                "the boundaries that were seen leave {} number{} of the output layer open (say, how large the outputs \
                 of classes are that do not meet there); those that were chosen give all points asked their classes",
                solutions - 1,
                if solutions == 2 { "" } else { "s" }
            ));
        }
        if !oriented && !model.hidden.is_empty() {
            self.open.push(format!(
                "the orientation of neurons of the last hidden layer is open, as others of it are on wherever classes meet; \
                 {} neuron{} with a large bias {} for what is left",
                model.linear,
                if model.linear == 1 { "" } else { "s" },
                if model.linear == 1 { "stands" } else { "stand" }
            ));
        }
        if let Some(count) = self.outputs.filter(|&count| count > model.classes.len().max(2)) {
            let missing: Vec<String> = (0..count)
                .filter(|class| !model.classes.contains(class))
                .map(|class| class.to_string())
                .collect();
            self.open.push(format!(
                "nothing is known of the outputs of classes that no boundary was seen of: {}",
                missing.join(", ")
            ));
        }
    }

    fn conclude(mut self, ended: Result<Option<String>, Halt>) -> Result<LabelExtraction, ExtractError> {
        let (reason, stopped) = match ended {
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Limit(reason)) => (Some(reason), true),
            Ok(reason) => (reason, false),
        };
        let asker = &self.asker;
        let count = self.outputs.unwrap_or(asker.seen.len().max(2));
        let (mut network, mut agreement, mut whole) = (None, None, false);
        if let Some((model, agreed, bad)) = &self.best {
            network = model.network(count, asker.center, asker.radius);
            agreement = Some(agreed.clone());
            whole = bad.is_empty() && network.is_some();
        }
        let layer = |rows: &Rows, oriented: bool| {
            let shift = |w: &[f64], b: f64| b - asker.center * w.iter().sum::<f64>();
            let first = rows.weight.cols() == asker.inputs;
            let bias = rows.iter().map(|(w, b)| if first { shift(w, b) } else { b }).collect();
            KnownLayer { weight: rows.weight.clone(), bias, oriented }
        };
        let mut known = Vec::new();
        if !whole {
            known.extend(self.known.iter().map(|rows| layer(rows, true)));
            let planes: Vec<(Vec<f64>, f64)> =
                self.hunted.iter().map(|plane| (plane.w.clone(), plane.b)).collect();
            if let Some(rows) = Rows::new(&planes).filter(|rows| rows.len() > 0 && known.is_empty()) {
                known.push(layer(&rows, false));
            }
        }
        let outcome = match reason {
            None if whole => ExtractOutcome::Verified,
            reason => {
                let reason = reason.unwrap_or_else(|| "the classes do not agree".into());
                match network.is_none() && known.is_empty() {
                    true => ExtractOutcome::Failed { reason },
                    false => ExtractOutcome::Partial { reason, disagreements: Vec::new() },
                }
            }
        };
        if whole {
            self.remarks.push(
                "classes tell the network up to a common positive factor of its outputs and a function added to all of them; \
                 neurons that switch only away from boundaries between classes, or outside of the domain, cannot be seen"
                    .into(),
            );
        }
        Ok(LabelExtraction {
            outcome,
            network,
            known,
            agreement,
            open: self.open,
            classes: (0..asker.seen.len()).filter(|&class| asker.seen[class]).collect(),
            stopped,
            queries: asker.count,
            spent: asker.spent.clone(),
            remarks: self.remarks,
        })
    }
}
