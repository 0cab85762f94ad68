//! The functional dimension as a section of a page.

use super::{DimensionSummary, bound_meaning, meaning};
use crate::number::{grouped, significant};
use crate::page::{Badge, Cell, Section, Table};

/// What the section rests on.
pub(crate) const STATEMENT: &str = "the functional dimension is the rank of the Jacobian of the outputs with respect to the parameters [grigsby2022functional]. A rank modulo a prime is at most the true one, and the upper bounds are proved for each network, so that the rank is certain where they meet.";

/// The section.
pub fn section(summary: &DimensionSummary) -> Section {
    let (lower, upper) = summary.interval;
    let rank = summary.rank.map_or(format!("{lower} to {upper}"), |rank| rank.to_string());
    let how = match summary.rank {
        Some(_) if lower == upper => "proved".to_owned(),
        Some(_) => format!(
            "proved: {lower} to {upper}; larger than {lower} with probability {}",
            significant(summary.failure_probability, 1)
        ),
        None => "the limits stopped the computation".to_owned(),
    };
    let badge = if lower == upper { Badge::good(format!("{rank}, proved")) } else { Badge::note(&rank) };
    let mut facts = Table::facts()
        .fact("on", Cell::text(&summary.on))
        .fact("dimension", Cell::text(format!("{rank} ({how})")))
        .fact("rows", Cell::text(grouped(summary.rows)))
        .fact("parameters", Cell::text(grouped(summary.parameters)))
        .fact("regions", Cell::text(grouped(summary.regions)));
    if let Some(rank) = summary.rank_float32 {
        facts = facts.fact("in float32", Cell::text(format!("{rank} singular values above the threshold")));
    }
    if let Some((rank, full)) = summary.data_rank {
        facts =
            facts.fact("rank of the data", Cell::text(format!("{rank} of {full} (inputs and a constant)")));
    }
    for warning in &summary.warnings {
        facts = facts.fact("warning", Cell::text(warning));
    }
    let mut section = Section::new("Functional dimension").badge(badge).table(facts);
    if summary.rank.is_some() && !summary.deficit.is_empty() {
        section = section.figure(summary.draw(), "The rank, and why the other parameters do not count");
        section = section.table(parts("Why parameters do not count", &summary.deficit, meaning));
    }
    let bounds: Vec<(String, usize)> =
        summary.bounds.iter().filter_map(|(name, value)| Some((name.clone(), (*value)?))).collect();
    section.table(parts("Upper bounds", &bounds, bound_meaning)).statement(STATEMENT)
}

fn parts(caption: &str, parts: &[(String, usize)], meaning: fn(&str) -> &'static str) -> Table {
    let table = Table::new(["what", "number"]).caption(caption);
    parts.iter().filter(|(_, value)| *value > 0).fold(table, |table, (name, value)| {
        table.row([Cell::text(meaning(name)), Cell::number(grouped(*value))])
    })
}
