//! Linear regions as a section of a page: on the domain itself for one or two inputs, else on a plane through
//! it.

use std::sync::Arc;
use std::time::Duration;

use fiberscope::complex::{
    BreakpointComplex, Built, CellMethod, ComplexOptions, CountProgress, PolyhedralComplex, on_plane,
};
use fiberscope::limit::{Deadline, Progress};
use fiberscope_core::{Domain, Interval, Network, Rational};

use super::ComplexView;
use super::picture::svg;
use crate::number::grouped;
use crate::page::{Badge, Cell, Section, Table};
use crate::{Say, Svg};

/// More regions are not listed.
const MOST: u64 = 50_000;
/// Nor is anything that takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The plane is shown from minus to plus this, where the domain is unbounded.
const REACH: f64 = 4.0;

/// What the section rests on.
pub(crate) const STATEMENT: &str = "the domain is cut, layer by layer, by the zero sets of the neurons, which are affine on every cell so far; signs that doubles with bounds on their errors do not decide are decided in rational numbers. The function bends across a facet iff its weight, the sum over the paths from its neuron to the outputs, is not zero [threelayer2026, Proposition 17].";

/// The section, and what a summary says of it.
pub struct Regions {
    /// The section.
    pub section: Section,
    /// What is known, in a sentence.
    pub known: Option<String>,
    /// What is not known and why, in a sentence.
    pub open: Option<String>,
}

/// The linear regions of a network on the domain, or on a plane through it.
pub fn section(
    name: &str,
    network: &Network,
    domain: &Domain,
    deadline: &Deadline,
    say: Say,
) -> anyhow::Result<Regions> {
    let show = |progress: CountProgress| say(&format!("{} regions", progress.regions));
    let options = ComplexOptions::new()
        .regions(MOST)
        .deadline(deadline.at_most(PATIENCE))
        .progress(Progress::to(&show));
    let sliced = network.input_width() > 2;
    let (shown, place) = if sliced { slice(network, domain)? } else { (network.clone(), domain.clone()) };
    let complex = match PolyhedralComplex::build(&shown, &place, &options) {
        Ok(Built::Complete(complex)) => complex,
        Ok(Built::Stopped { .. }) => {
            return Ok(none(&format!(
                "The linear regions were not listed: there are more than {}, or it takes too long; `fiberscope regions --count-only` counts them.",
                grouped(MOST as usize)
            )));
        }
        Err(error) => return Ok(none(&format!("The linear regions were not listed: {error}."))),
    };
    // What was listed is weighed, however long it takes.
    let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new())?;
    let counts = complex.counts();
    let unbounded = !sliced && *domain == Domain::Space;
    let facts = RegionFacts {
        place: if sliced {
            words(network.input_width())
        } else if unbounded {
            "the whole input space".into()
        } else {
            "the box".into()
        },
        bounded: unbounded.then(|| counts.bounded.last().copied().unwrap_or(0)),
        cells: counts.all,
        facets: (breakpoints.facets.len(), breakpoints.visible_facets()),
        unseen: breakpoints.hidden_neurons(&complex).iter().map(ToString::to_string).collect(),
        method: match complex.method() {
            CellMethod::Cells => "all cells subdivided in exact arithmetic: the complex is not simple",
            _ => "edges subdivided, certified in exact arithmetic",
        }
        .into(),
        sliced,
    };
    let count = grouped(facts.count());
    let open = sliced.then(|| {
        format!(
            "How many linear regions there are on all {} inputs: they were listed on a plane only; `fiberscope regions --count-only` counts the others.",
            network.input_width()
        )
    });
    let known = Some(match sliced {
        true => format!("A slice, {}, meets {count} linear regions.", facts.place),
        false => format!("{count} linear regions on {}: the function is affine on each.", facts.place),
    });
    let section = found(&facts, draw(name, &shown, &complex, &breakpoints, &place, sliced));
    Ok(Regions { section, known, open })
}

fn words(inputs: usize) -> String {
    let rest = if inputs == 3 { "x3".into() } else { format!("x3 to x{inputs}") };
    format!("the plane of x1 and x2, {rest} in the middle of the domain")
}

fn draw(
    name: &str,
    network: &Network,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    place: &Domain,
    sliced: bool,
) -> Option<(Svg, String)> {
    let axes = sliced.then(|| ["x1".into(), "x2".into()]);
    let (name_of, network) = (name.to_owned(), Arc::new(network.clone()));
    let of = ComplexView { name: name_of, network, domain: place.clone(), axes };
    let on = if sliced { " on the plane of x1 and x2" } else { "" };
    let caption = if complex.factor_dimension() == 1 {
        format!("The function of {name}. Points are where it bends, coloured by the layer of the neuron.")
    } else {
        format!(
            "The linear regions of {name}{on}, shaded by the value of the first output. Lines are the bent hyperplanes, coloured by layer; dashed ones are invisible to the function."
        )
    };
    svg(&of, complex, breakpoints).map(|svg| (svg, caption))
}

/// The network on the plane of the first two inputs through the middle of the domain, and the part of the
/// plane that is shown.
fn slice(network: &Network, domain: &Domain) -> anyhow::Result<(Network, Domain)> {
    let inputs = network.input_width();
    let ends = |side: &Interval| {
        let end = |end: &Option<Rational>, other: f64| end.as_ref().map_or(other, Rational::to_f64);
        (end(&side.lower, -REACH), end(&side.upper, REACH))
    };
    let sides: Vec<(f64, f64)> = domain.sides(inputs).iter().map(ends).collect();
    let middle: Vec<f64> = sides
        .iter()
        .enumerate()
        .map(|(i, (low, high))| if i < 2 { 0.0 } else { (low + high) / 2.0 })
        .collect();
    let unit = |i: usize| -> Vec<f64> { (0..inputs).map(|j| if i == j { 1.0 } else { 0.0 }).collect() };
    let plane = on_plane(network, &middle, [&unit(0), &unit(1)])?;
    let shown = Domain::from_bounds(&sides[..2]).expect("the ends are finite");
    Ok((plane, shown))
}

/// What was found of the linear regions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RegionFacts {
    /// Where they were counted, in words.
    pub(crate) place: String,
    /// The numbers of cells by dimension, and of bounded regions if the place is unbounded.
    pub(crate) cells: Vec<u64>,
    /// The number of bounded regions, if there are others.
    pub(crate) bounded: Option<u64>,
    /// The numbers of facets between regions, and of visible ones.
    pub(crate) facets: (usize, usize),
    /// The neurons of which no piece is visible, as text.
    pub(crate) unseen: Vec<String>,
    /// How the cells were found.
    pub(crate) method: String,
    /// Whether they are those of a plane through the domain only.
    pub(crate) sliced: bool,
}

impl RegionFacts {
    fn count(&self) -> usize {
        self.cells.last().map_or(0, |&count| count as usize)
    }
}

/// The linear regions, with a picture.
pub(crate) fn found(facts: &RegionFacts, picture: Option<(Svg, String)>) -> Section {
    let cells: Vec<String> = facts.cells.iter().map(|&count| grouped(count as usize)).collect();
    let bounded =
        facts.bounded.map_or(String::new(), |count| format!(", {} of them bounded", grouped(count as usize)));
    let count = facts.count();
    let (slice, of_slice) = if facts.sliced { ("slice", ", of this slice only") } else { ("place", "") };
    let mut table = Table::facts()
        .fact(slice, Cell::text(&facts.place))
        .fact("regions", Cell::text(format!("{}{bounded}{of_slice}", grouped(count))))
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
    let (heading, badge) = match facts.sliced {
        true => ("Linear regions on a slice", format!("a slice with {} regions", grouped(count))),
        false => ("Linear regions", format!("{} regions", grouped(count))),
    };
    let mut section = Section::new(heading).badge(Badge::note(badge));
    if let Some((drawing, caption)) = picture {
        section = section.figure(drawing, caption);
    }
    section.table(table).statement(STATEMENT)
}

/// A section for regions that were not listed, with the reason.
fn none(reason: &str) -> Regions {
    let section = Section::new("Linear regions").badge(Badge::open("not listed")).paragraph(reason);
    Regions { section, known: None, open: Some(reason.into()) }
}
