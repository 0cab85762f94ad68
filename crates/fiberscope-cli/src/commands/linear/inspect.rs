//! `fiberscope linear inspect`

use anyhow::anyhow;
use fiberscope::linear::{LinearError, compress_block};
use fiberscope_io::{Precision, save};
use fiberscope_report::files::write_figure;
use fiberscope_report::linear::inspect::{
    InspectQuestion, flow_picture, inspect, lattice_picture, text, value,
};

use super::args::InspectArgs;
use super::named;
use crate::Answer;
use crate::commands::{read_dense_model, read_domain};
use crate::output::Output;

pub fn run(args: &InspectArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_dense_model(&args.model, &args.read.options(), output)?;
    let domain = read_domain(args.domain.as_deref(), model.network.input_width())?;
    let question = InspectQuestion {
        name: args.model.clone(),
        layers: args.layers,
        block: args.block,
        tolerance: args.tolerance.get(),
        exact: args.exact,
        bases: args.bases,
        spaces: args.spaces,
        subspaces: args.subspaces,
    };
    let found = inspect(&question, &model.network, &domain).map_err(|error| match error {
        LinearError::NotLinear { .. } => {
            anyhow!("{error} (--block LAYER --box LO,HI)").context(named(&args.model, &model))
        }
        other => anyhow::Error::from(other).context(args.model.clone()),
    })?;
    if let Some(path) = &args.flow {
        let picture = flow_picture(&args.model, &found.stratum);
        write_figure(path, &picture.draw(), || picture.to_tikz())?;
    }
    if let Some(path) = &args.lattice {
        let picture = lattice_picture(&args.model, &found);
        write_figure(path, &picture.draw(), || picture.to_tikz())?;
    }
    if let (Some(path), Some(block)) = (&args.compress, &found.block) {
        let small = compress_block(&model.network, block, &domain, args.tolerance.tolerance)?;
        save(&small, path, Precision::F64)?;
    }
    let value = value(&question, &found)?;
    output.result(&text(&question, &found)?, &value)?;
    Ok(Answer::Yes)
}
