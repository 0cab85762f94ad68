//! How far apart two networks are, as a section of a page.

use std::time::Duration;

use fiberscope::difference::{Difference, DifferenceOptions, DifferenceProgress, Ended, GAP, measure};
use fiberscope::limit::{Deadline, Progress};
use fiberscope_core::{Evidence, Matrix, Rational, decimal};

use super::{Asked, Compared, Rows, on_data, pictures, rows, sides};
use crate::Say;
use crate::equivalence::point;
use crate::number::{grouped, significant, significant_upper};
use crate::page::{Badge, Cell, Figure, Section, Table};
use crate::words::apart;

/// A page does not wait longer for the bounds.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the upper bounds rest on, by the kind of their certificate.
const BOXES: &str = "the upper bounds: the certificate of kind `difference` below, a tree of boxes whose bounds the checker computes again with proved errors (its lemmas stand with their proofs in the description of the certificate format). ";
const PARAMETERS: &str = "the upper bounds: the certificate of kind `KIND` below, a matching of the neurons and a bound that the checker computes again layer by layer (its lemmas stand with their proofs in the description of the certificate format). ";
const MOVES: &str = "the upper bounds: the certificate of kind `moves` below, rewriting steps that make the same network of both. ";
/// What everything else rests on.
const EVALUATED: &str = "The lower bounds: exact evaluation of both networks at the points that are named. Pictures and numbers on data are computed in doubles.";

/// What the section rests on.
fn statement(found: &Difference) -> String {
    let upper = match found.certificate.as_ref().map(|certificate| &certificate.evidence) {
        None => String::new(),
        Some(Evidence::Moves { .. }) => MOVES.into(),
        Some(Evidence::Rounding { .. }) => PARAMETERS.replace("KIND", "rounding"),
        Some(Evidence::Nudged { .. }) => PARAMETERS.replace("KIND", "nudged"),
        Some(_) => BOXES.into(),
    };
    format!("{upper}{EVALUATED}")
}

/// What is known of the difference of two networks on a bounded box, and the page's section about it.
pub struct Apart {
    /// The bounds.
    pub found: Difference,
    /// The section.
    pub section: Section,
}

/// Bounds the difference for a while and tells what came out; `None` if the box is not bounded, or the networks
/// cannot be compared.
pub fn section(
    of: &Compared,
    data: Option<(&str, &Matrix)>,
    seed: u64,
    deadline: &Deadline,
    say: Say,
) -> anyhow::Result<Option<Apart>> {
    let (a, b) = of.networks;
    let Some(sides) = sides(of.domain) else { return Ok(None) };
    let points = data.map(|(_, table)| rows(table, a.input_width())).transpose()?;
    let on_rows = match &points {
        Some(points) => Some(on_data(a, b, points, Some(&sides))?),
        None => None,
    };
    let progress = |now: DifferenceProgress| say(&apart(now));
    let options = DifferenceOptions::new()
        .seed(seed)
        .points(points.unwrap_or_default())
        .deadline(deadline.at_most(PATIENCE))
        .progress(Progress::to(&progress));
    let Ok(found) = measure(a, b, of.domain, &options) else { return Ok(None) };
    let section = told(of, &found, data.map(|(place, _)| place).zip(on_rows.as_ref()));
    Ok(Some(Apart { found, section }))
}

fn told(of: &Compared, found: &Difference, data: Option<(&str, &Rows)>) -> Section {
    let (least, most) = (decimal::lower(&found.lower), found.upper.as_ref().map(decimal::upper));
    let badge = match (&found.upper, &most) {
        (Some(upper), _) if upper.is_zero() => Badge::good("no difference"),
        (_, Some(most)) => Badge::good(format!("at most {most}, proved")),
        (_, None) => Badge::open("no upper bound is known"),
    };
    let mut section = Section::new("How far apart").badge(badge);
    let sentence = match &most {
        Some(most) => format!(
            "On the whole box no output of {} differs from that of {} by more than {most}; at the worst input that was found they differ by {least}. So the largest difference lies between these two numbers.",
            of.names.0, of.names.1
        ),
        None => format!(
            "At the worst input that was found the networks differ by {least}; no upper bound is known."
        ),
    };
    section = section.paragraph(sentence);
    if let Ended::Limit(_) | Ended::Rounding | Ended::Boxes = found.ended
        && !Asked::plain(GAP).is_within_gap(found)
    {
        section = section.paragraph("The search was ended before the bounds met: `fiberscope diff` goes on as long as it is given time.");
    }
    if let Some(worst) = found.worst.as_ref().filter(|worst| worst.a != worst.b) {
        let (output, difference) = worst.largest();
        section = section.subheading("The worst input").table(
            Table::facts()
                .fact("x", Cell::text(point(&worst.x)))
                .fact(format!("{} at x", of.names.0), Cell::text(point(&worst.a)))
                .fact(format!("{} at x", of.names.1), Cell::text(point(&worst.b)))
                .fact(
                    "difference",
                    Cell::text(format!(
                        "{} in output {}, evaluated exactly",
                        decimal::lower(&difference),
                        output + 1
                    )),
                ),
        );
    }
    if found.outputs.len() > 1 {
        section = section.table(outputs(found));
    }
    if let Some((place, rows)) = data {
        section = section.subheading("On the data").table(on_rows(place, rows));
    }
    let figures = pictures(of, found, data.map(|(_, rows)| rows));
    let figures: Vec<Figure> =
        figures.into_iter().map(|(drawing, caption)| Figure { drawing, caption }).collect();
    if !figures.is_empty() {
        section = section.figures(figures);
    }
    section.statement(statement(found))
}

/// Of more outputs those with the largest bounds are listed.
const LISTED: usize = 20;

fn outputs(found: &Difference) -> Table {
    let mut order: Vec<usize> = (0..found.outputs.len()).collect();
    order.sort_by(|&x, &y| found.outputs[y].upper.cmp(&found.outputs[x].upper).then(x.cmp(&y)));
    order.truncate(LISTED);
    order.sort_unstable();
    let table = Table::new(["output", "at least", "at most (certified)"]);
    let table = order.iter().fold(table, |table, &k| {
        let bounds = &found.outputs[k];
        table.row([
            Cell::number((k + 1).to_string()),
            Cell::number(decimal::lower(&bounds.lower)),
            Cell::number(bounds.upper.as_ref().map_or("?".into(), decimal::upper)),
        ])
    });
    match found.outputs.len() > LISTED {
        true => {
            table.caption(format!("the {LISTED} outputs with the largest bounds, of {}", found.outputs.len()))
        }
        false => table.caption("largest difference of each output on the box"),
    }
}

fn on_rows(place: &str, rows: &Rows) -> Table {
    let quantiles: Vec<String> = rows
        .quantiles
        .iter()
        .map(|(part, value)| format!("{} %: {}", 100.0 * part, significant(*value, 4)))
        .collect();
    let largest = format!("{} in row {}", significant_upper(rows.largest.1, 4), grouped(rows.largest.0 + 1));
    let table = Table::facts()
        .fact("rows", Cell::text(format!("{} of {place}", grouped(rows.rows))))
        .fact("largest difference", Cell::text(largest))
        .fact("mean", Cell::text(significant(rows.mean, 4)))
        .fact("quantiles", Cell::text(quantiles.join(", ")))
        .fact(
            "same decision",
            Cell::text(format!("on {} of {} rows", grouped(rows.agree), grouped(rows.rows))),
        );
    match rows.inside {
        Some(inside) if inside < rows.rows => table.fact(
            "in the box",
            Cell::text(format!("{} rows; the bounds say nothing about the others", grouped(inside))),
        ),
        _ => table,
    }
}

impl Asked {
    /// The question without a number to compare with.
    fn plain(gap: f64) -> Self {
        Asked { epsilon: None::<Rational>, gap, size: None }
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Domain, Network};

    use super::*;
    use crate::page::Page;

    fn html(domain: &Domain, data: Option<(&str, &Matrix)>) -> Option<String> {
        let network = |w: f64| {
            Network::from_rows(&[
                (&[&[1.0, 0.0], &[-1.0, 0.5]], &[0.0, 0.0]),
                (&[&[1.0, w], &[1.0, 1.0]], &[0.0, 0.0]),
            ])
            .unwrap()
        };
        let (a, b) = (network(1.0), network(1.25));
        let of = Compared { networks: (&a, &b), names: ("a.json", "<b>"), domain };
        let made = section(&of, data, 0, &Deadline::NEVER, &|_| ()).unwrap()?;
        assert!(made.found.certificate.is_some());
        Some(Page::new("x").section(made.section).to_html())
    }

    #[test]
    fn the_section_has_bounds_the_worst_input_and_pictures() {
        let domain = Domain::from_bounds(&[(-1.0, 1.0), (-1.0, 1.0)]).unwrap();
        let data = Matrix::from_rows(&[[0.5, 0.5], [-1.0, 1.0], [3.0, 0.0]]).unwrap();
        let html = html(&domain, Some(("rows.csv", &data))).unwrap();
        // At (-1, 1) the second hidden neuron is 3/2, of which a quarter is 3/8.
        for text in ["Rests on:", "0.375", "(-1, 1)", "&lt;b&gt;", "heat-11", "in the box", "on 3 of 3 rows"]
        {
            assert!(html.contains(text), "{text}");
        }
        assert_eq!(html.matches("<figure>").count(), 3);
    }

    #[test]
    fn without_a_bounded_box_there_is_none() {
        assert!(html(&Domain::Space, None).is_none());
    }
}
