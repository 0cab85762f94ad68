//! `fiberscope regions`

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use fiberscope::complex::{
    BreakpointComplex, Built, CellCounts, ComplexError, ComplexLimits, CountOutcome, CountProgress,
    CountState, Method, PolyhedralComplex, count_cells_saving, exact_region_bound, walk_regions,
};
use fiberscope_core::{Domain, decimal};
use fiberscope_io::write_atomically;
use fiberscope_report::regions::{self as complex, COUNTED, ComplexView, DRAWN, EDGES, LISTED};
use serde_json::{Value, json};

use super::args::{RegionsArgs, RegionsMethod};
use super::slice::slice;
use super::{export, picture};
use crate::Answer;
use crate::args::Global;
use crate::commands::{read_domain, read_model};
use crate::output::Output;

/// How often the state of a count is saved.
const SAVED: Duration = Duration::from_secs(5);

pub fn run(args: &RegionsArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let model = read_model(&args.model, &args.read.options(), output)?;
    let sliced = slice(args, &model.network)?;
    let network = sliced.as_ref().map_or(&model.network, |(slice, _)| &slice.network);
    let domain = match &sliced {
        Some((slice, true)) => Domain::from_bounds(&slice.view).expect("the view is finite"),
        _ => read_domain(args.domain.as_deref(), network.input_width())?,
    };
    picture::check(args, network.input_width())?;
    let limits =
        ComplexLimits { deadline: global.deadline(), regions: Some(args.max_regions.unwrap_or(COUNTED)) };
    let axes = sliced.as_ref().map(|(slice, _)| slice.axes.clone());
    let view = ComplexView { name: &args.model, network, domain, axes };
    let job = Job { args, view, limits, start };
    let walk =
        args.method == Some(RegionsMethod::Walk) || args.method.is_none() && network.input_width() > EDGES;
    if walk { job.walk(output) } else { job.edges(output) }
}

pub struct Job<'a> {
    pub args: &'a RegionsArgs,
    pub view: ComplexView<'a>,
    pub limits: ComplexLimits,
    pub start: Instant,
}

impl Job<'_> {
    fn walk(&self, output: &Output) -> anyhow::Result<Answer> {
        anyhow::ensure!(
            self.args.plot.is_empty() && self.args.export.is_empty(),
            "pictures and exports need the cells that --method edges lists; leave out --method walk, or draw a slice (--slice, --directions)"
        );
        let walked = walk_regions(self.view.network, &self.view.domain, &self.limits, &|regions| {
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
            self.view.place()
        );
        let value = self.timed(complex::walked(&self.view, &walked));
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
        let outcome = count_cells_saving(
            self.view.network,
            &self.view.domain,
            &self.limits,
            resume,
            &progress,
            &mut save,
        )
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
        output.know(format!("there are {regions} regions on {}", self.view.place()));
        let wanted = !self.args.plot.is_empty() || !self.args.export.is_empty();
        if self.args.count_only || regions > LISTED && !wanted {
            return self.counted(&counts, method, output);
        }
        anyhow::ensure!(
            regions <= DRAWN,
            "{regions} regions are too many for a picture or an export (at most {DRAWN})"
        );
        let built = PolyhedralComplex::build(self.view.network, &self.view.domain, &self.limits, &|_| ())?;
        let Built::Complete(complex) = built else {
            self.limits.deadline.check("before all cells were listed")?;
            return self.stopped(regions, 0.0, None, output);
        };
        let breakpoints = BreakpointComplex::until(&complex, &self.limits.deadline)?;
        for path in &self.args.plot {
            picture::draw(self, &complex, &breakpoints, path)?;
        }
        for path in &self.args.export {
            export::export(self, &complex, &breakpoints, path)?;
        }
        self.listed(&counts, &complex, &breakpoints, output)
    }

    /// A value with the seconds it took.
    fn timed(&self, mut value: Value) -> Value {
        value["seconds"] = json!(self.start.elapsed().as_secs_f64());
        value
    }

    fn text(&self, counts: &CellCounts, method: Method) -> String {
        let numbers: Vec<String> = counts.all.iter().map(ToString::to_string).collect();
        let regions = counts.all.last().copied().unwrap_or(0);
        let bounded = counts.bounded.last().copied().unwrap_or(0);
        let unbounded = if self.view.domain == Domain::Space && self.view.axes.is_none() {
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
            self.view.place(),
            numbers.join(", "),
            counts.euler()
        )
    }

    fn counted(&self, counts: &CellCounts, method: Method, output: &Output) -> anyhow::Result<Answer> {
        let mut text = self.text(counts, method);
        if !self.args.count_only {
            let _ = writeln!(text, "  weights              not computed for more than {LISTED} regions");
        }
        output.result(&text, &self.timed(complex::counted(&self.view, counts, method)))?;
        Ok(Answer::Yes)
    }

    fn listed(
        &self,
        counts: &CellCounts,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        output: &Output,
    ) -> anyhow::Result<Answer> {
        let value = self.timed(complex::listed(&self.view, counts, complex, breakpoints));
        let (facets, visible) = (breakpoints.facets.len(), breakpoints.visible_facets());
        let right = breakpoints.recovered_rightly();
        let hidden = breakpoints.hidden_neurons(complex);
        let several = complex.factor_dimension() > 1;
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
            let names: Vec<String> =
                hidden.iter().map(|n| format!("{} of layer {}", n.unit + 1, n.layer + 1)).collect();
            let _ = writeln!(text, "  hidden neurons       {}", names.join(", "));
        }
        for path in self.args.plot.iter().chain(&self.args.export) {
            let _ = writeln!(text, "wrote {}", path.display());
        }
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
        let bound = decimal::upper(&exact_region_bound(self.view.network));
        let mut text = format!(
            "stopped at a limit: about {regions} regions so far on {} ({:.1} % of its volume); there may be up to {bound}\n",
            self.view.place(),
            100.0 * explored.max(0.0)
        );
        if let (Some(path), Some(state)) = (&self.args.resume, &state) {
            write_state(path, state)?;
            let _ = writeln!(text, "wrote {}; the same command goes on from there", path.display());
        }
        let value = self.timed(complex::stopped(&self.view, regions, explored));
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
