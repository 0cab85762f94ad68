//! Named tensors as a network.
//!
//! The tensors are `W1, b1, W2, b2, ...`, or what PyTorch calls them: `0.weight, 0.bias, 2.weight,
//! ...` with any prefix, layers in the natural order of their names (`2` before `10`). A weight is
//! `out x in`, a bias has `out` entries and is zero if missing. Everything is checked on names and shapes
//! before a number is read.
//!
//! Such a file does not say what stands between its layers. Unless it lists activations, hidden layers are
//! taken to be what the caller states, or ReLU, and the model says so ([`Assumed`]). Names that speak of
//! something else (`conv1`, `attn`, `running_mean`) are refused, but for plain `Sequential`s whose
//! convolutions and batch normalisations their numbers and shapes determine (`sequential`).

mod betrayal;
mod names;
mod sequential;

use fiberscope_core::{Activation, Layer, Matrix, Network};

use crate::element::Element;
use crate::names::{Names, Part, label};
use crate::{Assumed, FormatError, Model, Precision, ReadOptions};
use names::{Convention, Parsed, Role};
pub(crate) use names::{clipped, quoted};

/// A tensor as the header of a file describes it.
#[derive(Clone, Debug)]
pub(crate) struct TensorInfo {
    /// Its name.
    pub(crate) name: String,
    /// Its dimensions, outermost first.
    pub(crate) shape: Vec<usize>,
    /// The type of its entries.
    pub(crate) element: Element,
}

impl TensorInfo {
    /// The number of its entries; `None` if there are more than `usize` counts.
    pub(crate) fn entries(&self) -> Option<usize> {
        // A zero anywhere makes the tensor empty, however large the other dimensions are.
        if self.shape.contains(&0) {
            Some(0)
        } else {
            self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
        }
    }
}

/// The network that these tensors are. `activations` are the names the file gives, one per layer;
/// `load(i)` reads the entries of tensor `i`, row by row.
pub(crate) fn network(
    tensors: &[TensorInfo],
    activations: Option<&[String]>,
    options: &ReadOptions,
    mut load: impl FnMut(usize) -> Result<Vec<f64>, FormatError>,
) -> Result<Model, FormatError> {
    if let Some(modules) = sequential::modules(tensors)? {
        return sequential::network(tensors, &modules, options, load);
    }
    tensors.iter().try_for_each(|tensor| betrayal::check(&tensor.name))?;
    let plan = plan(tensors)?;
    let assumed = Assumed {
        activation: options.activation.unwrap_or(Activation::Relu),
        stated: options.activation.is_some(),
    };
    let assumed = (activations.is_none() && plan.len() > 1).then_some(assumed);
    let activations = match activations {
        Some(names) => parse_activations(names, plan.len())?,
        None => {
            hidden_activations(plan.len(), assumed.map_or(Activation::Relu, |assumed| assumed.activation))
        }
    };
    let mut layers = Vec::with_capacity(plan.len());
    for (slot, activation) in plan.iter().zip(activations) {
        let (rows, cols) = (tensors[slot.weight].shape[0], tensors[slot.weight].shape[1]);
        let weight = Matrix::from_entries(rows, cols, load(slot.weight)?)
            .expect("a tensor is loaded with as many entries as its shape says");
        let bias = slot.bias.map_or_else(|| Ok(vec![0.0; rows]), &mut load)?;
        layers.push(Layer::new(weight, bias, activation));
    }
    let precision = tensors.iter().map(|tensor| tensor.element.precision()).min().unwrap_or(Precision::F64);
    let network = Network::new(layers)?;
    let names = Names::new(plan.iter().map(|slot| named(&tensors[slot.weight])).collect(), &network.widths());
    let mut notes = notes(tensors, &plan);
    if assumed.is_some_and(|assumed| !assumed.stated) {
        notes.extend(side_by_side(tensors, &plan));
    }
    Ok(Model { assumed, names, ..Model::new(network, precision, notes) })
}

/// What layers with numbers that follow each other may be: a `Sequential` would count what stands between them, too.
fn side_by_side(tensors: &[TensorInfo], plan: &[Slot]) -> Option<String> {
    let numbered = |slot: &Slot| {
        let parsed = names::parse(&tensors[slot.weight].name)?;
        let (list, number) = parsed.stem.rsplit_once('.').unwrap_or(("", parsed.stem));
        let is_torch = parsed.convention == Convention::Torch;
        is_torch.then(|| Some((list, number.parse::<u64>().ok()?, parsed.stem)))?
    };
    let pair = plan.windows(2).find_map(|pair| {
        let (a, b) = (numbered(&pair[0])?, numbered(&pair[1])?);
        (a.0 == b.0 && a.1.checked_add(1) == Some(b.1)).then_some((a.2, b.2))
    });
    let (a, b) = pair?;
    Some(format!(
        "layers {} and {} have numbers that follow each other: in a Sequential nothing stands between them \
         (--activation identity, in Python activation=)",
        quoted(a),
        quoted(b)
    ))
}

/// What the neurons of a layer are called: by the module that its weight belongs to.
fn named(weight: &TensorInfo) -> Vec<Part> {
    let stem = names::parse(&weight.name).filter(|parsed| parsed.convention == Convention::Torch);
    vec![Part::new(stem.and_then(|parsed| label(parsed.stem)), &weight.shape[..1], weight.shape[0])]
}

/// The tensors of one layer.
#[derive(Debug, PartialEq)]
struct Slot {
    weight: usize,
    bias: Option<usize>,
}

/// Sorts the tensors into layers and checks their shapes.
fn plan(tensors: &[TensorInfo]) -> Result<Vec<Slot>, FormatError> {
    if tensors.is_empty() {
        return Err(FormatError::malformed("the file holds no tensors"));
    }
    let numbered = tensors.iter().enumerate();
    let parse = |(i, tensor)| parse_name(tensor).map(|name| (name, i));
    let mut parsed = numbered.map(parse).collect::<Result<Vec<_>, _>>()?;
    parsed.sort_by(|(a, _), (b, _)| names::natural_order(a.stem, b.stem).then(a.role.cmp(&b.role)));
    let mut plan: Vec<Slot> = Vec::new();
    let mut last: Option<(Parsed, usize)> = None;
    for &(name, i) in &parsed {
        if let Some((before, j)) = last {
            check_pair(&tensors[j], before, &tensors[i], name)?;
        }
        match name.role {
            Role::Weight => plan.push(Slot { weight: i, bias: None }),
            Role::Bias if last.is_some_and(|(before, _)| before.stem == name.stem) => {
                plan.last_mut().expect("the weight of the same stem came before").bias = Some(i);
            }
            Role::Bias => return Err(bias_alone(&tensors[i], name)),
        }
        last = Some((name, i));
    }
    check_numbers(tensors, &plan)?;
    check_shapes(tensors, &plan)?;
    Ok(plan)
}

fn parse_name(tensor: &TensorInfo) -> Result<Parsed<'_>, FormatError> {
    if let Some(parsed) = names::parse(&tensor.name) {
        return Ok(parsed);
    }
    let name = quoted(&tensor.name);
    Err(FormatError::unsupported(format!(
        "tensor {name}: expected names like `W1`, `b1` or `0.weight`, `0.bias`; {}",
        betrayal::ADVICE
    )))
}

fn check_pair(a: &TensorInfo, before: Parsed, b: &TensorInfo, name: Parsed) -> Result<(), FormatError> {
    if a.name == b.name {
        return Err(FormatError::malformed(format!("tensor {}: the file holds it twice", quoted(&a.name))));
    }
    if before.convention != name.convention {
        let (a, b) = (quoted(&a.name), quoted(&b.name));
        let message =
            format!("tensors {a} and {b}: expected either `W1`, `b1`, ... or `0.weight`, `0.bias`, ...");
        return Err(FormatError::unsupported(message));
    }
    Ok(())
}

fn bias_alone(tensor: &TensorInfo, name: Parsed) -> FormatError {
    let weight = match (name.convention, name.stem) {
        (Convention::Numbered, stem) => format!("W{stem}"),
        (Convention::Torch, "") => "weight".to_owned(),
        (Convention::Torch, stem) => format!("{stem}.weight"),
    };
    let message = format!(
        "tensor {}: expected a weight {} beside it, found none",
        quoted(&tensor.name),
        quoted(&weight)
    );
    FormatError::malformed(message)
}

/// `W1, W2, ...` leave no gap.
fn check_numbers(tensors: &[TensorInfo], plan: &[Slot]) -> Result<(), FormatError> {
    for (slot, l) in plan.iter().zip(1..) {
        let name = &tensors[slot.weight].name;
        let expected = format!("W{l}");
        if names::parse(name).is_some_and(|p| p.convention == Convention::Numbered) && *name != expected {
            return Err(FormatError::malformed(format!(
                "expected tensor `{expected}`, found {}",
                quoted(name)
            )));
        }
    }
    Ok(())
}

fn check_shapes(tensors: &[TensorInfo], plan: &[Slot]) -> Result<(), FormatError> {
    for slot in plan {
        check_rank(&tensors[slot.weight], 2)?;
        slot.bias.map_or(Ok(()), |bias| check_rank(&tensors[bias], 1))?;
    }
    for (l, slot) in plan.iter().enumerate() {
        let weight = &tensors[slot.weight];
        let (rows, cols) = (weight.shape[0], weight.shape[1]);
        if let Some(bias) = slot.bias.map(|bias| &tensors[bias]).filter(|bias| bias.shape[0] != rows) {
            let hint = if bias.shape[0] == cols { TRANSPOSED } else { "" };
            return Err(FormatError::malformed(format!(
                "tensor {}: expected {rows} entries, one per row of {} ({rows} x {cols}), found {}{hint}",
                quoted(&bias.name),
                quoted(&weight.name),
                bias.shape[0]
            )));
        }
        let Some(before) = l.checked_sub(1).map(|before| &tensors[plan[before].weight]) else { continue };
        let (outputs, inputs) = (before.shape[0], before.shape[1]);
        if cols != outputs {
            let hint = match rows {
                _ if rows == outputs => TRANSPOSED,
                _ if rows == inputs => BOTH_TRANSPOSED,
                _ => "",
            };
            return Err(FormatError::malformed(format!(
                "tensor {}: expected {outputs} columns, one per row of {} ({outputs} x {inputs}), found {rows} x \
                 {cols}{hint}",
                quoted(&weight.name),
                quoted(&before.name)
            )));
        }
    }
    Ok(())
}

const TRANSPOSED: &str = "; with the weight transposed it would fit (weights are out x in)";
const BOTH_TRANSPOSED: &str = "; with both transposed they would fit (weights are out x in)";

fn check_rank(tensor: &TensorInfo, rank: usize) -> Result<(), FormatError> {
    let name = quoted(&tensor.name);
    let shape = &tensor.shape;
    if tensor.element == Element::Bool {
        return Err(FormatError::unsupported(format!("tensor {name}: expected numbers, found booleans")));
    }
    if shape.len() != rank {
        let expected = if rank == 2 { "2 dimensions (out x in)" } else { "1 dimension" };
        let found =
            if shape.len() <= 8 { format!("shape {shape:?}") } else { format!("{} dimensions", shape.len()) };
        let hint = match (rank, shape.len()) {
            (2, 1) => format!("; a normalisation or a PReLU has such a weight: {}", betrayal::ADVICE),
            (2, 3..=5) => format!("; a convolution has such a weight: {}", betrayal::ADVICE),
            _ => String::new(),
        };
        return Err(FormatError::unsupported(format!(
            "tensor {name}: expected {expected}, found {found}{hint}"
        )));
    }
    if shape.contains(&0) {
        let message = format!("tensor {name}: expected dimensions of at least 1, found shape {shape:?}");
        return Err(FormatError::malformed(message));
    }
    Ok(())
}

fn hidden_activations(depth: usize, hidden: Activation) -> Vec<Activation> {
    (1..=depth).map(|l| if l < depth { hidden } else { Activation::Identity }).collect()
}

fn parse_activations(names: &[String], depth: usize) -> Result<Vec<Activation>, FormatError> {
    if names.len() != depth {
        let message = format!("expected {depth} activations, one per layer, found {}", names.len());
        return Err(FormatError::malformed(message));
    }
    let parse = |(name, l): (&String, usize)| {
        Activation::from_name(name).ok_or_else(|| {
            let message = format!("layer {l}: expected activation relu or identity, found {}", quoted(name));
            FormatError::unsupported(message)
        })
    };
    names.iter().zip(1..).map(parse).collect()
}

fn notes(tensors: &[TensorInfo], plan: &[Slot]) -> Vec<String> {
    let mut notes = Vec::new();
    let without_bias = plan.iter().filter(|slot| slot.bias.is_none()).count();
    if without_bias > 0 {
        notes.push(format!("{without_bias} of {} layers have no bias in the file: it is zero", plan.len()));
    }
    let name = |slot: &Slot| tensors[slot.weight].name.as_str();
    if plan.windows(2).any(|pair| !names::differ_in_numbers_only(name(&pair[0]), name(&pair[1]))) {
        let shown: Vec<String> = plan.iter().take(8).map(|slot| quoted(name(slot))).collect();
        let more = if plan.len() > shown.len() { ", ..." } else { "" };
        notes.push(format!("layers in the natural order of their names: {}{more}", shown.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests;
