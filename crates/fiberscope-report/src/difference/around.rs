//! Balls around the rows of a table.

use crate::json::{lower, number, upper};
use crate::number::grouped;
use fiberscope::difference::{Decision, Difference, DifferenceOptions, Ended, measure};
use fiberscope_core::{Domain, Interval, Network, Rational};
use serde_json::{Value, json};

use super::{Asked, witness};
use crate::Say;

/// Bins of the histogram of upper bounds: powers of ten.
const BINS: std::ops::RangeInclusive<i32> = -12..=6;

/// The difference on the ball around one row.
#[derive(Clone, Debug)]
pub struct Ball {
    /// The row, from 0.
    pub row: usize,
    /// The difference there; `None` if no part of the ball lies in the box.
    pub found: Option<Difference>,
}

/// The differences on balls around rows.
#[derive(Clone, Debug)]
pub struct Around {
    /// The radius of the balls, in every input.
    pub radius: Rational,
    /// One ball per row.
    pub balls: Vec<Ball>,
    /// How many rows there are; a limit may have come before the last one.
    pub rows: usize,
}

/// Measures the difference on the balls `[x - radius, x + radius]`, cut with the domain, one row after the
/// other. Time that is left is shared by the rows that are left.
pub fn around(
    (a, b): (&Network, &Network),
    points: &[Vec<f64>],
    radius: &Rational,
    domain: &Domain,
    (asked, options): (&Asked, &DifferenceOptions),
    say: Say,
) -> anyhow::Result<Around> {
    let mut balls = Vec::new();
    for (row, x) in points.iter().enumerate() {
        if options.deadline.is_past() {
            break;
        }
        say(&format!("row {} of {}", row + 1, points.len()));
        let mut here = options.clone().gap(asked.gap);
        here.epsilon.clone_from(&asked.epsilon);
        if let Some(left) = options.deadline.left() {
            here.deadline = options.deadline.at_most(left / (points.len() - row) as u32);
        }
        let found = match ball(x, radius, domain) {
            Some(ball) => Some(measure(a, b, &ball, &here)?),
            None => None,
        };
        balls.push(Ball { row, found });
    }
    Ok(Around { radius: radius.clone(), balls, rows: points.len() })
}

/// The ball around a point inside the domain; `None` if there is none.
pub(super) fn ball(x: &[f64], radius: &Rational, domain: &Domain) -> Option<Domain> {
    let sides = domain.sides(x.len());
    let side = |(x, side): (&f64, &Interval)| {
        let centre = Rational::from_f64(*x)?;
        let (mut from, mut to) = (&centre - radius, &centre + radius);
        if let Some(lower) = side.lower.clone() {
            from = from.max(lower);
        }
        if let Some(upper) = side.upper.clone() {
            to = to.min(upper);
        }
        (from <= to).then(|| Interval::new(from, to))
    };
    x.iter().zip(&sides).map(side).collect::<Option<_>>().map(Domain::Box)
}

impl Around {
    fn found(&self) -> impl Iterator<Item = (usize, &Difference)> {
        self.balls.iter().filter_map(|ball| Some((ball.row, ball.found.as_ref()?)))
    }

    /// How many balls have this decision.
    pub fn count(&self, decision: Decision) -> usize {
        self.found().filter(|(_, found)| found.decision == Some(decision)).count()
    }

    /// Whether the question is answered with yes on all balls, with no on one; `None` if neither is known.
    pub fn holds(&self, asked: &Asked) -> Option<bool> {
        if self.found().any(|(_, found)| asked.holds(found) == Some(false)) {
            return Some(false);
        }
        let bounded = |(_, found)| asked.holds(found) == Some(true);
        let all = self.balls.len() == self.rows && self.found().all(bounded);
        // Balls that lie outside the box say nothing.
        (all && self.found().next().is_some()).then_some(true)
    }

    /// How many upper bounds lie in each power of ten: the exponents and the counts.
    fn histogram(&self) -> Vec<(i32, usize)> {
        let mut bins: Vec<(i32, usize)> = BINS.map(|exponent| (exponent, 0)).collect();
        for upper in self.found().filter_map(|(_, found)| found.upper.as_ref()) {
            let exponent =
                upper.to_f64().log10().ceil().clamp(f64::from(*BINS.start()), f64::from(*BINS.end()));
            if let Some(bin) = bins.iter_mut().find(|(bin, _)| f64::from(*bin) == exponent) {
                bin.1 += 1;
            }
        }
        bins.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// The keys of `around` in the JSON of `fiberscope diff`. `histogram` counts upper bounds that are at
    /// most a power of ten and more than the one before.
    pub fn value(&self) -> Value {
        let rows: Vec<Value> = self
            .balls
            .iter()
            .map(|ball| match &ball.found {
                None => json!({"row": ball.row + 1, "outside": true}),
                Some(found) => json!({
                    "row": ball.row + 1,
                    "lower": lower(&found.lower),
                    "upper": found.upper.as_ref().map(upper),
                    "decision": found.decision.map(Decision::name),
                    "cells": found.cells,
                    "limit": match found.ended { Ended::Limit(limit) => Some(limit.name()), _ => None },
                }),
            })
            .collect();
        let bins: Vec<Value> = self
            .histogram()
            .into_iter()
            .map(|(exponent, count)| json!({"at_most": format!("1e{exponent}"), "rows": count}))
            .collect();
        json!({"radius": number(&self.radius), "rows": rows, "of": self.rows, "histogram": bins})
    }

    /// The bounds of an output over all balls: the largest of each. Where a ball has none, or was not reached,
    /// there is no upper bound.
    fn output(&self, k: usize, complete: bool) -> Value {
        let of = || self.found().map(|(_, found)| &found.outputs[k]);
        let most: Option<Vec<&Rational>> = of().map(|bounds| bounds.upper.as_ref()).collect();
        let most = most.filter(|_| complete).and_then(|all| all.into_iter().max());
        json!({"lower": of().map(|bounds| &bounds.lower).max().map(lower), "upper": most.map(upper)})
    }

    /// Bounds over all balls, with the keys of `fiberscope diff --json`.
    pub fn summary(&self, asked: &Asked) -> Value {
        let complete = self.balls.len() == self.rows;
        let outputs = self.found().next().map_or(0, |(_, found)| found.outputs.len());
        let worst = self.found().max_by(|x, y| x.1.lower.cmp(&y.1.lower));
        let all: Option<Vec<&Rational>> = self.found().map(|(_, found)| found.upper.as_ref()).collect();
        let most = all.filter(|_| complete).and_then(|all| all.into_iter().max());
        let decision = asked.epsilon.as_ref().map(|_| match self.holds(asked) {
            Some(true) => Decision::Within,
            Some(false) => Decision::Exceeds,
            None => Decision::Undecided,
        });
        json!({
            "lower": worst.map(|(_, found)| lower(&found.lower)),
            "upper": most.map(upper),
            "witness": worst.and_then(|(_, found)| found.worst.as_ref()).map(witness),
            "decision": decision.map(Decision::name),
            "epsilon": asked.epsilon.as_ref().map(number),
            "gap": asked.gap,
            "outputs": (0..outputs).map(|k| self.output(k, complete)).collect::<Vec<_>>(),
            "cells": self.found().map(|(_, found)| found.cells).sum::<usize>(),
            "around": self.value(),
        })
    }

    /// The table and the histogram as text.
    pub fn text(&self, asked: &Asked) -> String {
        const SHOWN: usize = 20;
        let mut out = format!(
            "balls of radius {} around {} rows: certified bounds of the largest difference\n",
            super::tolerance_text(&self.radius),
            grouped(self.rows)
        );
        for ball in self.balls.iter().take(SHOWN) {
            let told = match &ball.found {
                None => "outside the box".into(),
                Some(found) => {
                    let decided =
                        found.decision.map_or(String::new(), |decision| format!(", {}", decision.name()));
                    format!("{}{decided}", super::between(&found.lower, found.upper.as_ref()))
                }
            };
            out += &format!("  row {}: {told}\n", ball.row + 1);
        }
        if self.balls.len() > SHOWN {
            out += &format!("  ... ({} rows in all)\n", self.balls.len());
        }
        for (exponent, count) in self.histogram() {
            out += &format!("  {} at most 1e{exponent}\n", rows_text(count));
        }
        if let Some(epsilon) = &asked.epsilon {
            out += &format!(
                "within {}: {}; beyond: {}; undecided: {}\n",
                super::tolerance_text(epsilon),
                self.count(Decision::Within),
                self.count(Decision::Exceeds),
                self.count(Decision::Undecided)
            );
        }
        if self.balls.len() < self.rows {
            out += &format!("a limit came before the last {} rows\n", self.rows - self.balls.len());
        }
        out
    }
}

fn rows_text(count: usize) -> String {
    if count == 1 { "1 row".into() } else { format!("{} rows", grouped(count)) }
}
