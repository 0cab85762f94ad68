//! The fiber as a section of a page.

use fiberscope::fiber::Condition;

use super::FiberSummary;
use crate::number::grouped;
use crate::page::{Badge, Cell, Section, Table};

/// What the section rests on.
pub(crate) const STATEMENT: &str = "permutation and positive scaling keep the function of every ReLU network [rolnick2020reverse, Lemma 1]; linear neurons, re-orientations and hidden hyperplanes are the other moves, and for generic parameters of one hidden layer and of three layers with a bottleneck there are no more [threelayer2026, Sections 4 to 6]. The conditions of genericity above were checked exactly; where one fails, the symmetries that are listed still hold.";

/// The fiber: dimension, symmetries, components.
pub fn section(summary: &FiberSummary) -> Section {
    let mut facts = Table::facts();
    let mut section = Section::new("Symmetries and fiber");
    section = match &summary.case {
        Some(case) => {
            facts = facts
                .fact("fiber", Cell::text(case))
                .fact("dimension", Cell::text(summary.dimension_text()))
                .fact("pieces", Cell::text(summary.pieces_text()))
                .fact("given", Cell::text(summary.given_text()));
            section.badge(Badge::good("all generic parameters are described"))
        }
        None => {
            let bound = format!(
                "at least {} in the space of all {} parameters, {} of it scalings",
                summary.lower_bound,
                grouped(summary.parameters),
                summary.scalings
            );
            facts = facts.fact("dimension", Cell::text(bound));
            section.badge(Badge::open("a part of it is known"))
        }
    };
    if let Some((dimension, complete)) = summary.local {
        let bound = summary.local_bound(complete);
        let how = if complete { "all linear regions" } else { "sampled linear regions" };
        let text = format!("{bound}{dimension}: parameters minus functional dimension ({how})");
        facts = facts.fact("local dimension", Cell::text(text));
    }
    if let Some(sentence) = summary.local_sentence() {
        facts = facts.fact("locally identifiable", Cell::text(sentence));
    }
    section = section
        .table(facts)
        .subheading("Symmetries that were found")
        .list(summary.symmetries.iter().cloned());
    if summary.components.len() > 1 {
        section = section.table(components(summary));
    }
    if !summary.conditions.is_empty() {
        section = section.table(conditions(&summary.conditions));
    }
    section.statement(STATEMENT)
}

fn components(summary: &FiberSummary) -> Table {
    let table = Table::new(["orientation", "linear", "dead", "dimension", "generic", "why"])
        .caption("Pieces of the fiber, by the orientation of the visible neurons and the numbers of linear and dead ones");
    summary.components.iter().fold(table, |table, row| {
        let dimension = row.dimension.map_or("empty".into(), |dimension| dimension.to_string());
        table.row([
            Cell::code(&row.orientation),
            Cell::number(row.linear.to_string()),
            Cell::number(row.dead.map_or_else(String::new, |dead| dead.to_string())),
            Cell::number(dimension),
            Cell::text(row.generic_text()),
            Cell::text(&row.reason),
        ])
    })
}

fn conditions(conditions: &[Condition]) -> Table {
    let table =
        Table::new(["condition", "holds"]).caption("Conditions under which the fiber is known completely");
    conditions.iter().fold(table, |table, condition| {
        let badge = if condition.holds { Badge::good("holds") } else { Badge::bad("fails") };
        table.row([
            Cell::text(&condition.statement),
            Cell::Status(badge, condition.detail.clone().unwrap_or_default()),
        ])
    })
}
