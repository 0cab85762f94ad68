//! Plain `Sequential`s with convolutions and batch normalisations.
//!
//! The tensors of `nn.Sequential` are called `0.weight`, `2.weight`, ..., after the place of their module,
//! with any prefix. Modules without tensors leave gaps: between two modules that follow each other there is
//! nothing, and one gap is an activation. Shapes tell linear maps, convolutions and normalisations apart.
//!
//! Strides and paddings stand nowhere. With the shape of the input (`--shape`) the sizes of images can be
//! followed; if exactly one choice of strides (up to the kernel) and paddings (up to half the kernel) leads
//! to the number of inputs of the next linear layer, that is what is read, and a note says it. Everything
//! else, pooling above all, is refused.
//!
//! The modules are written as a graph, which the reader of graphs reads: there is one place that knows what
//! a convolution is.

use std::collections::BTreeMap;

use fiberscope_core::Activation;

use super::betrayal::ADVICE;
use super::{TensorInfo, quoted};
use crate::onnx::{self, build::Attribute, build::Builder};
use crate::{Assumed, FormatError, Model, Precision, ReadOptions};

/// The tensors of a module, by their places in the file.
#[derive(Default)]
pub(super) struct Module {
    number: usize,
    weight: Option<usize>,
    bias: Option<usize>,
    mean: Option<usize>,
    variance: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Convolution,
    Normalisation,
}

/// PyTorch's default, which a state dict does not hold.
const EPSILON: f64 = 1e-5;
/// More modules than a plain network has.
const MOST_MODULES: usize = 4096;
/// More sizes of images than strides and paddings lead to in a network of reasonable depth.
const MOST_SIZES: usize = 4096;

/// The modules of a plain `Sequential` that holds more than linear layers; `None` if the tensors are no such
/// thing.
pub(super) fn modules(tensors: &[TensorInfo]) -> Result<Option<Vec<Module>>, FormatError> {
    let mut modules: BTreeMap<usize, Module> = BTreeMap::new();
    let (mut prefix, mut more) = (None, false);
    for (at, tensor) in tensors.iter().enumerate() {
        let Some((stem, role)) = tensor.name.rsplit_once('.') else { return Ok(None) };
        let (before, number) = stem.rsplit_once('.').unwrap_or(("", stem));
        let canonical = number.len() == 1 || !number.starts_with('0');
        let Some(number) = number.parse::<usize>().ok().filter(|_| canonical) else { return Ok(None) };
        if *prefix.get_or_insert(before) != before {
            return Ok(None);
        }
        let module = modules.entry(number).or_insert_with(|| Module { number, ..Module::default() });
        let place = match role {
            "weight" => &mut module.weight,
            "bias" => &mut module.bias,
            "running_mean" => &mut module.mean,
            "running_var" => &mut module.variance,
            "num_batches_tracked" => continue,
            _ => return Ok(None),
        };
        if place.replace(at).is_some() {
            return Err(FormatError::malformed(format!(
                "tensor {}: the file holds it twice",
                quoted(&tensor.name)
            )));
        }
        more |= role == "running_mean" || (role == "weight" && (3..=5).contains(&tensor.shape.len()));
    }
    Ok((more && modules.len() <= MOST_MODULES).then(|| modules.into_values().collect()))
}

/// The network of such modules.
pub(super) fn network(
    tensors: &[TensorInfo],
    modules: &[Module],
    options: &ReadOptions,
    mut load: impl FnMut(usize) -> Result<Vec<f64>, FormatError>,
) -> Result<Model, FormatError> {
    let steps = modules.iter().map(|module| step(tensors, module)).collect::<Result<Vec<_>, _>>()?;
    let assumed = Assumed {
        activation: options.activation.unwrap_or(Activation::Relu),
        stated: options.activation.is_some(),
    };
    let between = between(&steps)?;
    let input = input_shape(&steps, options)?;
    let windows = windows(&steps, &input)?;
    let mut graph = Builder::default();
    let (mut value, mut notes) = ("input".to_owned(), Vec::new());
    let mut is_image = input.len() > 2;
    for (at, step) in steps.iter().enumerate() {
        let name = &step.name;
        let weight = format!("{name}.weight");
        if step.kind == Kind::Linear && is_image {
            graph.node("Flatten", &format!("{name}.flatten"), &[&value], &format!("{name}.flat"), &[]);
            (value, is_image) = (format!("{name}.flat"), false);
        }
        let output = format!("{name}.out");
        let mut add =
            |role: &str, tensor: usize, load: &mut dyn FnMut(usize) -> Result<Vec<f64>, FormatError>| {
                let numbers = load(tensor)?;
                let numbers = match role {
                    "running_var" => numbers.iter().map(|variance| variance + EPSILON).collect(),
                    _ => numbers,
                };
                graph.constant(&format!("{name}.{role}"), &tensors[tensor].shape, &numbers);
                Ok::<_, FormatError>(format!("{name}.{role}"))
            };
        if step.kind == Kind::Normalisation {
            let [mean, variance] = [step.module.mean, step.module.variance].map(|at| at.unwrap_or_default());
            let mean = add("running_mean", mean, &mut load)?;
            let variance = add("running_var", variance, &mut load)?;
            let [scale, shift] = match (step.module.weight, step.module.bias) {
                (Some(scale), Some(shift)) => {
                    [add("weight", scale, &mut load)?, add("bias", shift, &mut load)?]
                }
                _ => {
                    let names = [weight, format!("{name}.bias")];
                    graph.constant(&names[0], &[step.outputs], &vec![1.0; step.outputs]);
                    graph.constant(&names[1], &[step.outputs], &vec![0.0; step.outputs]);
                    names
                }
            };
            let inputs = [&value, &scale, &shift, &mean, &variance].map(String::as_str);
            graph.node("BatchNormalization", name, &inputs, &output, &[Attribute::Float("epsilon", 0.0)]);
        } else {
            let weight = add("weight", step.module.weight.unwrap_or_default(), &mut load)?;
            let bias = step.module.bias.map(|bias| add("bias", bias, &mut load)).transpose()?;
            let inputs: Vec<&str> = [Some(&value), Some(&weight), bias.as_ref()]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect();
            if step.kind == Kind::Linear {
                graph.node("Gemm", name, &inputs, &output, &[Attribute::Integer("transB", 1)]);
            } else {
                let window = &windows[at];
                let axes = step.kernel.len();
                let (strides, pads) =
                    (vec![window.stride as i64; axes], vec![window.padding as i64; 2 * axes]);
                let attributes = [
                    Attribute::Integers("strides", &strides),
                    Attribute::Integers("pads", &pads),
                    Attribute::Integer("group", window.groups as i64),
                ];
                graph.node("Conv", name, &inputs, &output, &attributes);
                notes.push(format!(
                    "module {}: stride {}, padding {} and dilation 1 are the only ones that fit the shapes, with paddings up to half \
                     the kernel",
                    quoted(name), window.stride, window.padding
                ));
            }
        }
        value = output;
        if between.get(at) == Some(&true) && assumed.activation == Activation::Relu {
            let output = format!("{name}.relu");
            graph.node("Relu", &output, &[&value], &output, &[]);
            value = output;
        }
    }
    if steps.iter().any(|step| step.kind == Kind::Normalisation) {
        notes.push(format!(
            "batch normalisations as in evaluation, with epsilon {EPSILON:e}, PyTorch's default, which the file does not hold"
        ));
    }
    let read = onnx::read(
        &graph.finish(("input", &input), &value),
        &ReadOptions { max_dense_entries: options.max_dense_entries, ..ReadOptions::default() },
    )?;
    notes.extend(read.notes);
    let floats = modules.iter().flat_map(|module| [module.weight, module.bias, module.mean, module.variance]);
    let precision =
        floats.flatten().map(|at| tensors[at].element.precision()).min().unwrap_or(Precision::F64);
    let assumed = between.contains(&true).then_some(assumed);
    Ok(Model { assumed, names: read.names, ..Model::new(read.network, precision, notes) })
}

/// A module whose kind and sizes are known.
struct Step<'a> {
    module: &'a Module,
    name: String,
    kind: Kind,
    outputs: usize,
    /// For a linear map its inputs; for a convolution the channels that one filter reads.
    inputs: usize,
    kernel: Vec<usize>,
}

fn step<'a>(tensors: &[TensorInfo], module: &'a Module) -> Result<Step<'a>, FormatError> {
    let shape = |at: Option<usize>| at.map(|at| tensors[at].shape.as_slice());
    let any = [module.weight, module.bias, module.mean, module.variance].into_iter().flatten().next();
    let name = any.map_or(String::new(), |at| {
        tensors[at].name.rsplit_once('.').map_or("", |(stem, _)| stem).to_owned()
    });
    let refused =
        |reason: String| FormatError::unsupported(format!("module {}: {reason}; {ADVICE}", quoted(&name)));
    let expected = |outputs: usize, what: Option<usize>| match shape(what) {
        Some(found) if found != [outputs] => {
            let tensor = what.map_or("", |at| tensors[at].name.as_str());
            Err(refused(format!(
                "expected {} to have {outputs} entries, found shape {found:?}",
                quoted(tensor)
            )))
        }
        _ => Ok(()),
    };
    let zero = [module.weight, module.bias, module.mean, module.variance].into_iter().flatten();
    if zero.into_iter().any(|at| tensors[at].shape.contains(&0)) {
        return Err(refused("expected dimensions of at least 1".into()));
    }
    let (kind, outputs, inputs, kernel) =
        match (shape(module.weight), shape(module.mean), shape(module.variance)) {
            (weight, Some(&[outputs]), Some(variance)) => {
                if weight.is_some() != module.bias.is_some() || variance != [outputs] {
                    return Err(refused(
                        "expected a batch normalisation with weight and bias, or with neither".into(),
                    ));
                }
                expected(outputs, module.weight)?;
                (Kind::Normalisation, outputs, outputs, Vec::new())
            }
            (Some(&[outputs, inputs]), None, None) => (Kind::Linear, outputs, inputs, Vec::new()),
            (Some(&[outputs, inputs, ref kernel @ ..]), None, None) if (1..=3).contains(&kernel.len()) => {
                (Kind::Convolution, outputs, inputs, kernel.to_vec())
            }
            _ => {
                return Err(refused(
                    "its tensors are those of no linear layer, convolution or batch normalisation".into(),
                ));
            }
        };
    expected(outputs, module.bias)?;
    Ok(Step { module, name, kind, outputs, inputs, kernel })
}

/// Whether an activation stands behind each module but the last.
fn between(steps: &[Step]) -> Result<Vec<bool>, FormatError> {
    let gap = |pair: &[Step]| pair[1].module.number - pair[0].module.number;
    if steps.len() > 2 && steps.windows(2).all(|pair| gap(pair) == 1) {
        return Err(FormatError::unsupported(format!(
            "modules {} to {} follow each other without room for activations, so that the file does not tell whether there are any; {ADVICE}",
            quoted(&steps[0].name),
            quoted(&steps[steps.len() - 1].name)
        )));
    }
    let mut image = false;
    let mut found = Vec::new();
    for pair in steps.windows(2) {
        image = pair[0].kind == Kind::Convolution || image && pair[0].kind != Kind::Linear;
        // Between an image and a linear layer stands a Flatten.
        let flatten = usize::from(image && pair[1].kind == Kind::Linear);
        let known = match (gap(pair) - 1).checked_sub(flatten) {
            Some(others @ 0..=1) => Some(others == 1),
            // Behind the activation of a linear layer a Dropout may stand.
            Some(2) if !image && pair[1].kind == Kind::Linear => Some(true),
            _ => None,
        };
        let Some(activation) = known else {
            return Err(FormatError::unsupported(format!(
                "between modules {} and {} there are {} modules without tensors, such as pooling; {ADVICE}",
                quoted(&pair[0].name),
                quoted(&pair[1].name),
                gap(pair) - 1
            )));
        };
        found.push(activation);
    }
    Ok(found)
}

/// The shape of the input: one row of numbers, or the image that the caller states.
fn input_shape(steps: &[Step], options: &ReadOptions) -> Result<Vec<usize>, FormatError> {
    let Some(first) = steps.iter().find(|step| step.kind != Kind::Normalisation) else {
        return Ok(vec![1, steps.first().map_or(0, |step| step.outputs)]);
    };
    if first.kind == Kind::Linear {
        return Ok(vec![1, first.inputs]);
    }
    let rank = first.kernel.len() + 2;
    let stated = match options.shapes.as_slice() {
        [(_, shape)] => {
            Some(shape).filter(|shape| shape.len() == rank && shape[0] == 1 && !shape.contains(&0))
        }
        _ => None,
    };
    stated.cloned().ok_or_else(|| {
        let example = ["1x3", "32", "32", "32"][..rank - 1].join("x");
        FormatError::unsupported(format!(
            "module {} is a convolution: state the shape of the input (--shape input={example}, one sample); {ADVICE}",
            quoted(&first.name)
        ))
    })
}

/// How a convolution moves over its image.
#[derive(Clone, Default)]
struct Window {
    stride: usize,
    padding: usize,
    groups: usize,
}

/// Ways to get to an image: how many there are (2 stands for several), and the windows of one of them.
type Ways = BTreeMap<Vec<usize>, (usize, Vec<Window>)>;

/// The only windows of the convolutions that fit all shapes; one entry per module.
fn windows(steps: &[Step], input: &[usize]) -> Result<Vec<Window>, FormatError> {
    let mut ways: Ways = BTreeMap::from([(input[2..].to_vec(), (1, Vec::new()))]);
    let mut channels = input[1];
    let mut open = false;
    for step in steps {
        let refused = |reason: &str| {
            Err(FormatError::unsupported(format!("module {}: {reason}; {ADVICE}", quoted(&step.name))))
        };
        match step.kind {
            Kind::Convolution => {
                if step.kernel.len() + 2 != input.len() {
                    return refused("its kernel has another number of axes than the input");
                }
                if !channels.is_multiple_of(step.inputs)
                    || !step.outputs.is_multiple_of(channels / step.inputs)
                {
                    return refused(&format!("it reads {} channels, and {channels} are there", step.inputs));
                }
                let groups = channels / step.inputs;
                ways = through(step, groups, ways);
                if ways.is_empty() || ways.len() > MOST_SIZES {
                    return refused("the file does not tell its stride and padding");
                }
                (channels, open) = (step.outputs, true);
            }
            Kind::Normalisation if step.outputs != channels => {
                return refused(&format!("it has {} channels, and {channels} are there", step.outputs));
            }
            Kind::Linear => {
                ways.retain(|image, _| image.iter().product::<usize>() * channels == step.inputs);
                let count: usize = ways.values().map(|way| way.0).sum();
                if count == 0 {
                    return refused(&format!(
                        "no strides and paddings of the convolutions before lead from the input to its {} inputs",
                        step.inputs
                    ));
                }
                if count > 1 {
                    return refused("several strides and paddings of the convolutions before fit the shapes");
                }
                let chosen = ways.into_values().next().map(|way| way.1).unwrap_or_default();
                ways = BTreeMap::from([(Vec::new(), (1, chosen))]);
                (channels, open) = (step.outputs, false);
            }
            Kind::Normalisation => {}
        }
        if step.kind != Kind::Convolution {
            ways.values_mut().for_each(|(_, windows)| windows.push(Window::default()));
        }
    }
    if open {
        let last = &steps[steps.len() - 1].name;
        return Err(FormatError::unsupported(format!(
            "module {}: no linear layer behind it tells the strides and paddings of the convolutions; {ADVICE}",
            quoted(last)
        )));
    }
    Ok(ways.into_values().next().map(|way| way.1).unwrap_or_default())
}

/// The images behind a convolution.
fn through(step: &Step, groups: usize, ways: Ways) -> Ways {
    let mut next = Ways::new();
    let smallest = step.kernel.iter().copied().min().unwrap_or(1);
    for (image, (count, windows)) in ways {
        for stride in 1..=smallest.min(4) {
            for padding in 0..=smallest.min(15) / 2 {
                let size = |(side, kernel): (&usize, &usize)| {
                    side.checked_add(2 * padding)?.checked_sub(*kernel).map(|room| room / stride + 1)
                };
                let Some(made) = image.iter().zip(&step.kernel).map(size).collect::<Option<Vec<_>>>() else {
                    continue;
                };
                let way = next.entry(made).or_insert_with(|| {
                    let mut windows = windows.clone();
                    windows.push(Window { stride, padding, groups });
                    (0, windows)
                });
                way.0 = (way.0 + count).min(2);
            }
        }
    }
    next
}
