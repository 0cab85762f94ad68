//! The anatomy of a network as a section of a page.

use fiberscope_core::{Anatomy, Network};

use crate::diagram;
use crate::number::grouped;
use crate::page::{Badge, Cell, Section, Table};
use crate::words;

/// The section for a network: the drawing, a table of facts, and the conditions of genericity.
pub fn section(name: &str, network: &Network, anatomy: &Anatomy) -> Section {
    let drawing = diagram::draw(name, network, anatomy);
    let section = Section::new(name)
        .badge(identifiable(anatomy))
        .figure(drawing, format!("{name}: {}", words::widths(&anatomy.widths)))
        .table(facts(anatomy));
    if anatomy.conditions.is_empty() { section } else { section.table(conditions(anatomy)) }
}

fn identifiable(anatomy: &Anatomy) -> Badge {
    match words::identifiable(anatomy).0 {
        Some(true) => Badge::good("identifiable"),
        Some(false) => Badge::note("not identifiable"),
        None => Badge::open("identifiability not decided"),
    }
}

fn facts(anatomy: &Anatomy) -> Table {
    let decided =
        |holds: Option<bool>, reason: &str| Cell::text(format!("{}: {reason}", words::answer(holds)));
    let inputs = anatomy.widths.first().copied().unwrap_or(0);
    let mut table = Table::facts()
        .fact("widths", Cell::text(words::widths(&anatomy.widths)))
        .fact("parameters", Cell::text(grouped(anatomy.parameters)))
        .fact("domain", Cell::text(words::domain(&anatomy.domain, inputs)))
        .fact("bottleneck", decided(anatomy.bottleneck, &words::bottleneck(anatomy)));
    for (layer, roles) in words::layers(anatomy) {
        table = table.fact(layer, Cell::text(roles));
    }
    let (answer, reason) = words::identifiable(anatomy);
    if let Some(fiber) = words::fiber(anatomy) {
        table = table.fact("fiber", Cell::text(fiber));
    }
    table
        .fact("hidden hyperplanes", Cell::text(words::hidden(anatomy)))
        .fact("generic", decided(words::generic(anatomy), &words::generic_reason(anatomy)))
        .fact("identifiable", decided(answer, reason))
        .fact("SHA-256", Cell::code(anatomy.digest.to_string()))
}

fn conditions(anatomy: &Anatomy) -> Table {
    let table =
        Table::new(["condition", "holds"]).caption("Conditions of genericity that were checked exactly");
    anatomy.conditions.iter().fold(table, |table, condition| {
        let badge = if condition.holds { Badge::good("holds") } else { Badge::bad("fails") };
        let detail = condition.detail.clone().unwrap_or_default();
        table.row([Cell::text(&condition.statement), Cell::Status(badge, detail)])
    })
}
