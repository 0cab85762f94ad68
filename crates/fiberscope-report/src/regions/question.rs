//! The search for the linear regions, as the command and the Python package ask for it.
//!
//! Cells are counted, and where they are few enough, and more than counts is wanted, they are listed with the
//! weights of their facets. For many inputs the regions are walked through instead.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use fiberscope::complex::{
    BreakpointComplex, Built, CellCounts, CellMethod, ComplexError, ComplexOptions, CountProgress,
    CountState, Exploration, Keeper, PolyhedralComplex, explore_breakpoints, explore_cells, explore_in_tiles,
    walk_regions,
};
use fiberscope::limit::Progress;
use fiberscope_io::write_atomically;

use super::{ComplexView, DRAWN, EDGES, Found, LISTED, RegionsAnswer};
use crate::Say;

/// How often the state of a count is saved.
const SAVED: Duration = Duration::from_secs(5);

/// How regions are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Vertices and edges are subdivided layer by layer.
    Edges,
    /// From region to region across facets.
    Walk,
}

/// How much is wanted of the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Their numbers.
    Counts,
    /// Also the weights of their facets, if there are at most `LISTED` regions.
    Weights,
    /// All of them, for a picture or an export: at most [`DRAWN`] regions.
    Cells,
}

impl Depth {
    /// How many regions are listed at most.
    fn listed(self) -> u64 {
        match self {
            Depth::Counts => 0,
            Depth::Weights => LISTED,
            Depth::Cells => DRAWN,
        }
    }
}

/// What is asked of the linear regions.
#[derive(Clone, Debug)]
pub struct RegionsQuestion {
    /// What they are of.
    pub view: ComplexView,
    /// When to stop.
    pub limits: ComplexOptions<'static>,
    /// How they are found; without it, the faster way for the dimension.
    pub search: Option<Search>,
    /// How much is wanted.
    pub depth: Depth,
    /// The file with the state of a count that a limit stopped: read if it exists, and written.
    pub resume: Option<PathBuf>,
}

impl RegionsQuestion {
    /// How the regions are found.
    pub fn search(&self) -> Search {
        let many = self.view.network.input_width() > EDGES;
        self.search.unwrap_or(if many { Search::Walk } else { Search::Edges })
    }
}

/// Finds the regions. Sentences that are true whatever happens next go to `know`.
pub fn regions(question: RegionsQuestion, say: Say, know: Say) -> anyhow::Result<RegionsAnswer> {
    say("no regions so far");
    let found = match question.search() {
        Search::Walk => walk(&question, say)?,
        Search::Edges => edges(&question, say, know)?,
    };
    Ok(RegionsAnswer { view: question.view, found })
}

fn walk(RegionsQuestion { view, limits, .. }: &RegionsQuestion, say: Say) -> anyhow::Result<Found> {
    let show = |progress: CountProgress| say(&plural(progress.regions));
    let options = limits.clone().progress(Progress::to(&show));
    let walked = walk_regions(&view.network, &view.domain, &options)?;
    Ok(match walked.complete {
        true => Found::Walked(walked),
        false => {
            let regions = walked.regions as u64;
            Found::Stopped { regions, explored: 0.0, listing: false, saved: None }
        }
    })
}

fn edges(question: &RegionsQuestion, say: Say, know: Say) -> anyhow::Result<Found> {
    let RegionsQuestion { view, depth, limits, .. } = question;
    let found = |regions: u64| know(&format!("there are {regions} regions on {}", view.place()));
    Ok(match explore(question, depth.listed(), say)? {
        Exploration::Listed(complex) => {
            found(complex.counts().regions());
            let breakpoints = BreakpointComplex::new(&complex, limits)?;
            Found::Listed { complex, breakpoints }
        }
        Exploration::Weighed { counts, method, numbers } => {
            found(counts.regions());
            Found::Weighed { counts, method, numbers }
        }
        Exploration::Counted { counts, method } => {
            let regions = counts.regions();
            found(regions);
            ensure!(
                *depth != Depth::Cells,
                "{regions} regions are too many for a picture or an export (at most {DRAWN})"
            );
            Found::Counted { counts, method, weights: *depth != Depth::Counts }
        }
        Exploration::Stopped { counts: Some(counts), .. } => {
            found(counts.regions());
            Found::Stopped { regions: counts.regions(), explored: 0.0, listing: true, saved: None }
        }
        Exploration::Stopped { regions, explored, state, .. } => {
            let saved = match (&question.resume, state) {
                (Some(path), Some(state)) => {
                    write_state(path, &state)?;
                    Some(path.clone())
                }
                _ => None,
            };
            Found::Stopped { regions, explored, listing: false, saved }
        }
    })
}

/// The answer when all cells have been counted elsewhere; they are listed here if more is wanted and they are
/// few enough.
pub fn with_counts(
    question: RegionsQuestion,
    counts: CellCounts,
    method: CellMethod,
) -> anyhow::Result<RegionsAnswer> {
    let found = if counts.regions() > question.depth.listed() {
        Found::Counted { counts, method, weights: question.depth != Depth::Counts }
    } else {
        edges(&question, &|_| (), &|_| ())?
    };
    Ok(RegionsAnswer { view: question.view, found })
}

/// Counts the cells, and saves the state of the count every few seconds if there is a file for it; lists them
/// if there are at most so many regions.
fn explore(question: &RegionsQuestion, listed: u64, say: Say) -> anyhow::Result<Exploration> {
    let RegionsQuestion { view, limits, depth, resume: file, .. } = question;
    let resume = file.as_deref().filter(|path| path.exists()).map(read_state).transpose()?;
    // When the state was last saved, and the error of that time.
    let saved = Mutex::new((Instant::now(), None));
    let save = |state: &CountState| {
        let mut saved = saved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = file
            && (state.is_complete() || saved.0.elapsed() > SAVED)
        {
            *saved = (Instant::now(), write_state(path, state).err());
        }
    };
    let progress = |progress: CountProgress| say(&count_text(progress));
    let options = limits
        .clone()
        .resume(resume)
        .codimension((*depth == Depth::Weights).then_some(2))
        .progress(Progress::to(&progress))
        .keeper(Keeper::to(&save));
    // A count that can be taken up again is one in tiles; where nothing is listed, tiles take less memory.
    let explore = match (file, depth) {
        (None, Depth::Weights) => explore_breakpoints,
        (None, Depth::Cells) => explore_cells,
        _ => explore_in_tiles,
    };
    let explored = explore(&view.network, &view.domain, listed, &options);
    let found = explored.map_err(|error| match (&error, file) {
        (ComplexError::OtherState, Some(path)) => anyhow!("{}: {error}", path.display()),
        _ => error.into(),
    })?;
    let (_, failure) = saved.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(found), Err)
}

/// How far a count is. Before the first part of the domain is finished there is no part to tell.
fn count_text(CountProgress { explored, regions }: CountProgress) -> String {
    match explored {
        0.0 => format!("about {} so far", plural(regions)),
        part if part < 0.01 => format!("less than 1 % of the domain, {}", plural(regions)),
        part => format!("{:.0} % of the domain, {}", (100.0 * part.min(1.0)).floor(), plural(regions)),
    }
}

fn plural(regions: u64) -> String {
    format!("{regions} {}", if regions == 1 { "region" } else { "regions" })
}

/// All cells and the weights of the facets; `None` if a limit came before the last cell.
pub fn build(
    view: &ComplexView,
    limits: &ComplexOptions,
    say: Say,
    know: Say,
) -> anyhow::Result<Option<(Box<PolyhedralComplex>, BreakpointComplex)>> {
    let show = |progress: CountProgress| say(&format!("{} regions", progress.regions));
    let options = limits.clone().progress(Progress::to(&show));
    let built = PolyhedralComplex::build(&view.network, &view.domain, &options)?;
    let Built::Complete(complex) = built else { return Ok(None) };
    know(&format!("the complex has {} regions", complex.regions().len()));
    let breakpoints = BreakpointComplex::new(&complex, limits)?;
    Ok(Some((complex, breakpoints)))
}

fn write_state(path: &Path, state: &CountState) -> anyhow::Result<()> {
    let json = serde_json::to_vec(state)?;
    write_atomically(path, |file| file.write_all(&json))?;
    Ok(())
}

fn read_state(path: &Path) -> anyhow::Result<CountState> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&bytes).with_context(|| format!("{}: not the state of a count", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_in_words() {
        let text = |explored: f64, regions: u64| count_text(CountProgress { explored, regions });
        assert_eq!(text(0.0, 0), "about 0 regions so far");
        assert_eq!(text(0.0, 1), "about 1 region so far");
        assert_eq!(text(1e-9, 7), "less than 1 % of the domain, 7 regions");
        assert_eq!(text(0.999, 70), "99 % of the domain, 70 regions");
        assert_eq!(text(1.0 + 1e-15, 71), "100 % of the domain, 71 regions");
    }
}
