//! `fiberscope regions`

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use fiberscope::complex::{
    BreakpointComplex, Built, CellCounts, ComplexError, ComplexLimits, CountOutcome, CountProgress,
    CountState, Method, PolyhedralComplex, count_cells_saving, region_bound, walk_regions,
};
use fiberscope_core::{Domain, Network};
use fiberscope_io::write_atomically;
use serde_json::{Value, json};

use super::args::{RegionsArgs, RegionsMethod};
use super::slice::{Slice, slice};
use super::{export, picture};
use crate::Answer;
use crate::args::Global;
use crate::commands::{read_domain, read_model};
use crate::output::Output;

/// The most regions whose cells are listed for weights unless a picture or an export needs them.
const LISTED: u64 = 100_000;
/// The most regions of a picture or an export.
const DRAWN: u64 = 1_000_000;
/// The most regions counted without `--max-regions`.
const COUNTED: u64 = 100_000_000;
/// How often the state of a count is saved.
const SAVED: Duration = Duration::from_secs(5);
/// The most inputs for which edges are subdivided: a box has `2^d` corners.
const EDGES: usize = 8;

pub fn run(args: &RegionsArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let model = read_model(&args.model, &args.read.options(), output)?;
    let sliced = slice(args, &model.network)?;
    let network = sliced.as_ref().map_or(&model.network, |slice| &slice.network);
    let domain = domain(args, network, sliced.as_ref())?;
    picture::check(args, network.input_width())?;
    let limits = ComplexLimits {
        time: global.time_limit.map(Duration::from_secs_f64),
        regions: Some(args.max_regions.unwrap_or(COUNTED)),
    };
    let job = Job { args, network, domain, limits, start, slice: sliced.as_ref() };
    let walk =
        args.method == Some(RegionsMethod::Walk) || args.method.is_none() && network.input_width() > EDGES;
    if walk { job.walk(output) } else { job.edges(output) }
}

fn domain(args: &RegionsArgs, network: &Network, slice: Option<&Slice>) -> anyhow::Result<Domain> {
    match slice.and_then(|slice| slice.view) {
        Some(view) => Ok(Domain::from_bounds(&view).expect("the view is finite")),
        None => read_domain(args.domain.as_deref(), network.input_width()),
    }
}

pub struct Job<'a> {
    pub args: &'a RegionsArgs,
    pub network: &'a Network,
    pub domain: Domain,
    pub limits: ComplexLimits,
    pub start: Instant,
    pub slice: Option<&'a Slice>,
}

impl Job<'_> {
    fn walk(&self, output: &Output) -> anyhow::Result<Answer> {
        anyhow::ensure!(
            self.args.plot.is_empty() && self.args.export.is_empty(),
            "pictures and exports need the cells that --method edges lists; leave out --method walk, or draw a slice (--slice, --directions)"
        );
        let walked = walk_regions(self.network, &self.domain, &self.limits, &|regions| {
            output.progress(&format!("{regions} regions"));
        })?;
        output.end_progress();
        if !walked.complete {
            return self.stopped(walked.regions as u64, 0.0, None, output);
        }
        let text = format!(
            "{} regions ({} bounded), {} facets between them, on {} (method: walk)\n",
            walked.regions,
            walked.bounded,
            walked.facets,
            self.place()
        );
        let value = json!({
            "regions": walked.regions,
            "f_vector": null,
            "bounded_regions": walked.bounded,
            "euler": null,
            "visible_facets": walked.visible_facets,
            "facets": walked.facets,
            "method": Method::Walk.name(),
            "domain": self.domain,
            "widths": self.network.widths(),
            "seconds": self.start.elapsed().as_secs_f64(),
        });
        output.result(&text, &value)?;
        Ok(Answer::Yes)
    }

    fn edges(&self, output: &Output) -> anyhow::Result<Answer> {
        let resume = self.args.resume.as_deref().filter(|path| path.exists()).map(read_state).transpose()?;
        let mut saved = Instant::now();
        let mut failure = None;
        let mut save = |state: &CountState| {
            if let Some(path) = &self.args.resume
                && (state.is_complete() || saved.elapsed() > SAVED)
            {
                saved = Instant::now();
                failure = write_state(path, state).err();
            }
        };
        let progress = |progress: CountProgress| {
            output.progress(&format!(
                "{:.0} % of the domain, {} regions",
                100.0 * progress.explored,
                progress.regions
            ));
        };
        let outcome =
            count_cells_saving(self.network, &self.domain, &self.limits, resume, &progress, &mut save)
                .map_err(|error| match (&error, &self.args.resume) {
                    (ComplexError::OtherState, Some(path)) => {
                        anyhow::anyhow!("{}: {error}", path.display())
                    }
                    _ => error.into(),
                })?;
        output.end_progress();
        if let Some(error) = failure {
            return Err(error);
        }
        let (counts, method) = match outcome {
            CountOutcome::Complete { counts, method } => (counts, method),
            CountOutcome::Stopped { regions, explored, state } => {
                return self.stopped(regions, explored, state, output);
            }
        };
        let regions = counts.all.last().copied().unwrap_or(0);
        let wanted = !self.args.plot.is_empty() || !self.args.export.is_empty();
        if self.args.count_only || regions > LISTED && !wanted {
            return self.counted(&counts, method, output);
        }
        anyhow::ensure!(
            regions <= DRAWN,
            "{regions} regions are too many for a picture or an export (at most {DRAWN})"
        );
        let built = PolyhedralComplex::build(self.network, &self.domain, &self.limits, &|_| ())?;
        let Built::Complete(complex) = built else { return self.stopped(regions, 0.0, None, output) };
        let breakpoints = BreakpointComplex::new(&complex);
        for path in &self.args.plot {
            picture::draw(self, &complex, &breakpoints, path)?;
        }
        for path in &self.args.export {
            export::export(self, &complex, &breakpoints, path)?;
        }
        self.listed(&counts, &complex, &breakpoints, output)
    }

    pub fn place(&self) -> &'static str {
        match (self.slice.is_some(), &self.domain) {
            (true, _) => "the slice",
            (_, Domain::Space) => "the whole input space",
            _ => "the box",
        }
    }

    fn value(&self, counts: &CellCounts, method: Method) -> Value {
        json!({
            "regions": counts.all.last(),
            "f_vector": counts.all,
            "bounded_regions": counts.bounded.last(),
            "bounded_f_vector": counts.bounded,
            "euler": counts.euler(),
            "visible_facets": null,
            "method": method.name(),
            "domain": self.domain,
            "widths": self.network.widths(),
            "seconds": self.start.elapsed().as_secs_f64(),
        })
    }

    fn text(&self, counts: &CellCounts, method: Method) -> String {
        let numbers: Vec<String> = counts.all.iter().map(ToString::to_string).collect();
        let regions = counts.all.last().copied().unwrap_or(0);
        let bounded = counts.bounded.last().copied().unwrap_or(0);
        let unbounded = if self.domain == Domain::Space && self.slice.is_none() {
            format!(" ({bounded} bounded, {} unbounded)", regions - bounded)
        } else {
            String::new()
        };
        let how = match method {
            Method::Cells => "subdivision of all cells in exact arithmetic: the complex is not simple",
            _ => "subdivision of edges, certified in exact arithmetic",
        };
        format!(
            "{regions} regions on {}{unbounded}\n  cells by dimension   {} (alternating sum {})\n  method               {how}\n",
            self.place(),
            numbers.join(", "),
            counts.euler()
        )
    }

    fn counted(&self, counts: &CellCounts, method: Method, output: &Output) -> anyhow::Result<Answer> {
        let mut text = self.text(counts, method);
        if !self.args.count_only {
            let _ = writeln!(text, "  weights              not computed for more than {LISTED} regions");
        }
        output.result(&text, &self.value(counts, method))?;
        Ok(Answer::Yes)
    }

    fn listed(
        &self,
        counts: &CellCounts,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        output: &Output,
    ) -> anyhow::Result<Answer> {
        let mut value = self.value(counts, complex.method());
        let (facets, visible) = (breakpoints.facets.len(), breakpoints.visible_facets());
        let right = breakpoints.recovered_rightly();
        let hidden: Vec<[usize; 2]> =
            breakpoints.hidden_neurons(complex).iter().map(|n| [n.layer + 1, n.unit + 1]).collect();
        value["visible_facets"] = json!(visible);
        value["facets"] = json!(facets);
        value["balance"] = json!({
            "ridges": breakpoints.ridges,
            "largest_error": breakpoints.imbalance,
            "formulas_differ_by": breakpoints.disagreement,
        });
        value["bending_ridges"] = json!(breakpoints.bending_ridges);
        value["honest"] = json!(breakpoints.dishonest_ridges == 0);
        value["cancellation_free"] = json!(breakpoints.cancelling_facets == 0);
        let several = complex.factor_dimension() > 1;
        value["layers_recovered"] =
            if several { json!({"right": right, "of": visible}) } else { Value::Null };
        value["hidden_neurons"] = json!(hidden);
        let mut text = self.text(counts, complex.method());
        let _ = writeln!(text, "  facets               {facets} between regions, {visible} visible");
        let _ = writeln!(
            text,
            "  weights              balanced at {} ridges up to {:.1e}; two formulas agree up to {:.1e}",
            breakpoints.ridges, breakpoints.imbalance, breakpoints.disagreement
        );
        let yes = |is: bool| if is { "yes" } else { "no" };
        let _ = writeln!(
            text,
            "  bending              at {} ridges; honest: {}; cancellation-free: {}",
            breakpoints.bending_ridges,
            yes(breakpoints.dishonest_ridges == 0),
            yes(breakpoints.cancelling_facets == 0)
        );
        let layers = match several {
            true => format!("recovered from the function alone for {right} of {visible} visible facets"),
            false => "with one input the function does not tell them".to_owned(),
        };
        let _ = writeln!(text, "  layers               {layers}");
        if !hidden.is_empty() {
            let names: Vec<String> = hidden.iter().map(|[l, u]| format!("{u} of layer {l}")).collect();
            let _ = writeln!(text, "  hidden neurons       {}", names.join(", "));
        }
        for path in self.args.plot.iter().chain(&self.args.export) {
            let _ = writeln!(text, "wrote {}", path.display());
        }
        value["seconds"] = json!(self.start.elapsed().as_secs_f64());
        output.result(&text, &value)?;
        Ok(Answer::Yes)
    }

    fn stopped(
        &self,
        regions: u64,
        explored: f64,
        state: Option<CountState>,
        output: &Output,
    ) -> anyhow::Result<Answer> {
        let bound = region_bound(self.network);
        let mut text = format!(
            "stopped at a limit: about {regions} regions so far on {} ({:.1} % of its volume); there may be up to {bound:.1e}\n",
            self.place(),
            100.0 * explored
        );
        if let (Some(path), Some(state)) = (&self.args.resume, &state) {
            write_state(path, state)?;
            let _ = writeln!(text, "wrote {}; the same command goes on from there", path.display());
        }
        let value = json!({
            "regions": null,
            "partial_regions": regions,
            "estimate": bound,
            "explored": explored,
            "f_vector": null,
            "bounded_regions": null,
            "euler": null,
            "visible_facets": null,
            "domain": self.domain,
            "widths": self.network.widths(),
            "seconds": self.start.elapsed().as_secs_f64(),
        });
        output.result(&text, &value)?;
        Ok(Answer::Undecided)
    }
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
