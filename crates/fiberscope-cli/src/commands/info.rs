//! `fiberscope info`

use std::io::Write;

use fiberscope::anatomy::examine;
use fiberscope_io::write_atomically;
use fiberscope_report::anatomy;
use fiberscope_report::reading::{add_names, name_neurons, names_text, neurons_text};
use fiberscope_report::rigidity::Local;

use super::{read_box, read_model};
use crate::Answer;
use crate::args::{Global, InfoArgs};
use crate::output::Output;

pub fn run(args: &InfoArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.deadline();
    let model = read_model(&args.model, &args.read.options(), output)?;
    let domain = read_box(args.domain.as_deref(), &args.around, model.network.input_width())?;
    let found = examine(&model.network, &domain, &deadline);
    let asked = args.certificate.is_some();
    let local = Local::examine(&model.network, &domain, &found, asked, (global.seed, &deadline));
    if let Some(path) = &args.certificate {
        match local.certificate() {
            Some(certificate) => {
                write_atomically(path, |file| file.write_all(certificate.to_json().as_bytes()))?
            }
            None => output.note(&format!("no certificate is written: {}", local.reason)),
        }
    }
    let stopped = deadline.limit();
    let names = model.names.as_ref();
    let mut value = anatomy::model_value(&args.model, model.precision, stopped, &found);
    if let Some(limit) = stopped {
        output.note(&format!("{limit}: ranks and the fiber are not told where they take longer"));
    }
    local.add_to(&mut value);
    add_names(&mut value, names);
    name_neurons(&mut value, "hides", names);
    let hidden: Vec<_> = found.hidden.iter().map(|neuron| (neuron.layer, neuron.unit)).collect();
    let called = neurons_text("hidden", &hidden, names) + &names_text(names);
    output.result(&(anatomy::text(&args.model, &found) + &local.text() + &called), &value)?;
    Ok(if stopped.is_some() { Answer::Undecided } else { Answer::Yes })
}
