//! What happens along a run: which neurons die or become linear on the data and when, when the functional
//! dimension changes, and which conserved quantities drift.
//!
//! The data tell between which two records something changed, not more: a neuron that dies and comes back
//! between two records is not seen. The dimension of the kernel, parameters less functional dimension, is that of
//! the directions in which the values on the data do not change to first order; where the rank is the same at
//! all parameters near by it is the dimension of the fiber, and nothing here tells whether it is.

use fiberscope::train::TrainRecord;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::number::significant;

/// A run: what was recorded at some moments.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Dynamics {
    /// The title.
    pub title: String,
    /// What moments are counted in: epochs, or steps.
    pub unit: String,
    /// The number of parameters.
    pub parameters: usize,
    /// The records.
    pub moments: Vec<Moment>,
    /// Trainings of the same length with other steps: the step, and the largest drift at the end.
    #[serde(default)]
    pub drifts: Vec<(f64, f64)>,
}

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Moment {
    /// When.
    pub at: u64,
    /// The loss, if it is known.
    pub loss: Option<f64>,
    /// Certified bounds of the functional dimension, if they are known.
    pub rank: Option<(usize, usize)>,
    /// About the probability that the functional dimension is above its lower bound.
    #[serde(default)]
    pub doubt: Option<f64>,
    /// The states of hidden neurons, a text per layer: `~` active at some inputs, `+` at all, `0` at none.
    pub states: Vec<String>,
    /// The change of conserved quantities since the start, layer by layer.
    pub changes: Vec<Vec<f64>>,
}

/// Something that changed between two records.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The last record before.
    pub after: u64,
    /// The first record with the change.
    pub until: u64,
    /// What changed.
    pub change: Change,
}

/// What can change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The state of a neuron: layer and number from 0, the sign before and the sign now.
    Neuron(usize, usize, char, char),
    /// The functional dimension on the data.
    Dimension(usize, usize),
}

/// A state in words.
fn state(sign: char) -> &'static str {
    match sign {
        '+' => "linear",
        '0' => "dead",
        _ => "nonlinear",
    }
}

/// The largest doubt with which the lower bound of a functional dimension counts as its value.
const DOUBT: f64 = 1e-6;

impl Moment {
    /// The functional dimension: proved, or but for a small doubt.
    fn dimension(&self) -> Option<usize> {
        let (rank, upper) = self.rank?;
        (rank == upper || self.doubt.is_some_and(|doubt| doubt <= DOUBT)).then_some(rank)
    }
}

impl Dynamics {
    /// The run of a training.
    pub fn of_records(title: String, parameters: usize, records: &[TrainRecord]) -> Self {
        let moment = |record: &TrainRecord| Moment {
            at: record.epoch,
            loss: Some(record.loss),
            rank: (record.rank_upper > 0).then_some((record.rank, record.rank_upper)),
            doubt: Some(record.rank_doubt),
            states: record.states.clone(),
            changes: record.changes.clone(),
        };
        let moments = records.iter().map(moment).collect();
        Dynamics { title, unit: "epoch".into(), parameters, moments, drifts: Vec::new() }
    }

    /// What changed from record to record, in order. A dimension counts where both are proved, or known but for a
    /// small doubt.
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut seen: Option<&Moment> = None;
        let mut ranked: Option<(u64, usize)> = None;
        for moment in &self.moments {
            if let Some(before) = seen.filter(|_| !moment.states.is_empty()) {
                let (after, until) = (before.at, moment.at);
                for (layer, (old, new)) in before.states.iter().zip(&moment.states).enumerate() {
                    let pairs = old.chars().zip(new.chars()).enumerate().filter(|(_, (old, new))| old != new);
                    events.extend(pairs.map(|(unit, (old, new))| Event {
                        after,
                        until,
                        change: Change::Neuron(layer, unit, old, new),
                    }));
                }
            }
            if !moment.states.is_empty() {
                seen = Some(moment);
            }
            if let Some(rank) = moment.dimension() {
                if let Some((after, old)) = ranked.filter(|(_, old)| *old != rank) {
                    events.push(Event { after, until: moment.at, change: Change::Dimension(old, rank) });
                }
                ranked = Some((moment.at, rank));
            }
        }
        events
    }

    /// The records that know bounds of the functional dimension only, with more than a small doubt.
    pub fn undecided(&self) -> usize {
        self.moments.iter().filter(|moment| moment.rank.is_some() && moment.dimension().is_none()).count()
    }

    /// The records whose functional dimension is not proved but known except for a small doubt, and the largest
    /// doubt.
    pub fn doubted(&self) -> (usize, f64) {
        let is = |moment: &&Moment| {
            moment.rank.is_some_and(|(rank, upper)| rank < upper) && moment.dimension().is_some()
        };
        let doubts = self.moments.iter().filter(is).filter_map(|moment| moment.doubt);
        doubts.fold((0, 0.0), |(count, most), doubt| (count + 1, doubt.max(most)))
    }

    /// The neuron of every hidden layer whose conserved quantity changed most until the end: its number from
    /// 0, and the change.
    pub fn largest(&self) -> Vec<(usize, f64)> {
        let Some(last) = self.moments.last() else { return Vec::new() };
        let most = |layer: &Vec<f64>| {
            let entries = layer.iter().copied().enumerate();
            entries.max_by(|(_, x), (_, y)| x.abs().total_cmp(&y.abs())).unwrap_or((0, 0.0))
        };
        last.changes.iter().map(most).collect()
    }

    /// By which power of the step the drift at the end grows, from each halving: 1 for gradient descent.
    pub fn orders(&self) -> Vec<f64> {
        let order = |pair: &[(f64, f64)]| (pair[0].1 / pair[1].1).ln() / (pair[0].0 / pair[1].0).ln();
        self.drifts.windows(2).map(order).collect()
    }

    /// A few lines for a terminal.
    pub fn to_text(&self) -> String {
        let events = self.events();
        let became = |sign: char| {
            let is = |event: &&Event| matches!(event.change, Change::Neuron(_, _, _, now) if now == sign);
            events.iter().filter(is).count()
        };
        let mut text = String::new();
        if self.moments.iter().any(|moment| !moment.states.is_empty()) {
            text += &format!(
                "  changes of neurons on the data: {} to dead, {} to linear, {} to nonlinear\n",
                became('0'),
                became('+'),
                became('~')
            );
        }
        let dimensions: Vec<&Event> =
            events.iter().filter(|event| matches!(event.change, Change::Dimension(..))).collect();
        if let (Some(first), Some(last)) = (dimensions.first(), dimensions.last())
            && let (Change::Dimension(start, _), Change::Dimension(_, end)) = (&first.change, &last.change)
        {
            text += &format!(
                "  parameters less functional dimension on the data: {} to {} in {} change(s), the last one between {}s {} and {}\n",
                self.parameters.saturating_sub(*start),
                self.parameters.saturating_sub(*end),
                dimensions.len(),
                self.unit,
                last.after,
                last.until
            );
        }
        if let (doubted @ 1.., doubt) = self.doubted() {
            text += &format!(
                "  at {doubted} of {} records the functional dimension is proved from below; with a probability of about {} it is larger\n",
                self.moments.len(),
                significant(doubt, 1)
            );
        }
        if self.undecided() > 0 {
            text += &format!(
                "  the functional dimension is not decided at {} of {} records, which have bounds; changes there are not told\n",
                self.undecided(),
                self.moments.len()
            );
        }
        let drifts: Vec<String> = (1..)
            .zip(self.largest())
            .map(|(layer, (unit, change))| {
                format!("layer {layer}: {} (neuron {})", significant(change, 3), unit + 1)
            })
            .collect();
        if !drifts.is_empty() {
            text += &format!("  largest change of |w_out|^2 - |w_in|^2 - b^2: {}\n", drifts.join("; "));
        }
        for (at, &(step, drift)) in self.drifts.iter().enumerate() {
            let order = at.checked_sub(1).and_then(|before| self.orders().get(before).copied());
            let order = order
                .filter(|order| order.is_finite())
                .map_or(String::new(), |order| format!(", as the step to the power {order:.2}"));
            text +=
                &format!("  step {}: largest drift {}{order}\n", significant(step, 4), significant(drift, 4));
        }
        text
    }

    /// The same as a JSON value, with every event.
    pub fn to_json(&self) -> Value {
        let event = |event: &Event| match event.change {
            Change::Neuron(layer, unit, old, new) => json!({
                "after": event.after, "until": event.until, "layer": layer + 1, "neuron": unit + 1,
                "before": state(old), "now": state(new),
            }),
            Change::Dimension(old, new) => json!({
                "after": event.after, "until": event.until,
                "functional_dimension_before": old, "functional_dimension": new,
                "kernel_dimension": self.parameters.saturating_sub(new),
            }),
        };
        let largest = |(layer, (unit, change)): (usize, (usize, f64))| json!({"layer": layer, "neuron": unit + 1, "change": change});
        json!({
            "unit": self.unit,
            "events": self.events().iter().map(event).collect::<Vec<_>>(),
            "largest_drift": (1..).zip(self.largest()).map(largest).collect::<Vec<_>>(),
            "drift_by_step": self.drifts.iter().map(|(step, drift)| json!({"step": step, "drift": drift})).collect::<Vec<_>>(),
            "orders": self.orders(),
            "undecided_dimensions": self.undecided(),
            "doubted_dimensions": self.doubted().0,
            "doubt": self.doubted().1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at: u64, states: &str, rank: Option<(usize, usize)>, change: f64) -> Moment {
        let states = if states.is_empty() { Vec::new() } else { vec![states.to_owned()] };
        Moment { at, loss: Some(1.0), rank, doubt: None, states, changes: vec![vec![0.0, change]] }
    }

    #[test]
    fn events_lie_between_the_records_that_know() {
        let run = Dynamics {
            unit: "epoch".into(),
            parameters: 10,
            moments: vec![
                moment(0, "~~", Some((7, 7)), 0.0),
                moment(10, "", Some((6, 8)), 0.1),
                moment(20, "0~", Some((6, 6)), -0.4),
                moment(30, "0+", None, -0.25),
            ],
            drifts: vec![(0.1, 0.4), (0.05, 0.2), (0.025, 0.05)],
            ..Dynamics::default()
        };
        let events = run.events();
        let neuron =
            |after, until, unit, old, new| Event { after, until, change: Change::Neuron(0, unit, old, new) };
        assert_eq!(events[0], neuron(0, 20, 0, '~', '0'));
        assert_eq!(events[1], Event { after: 0, until: 20, change: Change::Dimension(7, 6) });
        assert_eq!(events[2..], [neuron(20, 30, 1, '~', '+')]);
        assert_eq!(run.largest(), [(1, -0.25)]);
        let orders = run.orders();
        assert!((orders[0] - 1.0).abs() < 1e-12 && (orders[1] - 2.0).abs() < 1e-12, "{orders:?}");
        let text = run.to_text();
        assert!(text.contains("1 to dead, 1 to linear, 0 to nonlinear"), "{text}");
        assert!(text.contains("3 to 4 in 1 change(s), the last one between epochs 0 and 20"), "{text}");
        assert_eq!(run.to_json()["events"][1]["kernel_dimension"], 4);
        assert!(text.contains("is not decided at 1 of 4 records"), "{text}");
        assert_eq!(run.to_json()["undecided_dimensions"], 1);
        assert_eq!(Dynamics::default().to_text(), "");
    }

    #[test]
    fn values_with_a_small_doubt_are_told_with_it() {
        let at = |at, rank, doubt| Moment { doubt: Some(doubt), ..moment(at, "~~", Some(rank), 0.0) };
        let moments =
            vec![at(0, (7, 8), 2e-16), at(1, (6, 6), 0.0), at(2, (4, 8), 0.1), at(3, (5, 8), 4e-16)];
        let run = Dynamics { unit: "epoch".into(), parameters: 10, moments, ..Dynamics::default() };
        let changes: Vec<Change> = run.events().into_iter().map(|event| event.change).collect();
        assert_eq!(changes, [Change::Dimension(7, 6), Change::Dimension(6, 5)]);
        let text = run.to_text();
        assert!(text.contains("3 to 5 in 2 change(s), the last one between epochs 1 and 3"), "{text}");
        assert!(text.contains("at 2 of 4 records the functional dimension is proved from below"), "{text}");
        assert!(text.contains("with a probability of about 4e-16 it is larger"), "{text}");
        assert!(text.contains("is not decided at 1 of 4 records"), "{text}");
    }
}
