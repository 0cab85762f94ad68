//! Sections of a report on a network: its fiber, its regions, its functional dimension and a verdict, each with the statement that it rests on.

use fiberscope_core::Condition;

use crate::Svg;
use crate::dimension::{DimensionSummary, bound_meaning, meaning};
use crate::fiber::FiberSummary;
use crate::number::{grouped, significant};
use crate::page::{Badge, Cell, Section, Table};

/// What the roles of neurons and identifiability rest on.
pub const ANATOMY: &str = "a neuron is dead on the domain if its pre-activation is never positive there and linear if it is never negative; both are decided by interval arithmetic in exact rational numbers. A dead or linear neuron, a hidden hyperplane, a neuron without outgoing weights and two neurons on one ray each give parameters with the same function that are no permutation and scaling of the given ones; the converse is known for generic parameters of one hidden layer and of three layers with a bottleneck [threelayer2026, Section 6].";
const FIBER: &str = "permutation and positive scaling keep the function of every ReLU network [rolnick2020reverse, Lemma 1]; linear neurons, re-orientations and hidden hyperplanes are the other moves, and for generic parameters of one hidden layer and of three layers with a bottleneck there are no more [threelayer2026, Sections 4 to 6]. The conditions of genericity above were checked exactly; where one fails, the symmetries that are listed still hold.";
const REGIONS: &str = "the domain is cut, layer by layer, by the zero sets of the neurons, which are affine on every cell so far; signs that doubles with bounds on their errors do not decide are decided in rational numbers. The function bends across a facet iff its weight, the sum over the paths from its neuron to the outputs, is not zero [threelayer2026, Proposition 17].";
const DIMENSION: &str = "the functional dimension is the rank of the Jacobian of the outputs with respect to the parameters [grigsby2022functional]. A rank modulo a prime is at most the true one, and the upper bounds are proved for each network, so that the rank is certain where they meet.";

/// What the names in square brackets are.
pub fn references() -> Section {
    Section::new("References").table(
        Table::facts()
            .fact("threelayer2026", Cell::text("The Symmetries of Three-Layer ReLU Networks. Preprint, 2026"))
            .fact("rolnick2020reverse", Cell::text("Rolnick, Kording: Reverse-engineering deep ReLU networks. ICML 2020"))
            .fact("grigsby2022functional", Cell::text("Grigsby, Lindsey, Meyerhoff, Wu: Functional dimension of feedforward ReLU neural networks. arXiv:2209.04036, 2022")),
    )
}

/// The fiber: dimension, symmetries, components.
pub fn fiber(summary: &FiberSummary) -> Section {
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
    section.statement(FIBER)
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

/// What was found of the linear regions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionFacts {
    /// Where they were counted, in words.
    pub place: String,
    /// The numbers of cells by dimension, and of bounded regions if the place is unbounded.
    pub cells: Vec<u64>,
    /// The number of bounded regions, if there are others.
    pub bounded: Option<u64>,
    /// The numbers of facets between regions, and of visible ones.
    pub facets: (usize, usize),
    /// The neurons of which no piece is visible, as text.
    pub unseen: Vec<String>,
    /// How the cells were found.
    pub method: String,
}

/// The linear regions, with a picture.
pub fn regions(facts: &RegionFacts, picture: Option<(Svg, String)>) -> Section {
    let cells: Vec<String> = facts.cells.iter().map(|&count| grouped(count as usize)).collect();
    let bounded =
        facts.bounded.map_or(String::new(), |count| format!(", {} of them bounded", grouped(count as usize)));
    let count = facts.cells.last().map_or(0, |&count| count as usize);
    let mut table = Table::facts()
        .fact("place", Cell::text(&facts.place))
        .fact("regions", Cell::text(format!("{}{bounded}", grouped(count))))
        .fact("cells by dimension", Cell::text(cells.join(", ")))
        .fact(
            "facets",
            Cell::text(format!(
                "{} between regions, {} visible",
                grouped(facts.facets.0),
                grouped(facts.facets.1)
            )),
        )
        .fact("method", Cell::text(&facts.method));
    if !facts.unseen.is_empty() {
        table = table.fact("never visible", Cell::text(facts.unseen.join(", ")));
    }
    let mut section =
        Section::new("Linear regions").badge(Badge::note(format!("{} regions", grouped(count))));
    if let Some((drawing, caption)) = picture {
        section = section.figure(drawing, caption);
    }
    section.table(table).statement(REGIONS)
}

/// A section for regions that were not listed, with the reason.
pub fn no_regions(reason: &str) -> Section {
    Section::new("Linear regions").badge(Badge::open("not listed")).paragraph(reason)
}

/// The functional dimension.
pub fn dimension(summary: &DimensionSummary) -> Section {
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
    section.table(parts("Upper bounds", &bounds, bound_meaning)).statement(DIMENSION)
}

fn parts(caption: &str, parts: &[(String, usize)], meaning: fn(&str) -> &'static str) -> Table {
    let table = Table::new(["what", "number"]).caption(caption);
    parts.iter().filter(|(_, value)| *value > 0).fold(table, |table, (name, value)| {
        table.row([Cell::text(meaning(name)), Cell::number(grouped(*value))])
    })
}

/// The verdict on two networks, in the words of the command.
pub fn verdict(badge: Badge, text: &str) -> Section {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let section = Section::new("Verdict").badge(badge);
    lines.fold(section, |section, line| section.paragraph(line)).statement(
        "the certificate below, which the checker accepted in exact rational arithmetic on the stored numbers; the rules it may use stand with their proofs in the description of the certificate format.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;

    fn html(section: Section) -> String {
        Page::new("x").section(section).to_html()
    }

    #[test]
    fn every_section_says_what_it_rests_on() {
        let summary =
            FiberSummary { name: "n".into(), symmetries: vec!["<s>".into()], ..FiberSummary::default() };
        let facts = RegionFacts {
            cells: vec![1, 4, 4],
            bounded: Some(0),
            facets: (4, 2),
            unseen: vec!["neuron 1".into()],
            ..RegionFacts::default()
        };
        let dimension_summary =
            DimensionSummary { interval: (3, 3), rank: Some(3), ..DimensionSummary::default() };
        let sections = [
            fiber(&summary),
            regions(&facts, None),
            dimension(&dimension_summary),
            verdict(Badge::good("same"), "a\n\n b\n"),
        ];
        for section in sections {
            assert!(html(section).contains("Rests on:"));
        }
        assert!(
            html(fiber(&summary)).contains("&lt;s&gt;")
                && html(fiber(&summary)).contains("a part of it is known")
        );
        assert!(html(regions(&facts, None)).contains("4, 0 of them bounded"));
        assert!(html(dimension(&dimension_summary)).contains("3, proved"));
        for text in [ANATOMY, FIBER, REGIONS, DIMENSION] {
            let key = text.split('[').nth(1).and_then(|rest| rest.split([',', ']']).next()).unwrap();
            assert!(html(references()).contains(key), "{key}");
        }
    }
}
