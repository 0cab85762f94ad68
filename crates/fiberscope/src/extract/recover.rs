//! Layer after layer: rows, signs, and on; then the output layer, the polish and the gate.
//!
//! A layer is the last hidden one iff `f` is affine in its neurons on all stored answers; so the depth is
//! found, and the width is what was found. If a later step fails, an earlier layer may have missed a neuron:
//! the layers are opened again and more lines are drawn.

use fiberscope_algebra::dense::peak;
use fiberscope_core::Network;

use super::ahead::{Ahead, ahead};
use super::carry::Carry;
use super::deeper::ALWAYS_TRACED_INPUTS;
use super::determined::undetermined;
use super::finish::{finish, to_network};
use super::first::Row;
use super::fit::{FIT_REACH, last_layer, output_layer};
use super::inquiry::{Halt, Inquiry};
use super::line::Kink;
use super::orient::{STAND_IN, bounds, orient_last, turn};
use super::prefix::{Prefix, Rows};
use super::rare::kinks_between;
use super::refine::{refine_rows, strangers};
use super::signs::{cells, contractive};
use super::stage::{FirstLayers, inside};
use super::verify::{Gate, verify};
use super::{ExtractOptions, ExtractStep, KnownLayer, RecoveredLayer, Undetermined};

/// How often all layers are gone through.
const ATTEMPTS: usize = 6;

/// The attempt that begins anew.
pub(super) const FRESH_START: usize = 3;

/// The most rows of a layer that are taken for those of neurons further on.
const MOST_STRANGERS: usize = 2;

/// Inputs beyond which rows of the first layer are not refined place by place: it takes four queries for each input.
pub(super) const MEASURED_INPUTS: usize = 128;

/// Noise, relative to the answers, up to which features are carried.
const MOST_NOISE: f64 = 1e-6;

/// All layers, the output layer last, and what was noticed.
type Candidate = (Vec<Rows>, Vec<String>);

/// What is known so far.
#[derive(Default)]
pub(super) struct Recovery {
    /// The first layers that were known before.
    given: FirstLayers,
    /// The first layers of the attempt that came furthest.
    pub known: FirstLayers,
    /// Rows by layer, up to sign.
    pub rows: Vec<Vec<Row>>,
    /// Kinks that no row explains.
    pub pool: Vec<Kink>,
    /// The hidden layers that are finished.
    pub layers: Vec<RecoveredLayer>,
    /// Weights that were guessed in this attempt: sentences.
    pub guesses: Vec<String>,
    /// The last hidden layer, if weights were chosen in this attempt that nothing tells.
    pub closed: Option<usize>,
    /// The best network so far and what the gate said of it.
    pub best: Option<(Network, Gate)>,
    /// Parameters of that network which the answers do not determine.
    pub undetermined: Vec<Undetermined>,
    /// Why there is no better one: a sentence.
    pub reason: String,
    /// What was noticed.
    pub remarks: Vec<String>,
}

impl Recovery {
    /// Begins behind layers that are known.
    pub fn new(inquiry: &Inquiry<'_>, known: &[KnownLayer]) -> Self {
        let oriented = known.iter().filter(|layer| layer.oriented).count();
        let given = FirstLayers { layers: inside(inquiry, known), oriented };
        let mut recovery = Recovery { known: given.clone(), given, ..Recovery::default() };
        recovery.forget_all();
        recovery
    }

    /// Forgets all but what was known before.
    fn forget_all(&mut self) {
        let rows = |rows: &Rows| rows.iter().map(|(w, b)| (w.to_vec(), b)).collect();
        self.rows = self.given.layers.iter().map(rows).collect();
        self.pool.clear();
    }

    /// Goes on until the gate opens, or nothing new turns up.
    pub fn run(&mut self, inquiry: &mut Inquiry<'_>, options: &ExtractOptions) -> Result<(), Halt> {
        self.look_around(inquiry)?;
        let mut before = 0.0;
        for attempt in 0..ATTEMPTS {
            if self.is_hopeless(inquiry, attempt, before) {
                break;
            }
            if attempt <= FRESH_START {
                before = self.explained(inquiry);
            }
            if attempt == FRESH_START {
                self.forget_all();
            }
            let Some((mut layers, remarks)) = self.attempt(inquiry, options, attempt)? else { continue };
            finish(inquiry, &mut layers)?;
            let Ok(network) = to_network(inquiry, &layers) else {
                self.reason = "the parameters that fit the answers are not finite".into();
                continue;
            };
            let mut gate = verify(inquiry, &layers, &network)?;
            let (bad, good) = (std::mem::take(&mut gate.bad), std::mem::take(&mut gate.good));
            let open = gate.disagreements.is_empty();
            let better = self
                .best
                .as_ref()
                .is_none_or(|(_, best)| gate.fidelity.max_difference < best.fidelity.max_difference);
            if better || open {
                self.undetermined = undetermined(inquiry, &layers);
                self.best = Some((network, gate));
                self.remarks = remarks;
            }
            if open {
                return Ok(());
            }
            self.reason = "the recovered network disagrees with the oracle on fresh inputs".into();
            inquiry.begin(layers.len() - 1, ExtractStep::Counterexamples);
            let hidden = Prefix::of(inquiry.inputs, &layers[..layers.len() - 1]);
            let kinks = kinks_between(inquiry, &hidden, &bad, &good, 8)?;
            self.pool.extend(kinks);
        }
        Ok(())
    }

    /// All layers once; the output layer comes last. `None`, with a reason, if a layer cannot be found.
    fn attempt(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        options: &ExtractOptions,
        attempt: usize,
    ) -> Result<Option<Candidate>, Halt> {
        let mut prefix = Prefix::empty(inquiry.inputs);
        let mut remarks = Vec::new();
        let may_carry = attempt % FRESH_START == FRESH_START - 1 && is_precise(inquiry);
        let mut carries: Vec<Option<Carry>> = Vec::new();
        self.layers.clear();
        self.guesses.clear();
        self.closed = None;
        for rows in self.given.layers[..self.given.oriented].iter().cloned() {
            self.layers.push(RecoveredLayer { neurons: rows.len(), always_active: 0 });
            prefix = prefix.extended(rows);
            carries.push(None);
        }
        if !carries.is_empty() {
            inquiry.look_along(&self.rows[0]);
        }
        loop {
            let index = carries.len();
            if index > 0 && index == self.given.oriented && is_whole(inquiry, &prefix) {
                break;
            }
            let hint = options.widths.as_deref();
            let wanted = hint.and_then(|widths| widths.get(index).copied());
            let before = self.rows.get(index).map_or(0, Vec::len);
            let mut fit = if attempt == 0 && index < self.given.layers.len() {
                Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, &prefix, &rows))
            } else if index == 0 {
                inquiry.look_along(&[]);
                self.find_first(inquiry, wanted, attempt)?
            } else {
                self.find_deeper(inquiry, &prefix, carries[index - 1], wanted, attempt)?
            };
            if self.rows[index].len() > before {
                self.forget_deeper(index);
            }
            if index == 0 {
                if self.drop_strays(inquiry, attempt)? {
                    fit = Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, &prefix, &rows));
                }
                inquiry.look_along(&self.rows[0]);
            }
            let closed = self.closed == Some(index);
            if !closed && self.drop_twins(inquiry, index) {
                fit = Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, &prefix, &rows));
            }
            let mut seen = Vec::new();
            // With very many inputs a row of the first layer is measured at once, and less well place by place.
            let is_measured = index == 0 && inquiry.inputs > MEASURED_INPUTS;
            if attempt > 0 && !closed && !is_measured && !self.rows[index].is_empty() {
                inquiry.begin(index, ExtractStep::Refinement);
                seen = refine_rows(inquiry, &prefix, &mut self.rows[index])?;
                self.drop_twins(inquiry, index);
                fit = Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, &prefix, &rows));
            }
            let Some(rows) = Rows::new(&self.rows[index]).filter(|rows| rows.len() > 0) else {
                if index == 0 && self.pool.is_empty() {
                    return Ok(self.affine(inquiry, &mut remarks).map(|layers| (layers, remarks)));
                }
                if may_carry && carries.last().is_some_and(Option::is_none) {
                    // Some neurons of the layer before may be active everywhere.
                    prefix.layers.pop();
                    carries.pop();
                    self.layers.pop();
                    let Some((rows, carry)) = self.carry(inquiry, &prefix, index - 1) else {
                        return Ok(None);
                    };
                    prefix = prefix.extended(rows);
                    carries.push(Some(carry));
                    continue;
                }
                self.reason = format!("no neuron of hidden layer {} was found", index + 1);
                self.forget_carried(&carries);
                return Ok(None);
            };
            let last = match hint {
                Some(widths) => index + 1 == widths.len(),
                None => fit.as_ref().is_some_and(|fit| fit.residual < limit(inquiry)),
            };
            inquiry.begin(index, ExtractStep::Signs);
            let oriented = if last {
                orient_last(inquiry, &prefix, rows, fit, &mut remarks)
            } else {
                self.orient(inquiry, &prefix, index, attempt, &seen)?
            };
            let (oriented, carry) = match oriented {
                Some((rows, always_active)) => {
                    self.layers.push(RecoveredLayer { neurons: rows.len(), always_active });
                    (Some(rows), None)
                }
                None if may_carry && !last => self.carry(inquiry, &prefix, index).unzip(),
                None => (None, None),
            };
            let Some(oriented) = oriented else {
                if carries.iter().all(Option::is_none)
                    && let Some(rows) = Rows::new(&self.rows[index])
                {
                    self.note(inquiry, prefix.extended(rows).layers, index);
                }
                self.reason =
                    format!("the orientation of the neurons of hidden layer {} could not be told", index + 1);
                self.forget_carried(&carries);
                return Ok(None);
            };
            prefix = prefix.extended(oriented);
            carries.push(carry);
            if carries.iter().all(Option::is_none) {
                self.note(inquiry, prefix.layers.clone(), prefix.layers.len());
            }
            if last {
                break;
            }
            if index > 12 {
                self.reason = "more than a dozen hidden layers".into();
                return Ok(None);
            }
        }
        let Some((output, _)) = output_layer(inquiry, &prefix) else {
            self.reason = "the output layer could not be fitted".into();
            return Ok(None);
        };
        let mut layers = prefix.layers;
        layers.push(output);
        self.forget_carried(&carries);
        for (index, carry) in carries.iter().enumerate().rev() {
            let Some(carry) = carry else { continue };
            let ranges =
                bounds(&Prefix::of(inquiry.inputs, &layers[..index]), 1.1 * FIT_REACH * inquiry.radius);
            let (front, back) = layers.split_at_mut(index + 1);
            let Some(always_active) = carry.replace(&mut front[index], &mut back[0], &ranges) else {
                return Ok(None);
            };
            self.layers[index] = RecoveredLayer { neurons: front[index].len(), always_active };
            remarks.push(format!(
                "{always_active} neuron{} of hidden layer {} never switch{} where they were looked for: {STAND_IN}",
                if always_active == 1 { "" } else { "s" },
                index + 1,
                if always_active == 1 { "es" } else { "" },
            ));
        }
        remarks.append(&mut self.guesses);
        Ok(Some((layers, remarks)))
    }

    /// The share of the kinks on lines that the layers of the attempt that came furthest explain.
    pub fn explained(&self, inquiry: &Inquiry<'_>) -> f64 {
        let prefix = Prefix::of(inquiry.inputs, &self.known.layers);
        inquiry.census.count(&prefix, inquiry.radius).0.share()
    }

    /// With layers that were known before nothing is stored yet that a fit could use.
    fn look_around(&self, inquiry: &mut Inquiry<'_>) -> Result<(), Halt> {
        let width: usize = self.given.layers.iter().map(Rows::len).sum();
        if width > 0 {
            let count = 3 * (width + inquiry.inputs) + 50;
            let questions: Vec<Vec<f64>> = (0..count).map(|_| inquiry.point_of_domain()).collect();
            inquiry.ask(&questions)?;
        }
        Ok(())
    }

    /// Remembers the first layers if no attempt came further, and says so if this one did.
    fn note(&mut self, inquiry: &Inquiry<'_>, layers: Vec<Rows>, oriented: usize) {
        let (now, before) = ((oriented, layers.len()), (self.known.oriented, self.known.layers.len()));
        if now >= before {
            self.known = FirstLayers { layers, oriented };
        }
        if now > before {
            inquiry.options.stages.report(self.known.stage(inquiry));
        }
    }

    /// The rows of a layer with some that carry its inputs past it.
    fn carry(&mut self, inquiry: &Inquiry<'_>, prefix: &Prefix, index: usize) -> Option<(Rows, Carry)> {
        self.forget_deeper(index);
        let found = Carry::rows(prefix, &self.rows[index], inquiry.radius)?;
        self.layers.push(RecoveredLayer { neurons: found.1.own, always_active: 0 });
        Some(found)
    }

    /// Forgets rows that rest on carried features.
    fn forget_carried(&mut self, carries: &[Option<Carry>]) {
        if let Some(index) = carries.iter().position(Option::is_some) {
            self.forget_deeper(index);
        }
    }

    /// Orients the rows of a layer that is not the last one. From the second attempt on, rows that stand in
    /// the way are taken for those of neurons further on, and dropped: those that are `seen` at another share
    /// of their boundaries than the others, or a few without an orientation.
    fn orient(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        prefix: &Prefix,
        index: usize,
        attempt: usize,
        seen: &[f64],
    ) -> Result<Option<(Rows, usize)>, Halt> {
        let Some(rows) = Rows::new(&self.rows[index]) else { return Ok(None) };
        let mut found = self.signs(inquiry, prefix, index)?;
        let untold = |signs: &[Option<f64>]| signs.iter().filter(|sign| sign.is_none()).count();
        let strange = if seen.len() == rows.len() { strangers(seen) } else { Vec::new() };
        if untold(&found) > 0 && strange.contains(&true) {
            self.keep(index, strange.iter().map(|strange| !strange));
            found = self.signs(inquiry, prefix, index)?;
            if found.is_empty() {
                return Ok(None);
            }
        }
        let missing = untold(&found);
        if missing > 0 && (attempt == 0 || missing == found.len() || missing > MOST_STRANGERS) {
            return Ok(None);
        }
        if missing > 0 {
            self.keep(index, found.iter().map(Option::is_some));
        }
        let signs: Vec<f64> = found.into_iter().flatten().collect();
        Ok(Rows::new(&self.rows[index]).map(|rows| turn(rows, &signs)))
    }

    /// The signs of the rows of a layer, as far as they can be told: by gradients where the rows are
    /// independent, by the layer behind them, and by cells.
    fn signs(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        prefix: &Prefix,
        index: usize,
    ) -> Result<Vec<Option<f64>>, Halt> {
        let Some(rows) = Rows::new(&self.rows[index]).filter(|rows| rows.len() > 0) else {
            return Ok(Vec::new());
        };
        let seen = contractive(inquiry, prefix, &rows)?;
        if seen.iter().all(Option::is_some) {
            return Ok(seen);
        }
        if is_precise(inquiry)
            && let Some(Ahead { signs, next }) = ahead(inquiry, prefix, &self.rows[index], &mut self.pool)?
        {
            self.forget_deeper(index);
            self.rows.push(next);
            return Ok(signs.into_iter().map(Some).collect());
        }
        if inquiry.inputs <= ALWAYS_TRACED_INPUTS {
            // There cells tell one equation each at best.
            return Ok(seen);
        }
        inquiry.begin(index, ExtractStep::Signs);
        Ok(cells(inquiry, prefix, &rows)?.unwrap_or(seen))
    }

    /// Keeps some rows of a layer, and forgets what rests on the others.
    fn keep(&mut self, index: usize, which: impl Iterator<Item = bool>) {
        let mut kept = which;
        self.rows[index].retain(|_| kept.next() == Some(true));
        self.forget_deeper(index);
    }

    /// A function without kinks is affine.
    fn affine(&mut self, inquiry: &Inquiry<'_>, remarks: &mut Vec<String>) -> Option<Vec<Rows>> {
        let (output, residual) = output_layer(inquiry, &Prefix::empty(inquiry.inputs))?;
        if residual > limit(inquiry) {
            self.reason = "no kink was found, yet the function is not affine".into();
            return None;
        }
        remarks.push(
            "no neuron was seen to switch: on the lines that were looked at the function is affine".into(),
        );
        Some(vec![output])
    }

    /// Forgets what rests on the rows of a layer: others were found, or some dropped.
    pub fn forget_deeper(&mut self, index: usize) {
        self.rows.truncate(index + 1);
        self.pool.iter_mut().for_each(|kink| kink.tries = 0);
    }
}

/// Whether the function is affine in the features behind the prefix.
fn is_whole(inquiry: &Inquiry<'_>, prefix: &Prefix) -> bool {
    output_layer(inquiry, prefix).is_some_and(|(_, residual)| residual < limit(inquiry))
}

/// Residuals, in units of the noise, up to which a fit is taken for exact.
pub(super) fn limit(inquiry: &Inquiry<'_>) -> f64 {
    let (_, answers) = inquiry.recent(4.0, 400);
    let size = peak(answers.entries());
    (1e-4 * size / inquiry.eta).clamp(200.0, 1e9)
}

/// Whether answers are precise enough for features to be carried: there are many more weights to find, one by
/// one.
fn is_precise(inquiry: &Inquiry<'_>) -> bool {
    let (_, answers) = inquiry.recent(1.0, 400);
    inquiry.eta < MOST_NOISE * peak(answers.entries())
}
