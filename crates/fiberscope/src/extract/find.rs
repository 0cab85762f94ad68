//! The rows of a layer: lines are drawn until they show nothing new.

use fiberscope_algebra::dense::norm;

use super::ExtractStep;
use super::carry::Carry;
use super::close::close;
use super::deeper::{ALWAYS_TRACED_INPUTS, Layer, TRACED_INPUTS};
use super::first::{LINE_REACH, Line, Row, explains, first_layer, first_layer_again};
use super::fit::{LastLayer, last_layer, saturate};
use super::inquiry::{Halt, Inquiry};
use super::line::Kink;
use super::prefix::{Prefix, Rows};
use super::rare::counterexamples;
use super::recover::{MEASURED_INPUTS, Recovery, limit};

/// Lines without anything new after which a layer is left, with few inputs: there a line misses boundaries of which
/// only a short piece is to be seen, and costs little.
const FEW_INPUTS_QUIET: usize = 10;

/// The same for the first layer with very many inputs, where a line costs little beside a row.
const VERY_MANY_QUIET: usize = 4;

/// Lines in a row that show nothing new, where hyperplanes lie far out, before a fit that is exact is believed.
const FAR_QUIET: usize = 2;

/// How many times farther than half of the hyperplanes that were found a line should reach.
const FAR: f64 = 8.0;

impl Recovery {
    /// Rows of the first layer.
    pub fn find_first(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        wanted: Option<usize>,
        attempt: usize,
    ) -> Result<Option<LastLayer>, Halt> {
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        let prefix = Prefix::empty(inquiry.inputs);
        let very_many = inquiry.inputs > MEASURED_INPUTS;
        let mut quiet = 0;
        for lines in 0..40 {
            let before = self.rows[0].len();
            let far = very_many && lie_far(inquiry, &self.rows[0]);
            let scales: &[f64] = if far { &[3.0, 10.0, 1.0, 30.0] } else { &[1.0, 1.0, 0.3, 3.0, 10.0] };
            let line = Line::random(inquiry, scales[lines % scales.len()]);
            first_layer(inquiry, &line, &mut self.rows[0], &mut self.pool)?;
            self.forget_explained(inquiry, &prefix, 0);
            if attempt > 0 && lines == 0 {
                first_layer_again(inquiry, &mut self.rows[0], &mut self.pool)?;
            }
            quiet = if self.rows[0].len() > before { 0 } else { quiet + 1 };
            if wanted.is_some_and(|wanted| self.rows[0].len() >= wanted) {
                break;
            }
            if self.pool.is_empty() && !self.rows[0].is_empty() {
                let far = very_many && lie_far(inquiry, &self.rows[0]);
                let fit = Rows::new(&self.rows[0]).and_then(|rows| last_layer(inquiry, &prefix, &rows));
                if fit.as_ref().is_some_and(|fit| fit.residual < limit(inquiry))
                    && (!far || quiet >= FAR_QUIET)
                {
                    return Ok(fit);
                }
            }
            if quiet >= if very_many { VERY_MANY_QUIET } else { 2 } + attempt {
                break;
            }
        }
        if attempt == 0 && very_many {
            // Now that most hyperplanes are known, what was not told from a bend before may be.
            first_layer_again(inquiry, &mut self.rows[0], &mut self.pool)?;
            self.forget_explained(inquiry, &prefix, 0);
        }
        Ok(Rows::new(&self.rows[0]).and_then(|rows| last_layer(inquiry, &prefix, &rows)))
    }

    /// Rows of the layer behind `prefix`.
    pub fn find_deeper(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        prefix: &Prefix,
        carry: Option<Carry>,
        wanted: Option<usize>,
        attempt: usize,
    ) -> Result<Option<LastLayer>, Halt> {
        let index = prefix.layers.len();
        while self.rows.len() <= index {
            self.rows.push(Vec::new());
        }
        let mut layer = Layer { index, prefix, carry, open: Vec::new() };
        self.pool.iter_mut().for_each(|kink| kink.tries = 0);
        let (mut quiet, mut searches, mut fit, mut open_before) = (0, 0, None, 0);
        for lines in 0..60 {
            let mut new = layer.harvest(inquiry, &mut self.rows[index], &mut self.pool, wanted)?;
            new += layer.agree(inquiry, &mut self.rows[index], &self.pool)?;
            if inquiry.inputs <= ALWAYS_TRACED_INPUTS {
                new += layer.open.len().saturating_sub(open_before);
                open_before = layer.open.len();
            }
            quiet = if new > 0 { 0 } else { quiet + 1 };
            inquiry.note(self.rows[index].len(), self.pool.len());
            fit = Rows::new(&self.rows[index])
                .filter(|rows| rows.len() > 0)
                .and_then(|rows| last_layer(inquiry, prefix, &rows));
            if wanted.is_some_and(|wanted| self.rows[index].len() >= wanted) {
                break;
            }
            if fit.as_ref().is_some_and(|fit| fit.residual < limit(inquiry)) {
                break;
            }
            let mut seen = self.rows[index].clone();
            if quiet >= 1
                && inquiry.inputs <= TRACED_INPUTS
                && let Some(closed) =
                    close(inquiry, prefix, &self.rows[index], &mut layer.open, limit(inquiry))
            {
                if closed.residual < limit(inquiry) {
                    self.accept(index, closed.rows, closed.chosen);
                    fit = Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, prefix, &rows));
                    break;
                }
                if inquiry.inputs <= ALWAYS_TRACED_INPUTS {
                    seen = closed.rows;
                }
            }
            if quiet >= 1 && self.saturate(inquiry, &mut layer) {
                fit = Rows::new(&self.rows[index]).and_then(|rows| last_layer(inquiry, prefix, &rows));
                break;
            }
            if quiet >= 1 && searches < 12 && !seen.is_empty() {
                searches += 1;
                inquiry.begin(index, ExtractStep::Counterexamples);
                let rows = Rows::new(&seen).expect("rows of one length");
                let kinks = counterexamples(inquiry, prefix, &rows)?;
                let fresh = self.add(inquiry, prefix, &seen, kinks);
                if fresh > 0 && quiet < 4 {
                    continue;
                }
            }
            let few = inquiry.inputs <= ALWAYS_TRACED_INPUTS;
            if quiet >= if few { FEW_INPUTS_QUIET } else { 3 } + attempt {
                break;
            }
            inquiry.begin(index, ExtractStep::Lines);
            let scale = if few {
                [1.0, 0.3, 0.1, 0.5][lines % 4]
            } else {
                [1.0, 0.3, 1.0, 3.0, 10.0][(lines + quiet) % if quiet >= 2 { 5 } else { 3 }]
            };
            let line =
                if lines % 2 == 1 { Line::extreme(inquiry, prefix) } else { Line::random(inquiry, scale) };
            let (kinks, _) = line.sweep(inquiry, prefix, &seen, 13)?;
            self.add(inquiry, prefix, &seen, kinks);
        }
        Ok(fit)
    }

    /// Takes rows some of whose weights were chosen for those of the last hidden layer.
    fn accept(&mut self, index: usize, rows: Vec<Row>, chosen: usize) {
        self.rows[index] = rows;
        self.closed = Some(index);
        if chosen > 0 {
            self.guesses.push(format!(
                "the boundaries of neurons of hidden layer {} leave {chosen} direction{} of their rows open, and rows were taken that keep the neurons in \
                 the states they were seen in",
                index + 1,
                if chosen == 1 { "" } else { "s" }
            ));
        }
    }

    /// Whether one open row completes the last hidden layer.
    fn saturate(&mut self, inquiry: &Inquiry<'_>, layer: &mut Layer<'_>) -> bool {
        let limit = limit(inquiry);
        if inquiry.inputs <= ALWAYS_TRACED_INPUTS {
            return false;
        }
        for open in std::mem::take(&mut layer.open) {
            let open = open.boundary;
            if let Some(row) = saturate(inquiry, layer.prefix, &self.rows[layer.index], &open, limit) {
                let count = open.unknown(None).count();
                self.guesses.push(format!(
                    "{count} weight{} of a neuron of hidden layer {} could not be seen: wherever the neuron before is active, this one was seen in one \
                     state only, and a weight that keeps it there was taken",
                    if count == 1 { "" } else { "s" },
                    layer.index + 1
                ));
                self.rows[layer.index].push(row);
                return true;
            }
        }
        false
    }

    /// Adds kinks that none of the rows explains to the pool.
    fn add(&mut self, inquiry: &Inquiry<'_>, prefix: &Prefix, rows: &[Row], kinks: Vec<Kink>) -> usize {
        let before = self.pool.len();
        self.pool.extend(kinks.into_iter().filter(|kink| !explains(inquiry, prefix, rows, &kink.x)));
        self.pool.len() - before
    }

    fn forget_explained(&mut self, inquiry: &Inquiry<'_>, prefix: &Prefix, index: usize) {
        let rows = &self.rows[index];
        self.pool.retain(|kink| !explains(inquiry, prefix, rows, &kink.x));
    }
}

/// Whether most hyperplanes of the rows are so far from the centre that a usual line may miss others: of a step along
/// it only a part, by the root of the number of inputs, leads towards a hyperplane.
fn lie_far(inquiry: &Inquiry<'_>, rows: &[Row]) -> bool {
    let mut distances: Vec<f64> = rows.iter().map(|(w, b)| b.abs() / norm(w)).collect();
    distances.sort_by(f64::total_cmp);
    let median = distances.get(distances.len() / 2).copied().unwrap_or(0.0);
    FAR * median * (inquiry.inputs as f64).sqrt() > LINE_REACH * inquiry.radius
}
