//! Local robustness: is the class certain on balls around the rows of a table?

use fiberscope::difference::{Certainty, Class, DifferenceOptions, class};
use fiberscope_core::{Domain, Network, Rational, decimal};
use serde_json::{Value, json};

use super::around::ball;
use crate::Say;
use crate::equivalence::{point, tolerance_text};
use crate::json::{lower, number};
use crate::number::grouped;

/// Of more rows so many are listed in text.
const SHOWN: usize = 20;

/// The classes around rows.
#[derive(Clone, Debug)]
pub struct Classes {
    radius: Rational,
    /// One entry per row that was reached; `None` where the row itself lies outside the box.
    found: Vec<Option<Class>>,
    rows: usize,
    /// Of a single output the class is its sign.
    signs: bool,
}

/// Asks for the balls `[x - radius, x + radius]`, cut with the domain, one row after the other. Time that is left
/// is shared by the rows that are left.
pub fn classes(
    network: &Network,
    points: &[Vec<f64>],
    radius: &Rational,
    domain: &Domain,
    options: &DifferenceOptions,
    say: Say,
) -> anyhow::Result<Classes> {
    let mut found = Vec::new();
    for (row, x) in points.iter().enumerate() {
        if options.deadline.is_past() {
            break;
        }
        say(&format!("row {} of {}", row + 1, points.len()));
        let mut here = options.clone();
        if let Some(left) = options.deadline.left() {
            here.deadline = options.deadline.at_most(left / (points.len() - row) as u32);
        }
        let exact: Option<Vec<Rational>> = x.iter().map(|&x| Rational::from_f64(x)).collect();
        let inside = exact.is_some_and(|x| domain.contains(&x));
        found.push(match ball(x, radius, domain).filter(|_| inside) {
            Some(ball) => Some(class(network, x, &ball, &here)?),
            None => None,
        });
    }
    let signs = network.output_width() == 1;
    Ok(Classes { radius: radius.clone(), found, rows: points.len(), signs })
}

impl Classes {
    fn decided(&self) -> impl Iterator<Item = &Class> {
        self.found.iter().flatten()
    }

    fn count(&self, wanted: fn(&Certainty) -> bool) -> usize {
        self.decided().filter(|found| wanted(&found.certainty)).count()
    }

    /// Whether the class is certain on all balls, or not on one; `None` if neither is known.
    pub fn holds(&self) -> Option<bool> {
        if self.count(|certainty| matches!(certainty, Certainty::Broken { .. })) > 0 {
            return Some(false);
        }
        let certain = self.count(|certainty| matches!(certainty, Certainty::Certain(_)));
        // Rows outside the box say nothing.
        (certain > 0 && self.found.len() == self.rows && certain == self.decided().count()).then_some(true)
    }

    /// The word for a class.
    fn name(&self, class: usize) -> String {
        match (self.signs, class) {
            (true, 1) => "positive".into(),
            (true, _) => "not positive".into(),
            (false, class) => format!("class {}", class + 1),
        }
    }

    fn line(&self, found: &Class) -> String {
        let own = self.name(found.class);
        match &found.certainty {
            Certainty::Certain(margin) if self.signs => {
                format!("{own}, certain: the output is at least {} away from 0", decimal::lower(margin))
            }
            Certainty::Certain(margin) => {
                format!(
                    "{own}, certain: its output exceeds every other one by at least {}",
                    decimal::lower(margin)
                )
            }
            Certainty::Broken { x, outputs, .. } if self.signs => {
                format!(
                    "{own}, not certain: at x = {} the output is {} (evaluated exactly)",
                    point(x),
                    point(outputs)
                )
            }
            Certainty::Broken { x, outputs, class } => {
                let by = &outputs[*class] - &outputs[found.class];
                let how = if by.is_zero() {
                    "as large".to_owned()
                } else {
                    format!("larger by {}", decimal::lower(&by))
                };
                format!(
                    "{own}, not certain: at x = {} {} is {how} (evaluated exactly)",
                    point(x),
                    self.name(*class)
                )
            }
            Certainty::Undecided => format!("{own}, undecided"),
        }
    }

    /// The table as text.
    pub fn text(&self) -> String {
        let mut out = format!(
            "balls of radius {} around {} rows: is the class the same in the whole ball?\n",
            tolerance_text(&self.radius),
            grouped(self.rows)
        );
        for (row, found) in self.found.iter().enumerate().take(SHOWN) {
            let told = found.as_ref().map_or("outside the box".into(), |found| self.line(found));
            out += &format!("  row {}: {told}\n", row + 1);
        }
        if self.found.len() > SHOWN {
            out += &format!("  ... ({} rows in all)\n", grouped(self.found.len()));
        }
        out += &format!(
            "certain: {}; not certain: {}; undecided: {}\n",
            self.count(|certainty| matches!(certainty, Certainty::Certain(_))),
            self.count(|certainty| matches!(certainty, Certainty::Broken { .. })),
            self.count(|certainty| *certainty == Certainty::Undecided)
        );
        if self.found.len() < self.rows {
            out += &format!("a limit came before the last {} rows\n", grouped(self.rows - self.found.len()));
        }
        out
    }

    /// The same with the keys of `fiberscope bounds --around --json`; classes count from 1, signs are 0 and 1.
    pub fn value(&self) -> Value {
        let numbers = |xs: &[Rational]| -> Vec<Value> { xs.iter().map(number).collect() };
        let class = |class: usize| if self.signs { class } else { class + 1 };
        let row = |(row, found): (usize, &Option<Class>)| {
            let Some(found) = found else { return json!({"row": row + 1, "outside": true}) };
            let mut value =
                json!({"row": row + 1, "class": class(found.class), "certain": null, "cells": found.cells});
            match &found.certainty {
                Certainty::Certain(margin) => {
                    value["certain"] = json!(true);
                    value["margin"] = lower(margin);
                }
                Certainty::Broken { x, outputs, class: other } => {
                    value["certain"] = json!(false);
                    let exact: Vec<String> = x.iter().map(ToString::to_string).collect();
                    value["witness"] = json!({"x": numbers(x), "outputs": numbers(outputs), "class": class(*other), "x_exact": exact});
                }
                Certainty::Undecided => {}
            }
            value
        };
        json!({
            "radius": number(&self.radius),
            "rows": self.found.iter().enumerate().map(row).collect::<Vec<_>>(),
            "of": self.rows,
            "certain": self.count(|certainty| matches!(certainty, Certainty::Certain(_))),
            "broken": self.count(|certainty| matches!(certainty, Certainty::Broken { .. })),
            "undecided": self.count(|certainty| *certainty == Certainty::Undecided),
        })
    }
}
