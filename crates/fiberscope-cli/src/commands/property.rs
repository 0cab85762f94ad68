//! `fiberscope diff --property`: the box and the question of a VNN-LIB file.

use std::path::Path;

use anyhow::Context;
use fiberscope_core::{Domain, Network, Rational};
use fiberscope_io::domain::{OutputQuestion, Property, read_property};
use serde_json::{Value, json};

use crate::output::Output;

/// What a file asks, and what of that the command does.
pub struct Asked {
    /// The box.
    pub domain: Domain,
    /// Whether the box is larger than what the file allows.
    pub widened: bool,
    /// The question of the file, if it is the one that is answered.
    pub epsilon: Option<Rational>,
    /// The answer that holds whatever the networks are, in words.
    pub contradiction: Option<String>,
}

/// How a file is taken.
pub struct Reading {
    /// Whether the box around what is no box is used.
    pub bounding_box: bool,
    /// Whether what seems to be meant is asked where constraints contradict each other.
    pub intended: bool,
    /// Whether the user asks something of their own.
    pub own: bool,
}

/// Reads a file. What the user asks beside it comes before the file's own question.
pub fn read(
    path: &Path,
    how: &Reading,
    (a, b): (&Network, &Network),
    output: &Output,
) -> anyhow::Result<Asked> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| name.clone())?;
    let read = |widen| read_property(&bytes, a.input_width(), a.output_width(), widen);
    let Property { inputs, widened, outputs, isomorphic } = read(how.bounding_box).with_context(|| {
        let helps = !how.bounding_box && read(true).is_ok();
        let hint = if helps { " (--bounding-box takes the box around what is no box)" } else { "" };
        format!("{name}{hint}")
    })?;
    if isomorphic && a.widths() != b.widths() {
        output.note(&format!("{name} says that both networks have one architecture; their widths differ"));
    }
    if let Some(why) = &widened {
        output.note(&format!(
            "{name}: the box contains more than the inputs of the file ({why}); an input that is shown need not be one of them"
        ));
    }
    let domain = Domain::from_bounds(&inputs.bounds).context("the bounds of a box are finite")?;
    let mut asked = Asked { domain, widened: widened.is_some(), epsilon: None, contradiction: None };
    match outputs {
        OutputQuestion::Nothing => {}
        OutputQuestion::OfOneNetwork => output.note(&format!(
            "{name}: its constraints on the outputs of one network are not used, only its box"
        )),
        _ if how.own => {
            output.note(&format!("{name}: its constraints on outputs are not used, only its box"))
        }
        OutputQuestion::Apart(epsilon) => asked.epsilon = Some(epsilon),
        OutputQuestion::Contradiction { intended, .. } if how.intended => {
            asked.epsilon = Some(intended.with_context(|| {
                format!("{name}: it does not show what is meant by constraints that contradict each other")
            })?);
        }
        OutputQuestion::Contradiction { place, intended } => {
            let meant = match intended {
                Some(epsilon) => format!(
                    "; what seems to be meant is whether an output differs by more than {}: --intended asks that",
                    epsilon.to_f64()
                ),
                None => String::new(),
            };
            output.note(&format!("{name}: its constraints on outputs contradict each other{meant}"));
            asked.contradiction =
                Some(format!("unsat: no outputs satisfy the file, whatever the networks are ({place})\n"));
        }
    }
    Ok(asked)
}

/// The answer in the word of VNN-LIB: whether there is an input that satisfies the file.
pub fn word(asked: &Asked, holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "unsat",
        // The input that was found may be one that the file does not allow.
        Some(false) if !asked.widened => "sat",
        _ => "unknown",
    }
}

/// The same as JSON.
pub fn result(asked: &Asked, holds: Option<bool>) -> Value {
    json!({"result": word(asked, holds), "bounding_box": asked.widened})
}
