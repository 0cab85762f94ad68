//! Operators that switch: everything that is made of ReLUs.
//!
//! ```text
//! leaky(x) = relu(x) - a relu(-x)          clip(x, l, u) = l + relu(x - l) - relu(x - u)
//! abs(x) = relu(x) + relu(-x)              max(x, y) = y + relu(x - y)
//! ```
//!
//! The largest of many entries is found in rounds ([`super::maxima`]). All nodes of a level share their layers.

use fiberscope_core::{Activation, Rational};

use super::affine::exact;
use super::choice::Bend;
use super::graph::{Graph, Maker};
use super::layers::Value;
use super::lowering::{Lowering, Site, Slot};
use super::map::Map;
use super::proto::{Node, Quoted};
use super::shape;
use super::steps::{Next, Rest, Task, again};
use super::tensor::Values;
use crate::FormatError;

const SWITCHES: [&str; 12] = [
    "Relu",
    "LeakyRelu",
    "PRelu",
    "Clip",
    "Abs",
    "Max",
    "Min",
    "MaxPool",
    "GlobalMaxPool",
    "ReduceMax",
    "ReduceMin",
    "HardSigmoid",
];

/// Whether an operator is made of ReLUs.
pub(super) fn switches(operator: &str) -> bool {
    SWITCHES.contains(&operator)
}

/// Whether an operator of two values is no piecewise linear function of them.
pub(super) fn multiplies(operator: &str) -> bool {
    matches!(operator, "Mul" | "Div" | "MatMul" | "Gemm" | "Conv" | "ConvTranspose" | "Einsum" | "Pow")
}

/// The error for an operator that is not read. The value before it, if it is not the input, still can be.
pub(super) fn unknown_operator(graph: &Graph, site: &Site) -> FormatError {
    let node = &site.node;
    let before = site.input(site.data).map(|name| (name, graph.maker(name)));
    let advice = match before {
        Some((name, Some(Maker::Node(_)))) => {
            format!("; the value before it can be read (--output {})", Quoted(name))
        }
        Some((_, Some(Maker::Input))) => {
            "; it stands at the input, so export what is behind it as a model of its own".to_owned()
        }
        _ => String::new(),
    };
    const NONLINEAR: [&str; 24] = [
        "Celu",
        "Elu",
        "Erf",
        "Exp",
        "Gelu",
        "GRU",
        "HardSwish",
        "InstanceNormalization",
        "LayerNormalization",
        "Log",
        "LogSoftmax",
        "LSTM",
        "Mish",
        "Pow",
        "Reciprocal",
        "Selu",
        "Sigmoid",
        "Softmax",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Swish",
        "Tanh",
        "ThresholdedRelu",
    ];
    const RANDOM: [&str; 6] = [
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ];
    if RANDOM.contains(&node.operator) {
        return node.unsupported("its numbers are random: the network is no function of its input");
    }
    if NONLINEAR.contains(&node.operator) {
        return node.unsupported(format!("this operator is not piecewise linear{advice}"));
    }
    node.unsupported(format!("this operator cannot be read{advice}"))
}

impl<'a> Lowering<'_, 'a> {
    /// Works off nodes that switch and do not need each other.
    pub(super) fn switch(&mut self, nodes: &[usize]) -> Result<(), FormatError> {
        let mut tasks = Vec::new();
        for &at in nodes {
            let site = self.site(at)?;
            let next = self.begin(site, &mut tasks)?;
            self.settle(next, &mut tasks)?;
        }
        while !tasks.is_empty() {
            let mut relus = Vec::with_capacity(tasks.len());
            let mut kept = Vec::new();
            let who = tasks[0].site.node.to_string();
            for task in &mut tasks {
                relus.push(std::mem::replace(&mut task.relus, Value::empty()));
                if let Rest::Maxima(maxima) = &mut task.rest {
                    kept.push(std::mem::replace(&mut maxima.kept, Value::empty()));
                }
            }
            if self.layers.is_empty() && relus.iter().any(|value| value.map.is_identity()) {
                let note = format!("{who} acts on the input itself: an identity layer was put before it");
                self.layers.notes.push(note);
            }
            let made = self.close(&who, Activation::Relu, relus, &mut kept)?;
            let mut kept = kept.into_iter();
            for (mut task, made) in std::mem::take(&mut tasks).into_iter().zip(made) {
                task.relus = made;
                if let Rest::Maxima(maxima) = &mut task.rest {
                    maxima.kept = kept.next().expect("one for each");
                }
                let next = self.go_on(task)?;
                self.settle(next, &mut tasks)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self, next: Next<'a>, tasks: &mut Vec<Task<'a>>) -> Result<(), FormatError> {
        match next {
            Next::Again(task) => tasks.push(*task),
            Next::Done(site, value) => {
                self.release(&site);
                self.store(&site.node, vec![Slot::Value(value)])?;
            }
        }
        Ok(())
    }

    /// The first ReLUs of a node. Values of nodes begun before must survive layers that are made on the way.
    fn begin(&mut self, mut site: Site<'a>, tasks: &mut [Task<'a>]) -> Result<Next<'a>, FormatError> {
        let node = site.node;
        let data: Vec<usize> = (0..site.inputs.len()).filter(|&at| self.is_value(site.inputs[at])).collect();
        if node.operator == "Where" {
            let (value, bend) = self.bend(&site)?;
            return self.bent_both(site, value, bend);
        }
        if matches!(node.operator, "Max" | "Min") {
            return self.largest_of_values(site, tasks);
        }
        site.data = match data.as_slice() {
            [] => 0,
            [one] => *one,
            _ => return Err(node.unsupported("several of its inputs depend on the input of the network")),
        };
        site.data_comes_first()?;
        let value = match data.is_empty() {
            true => self.constant_value(&site, 0)?,
            false => self.take(site.inputs[0], &node)?,
        };
        match node.operator {
            "Relu" => {
                if self.layers.is_nonnegative(&value) {
                    return Ok(Next::Done(site, value));
                }
                Ok(again(site, value.dims.clone(), value, Rest::Nothing))
            }
            "LeakyRelu" => {
                let slope = node.float("alpha", 0.01)?;
                let slope = Rational::from_f64(slope.into())
                    .ok_or_else(|| node.malformed(format!("alpha is {slope}; expected a finite number")))?;
                let slopes = vec![slope; value.map.output()];
                self.bent(site, value, slopes)
            }
            "PRelu" => {
                let mut slopes = self.floats(&site, 1)?;
                if self.graph.is_before(7) && slopes.0.len() == 1 && value.dims.len() > 2 {
                    // A slope for each channel, or one for all.
                    slopes.0.extend(vec![1; value.dims.len() - 2]);
                }
                let dims = shape::broadcast(&value.dims, &slopes.0).ok().filter(|dims| *dims == value.dims);
                let dims = dims.ok_or_else(|| node.malformed("its slopes do not fit the value"))?;
                let slopes = self.broadcast(&node, slopes, &dims)?.into_iter().map(exact).collect();
                self.bent(site, value, slopes)
            }
            "Abs" => {
                let slopes = vec![Rational::from(-1); value.map.output()];
                self.bent(site, value, slopes)
            }
            "HardSigmoid" => {
                let (alpha, beta) = (node.float("alpha", 0.2)?, node.float("beta", 0.5)?);
                let number = |x: f32| Rational::from_f64(x.into());
                let (Some(alpha), Some(beta)) = (number(alpha), number(beta)) else {
                    return Err(node.malformed("alpha or beta is not finite"));
                };
                // Not by `scale` and `shift`, which may make a layer: other nodes have begun.
                let (mut value, width) = (value.clone(), value.map.output());
                self.budget.operations(node, width.saturating_mul(8))?;
                value.map.scale(&vec![alpha; width]);
                value.map.shift(&vec![beta; width]);
                value.mark_folded(&node);
                self.clipped(site, value, (Some(Rational::ZERO), Some(Rational::ONE)), tasks)
            }
            "Clip" => {
                let low = self.bound(&site, "min", 1)?;
                let high = self.bound(&site, "max", 2)?;
                self.clipped(site, value, (low, high), tasks)
            }
            _ => self.largest_in_windows(site, value, tasks),
        }
    }

    /// `relu(x) - slope relu(-x)`.
    fn bent(
        &mut self,
        site: Site<'a>,
        value: Value<'a>,
        slopes: Vec<Rational>,
    ) -> Result<Next<'a>, FormatError> {
        if self.layers.is_nonnegative(&value) {
            return Ok(Next::Done(site, value));
        }
        if slopes.iter().all(Rational::is_zero) {
            return Ok(again(site, value.dims.clone(), value, Rest::Nothing));
        }
        let constants = vec![Rational::ZERO; value.map.output()];
        self.both_signs(site, value, Rest::Difference { slopes, constants })
    }

    /// The two lines of a choice.
    fn bent_both(&mut self, site: Site<'a>, value: Value<'a>, bend: Bend) -> Result<Next<'a>, FormatError> {
        self.both_signs(site, value, Rest::Slopes(bend))
    }

    /// `relu(x)`, and behind it `relu(-x)`.
    fn both_signs(
        &mut self,
        site: Site<'a>,
        value: Value<'a>,
        rest: Rest<'a>,
    ) -> Result<Next<'a>, FormatError> {
        let count = value.map.output();
        self.budget.operations(site.node, count.saturating_mul(4))?;
        let (dims, mut both) = (value.dims.clone(), value);
        let twice: Vec<usize> = (0..count).chain(0..count).collect();
        both.map.select(&twice);
        let one = |at: usize| if at < count { Rational::ONE } else { Rational::from(-1) };
        both.map.scale(&(0..2 * count).map(one).collect::<Vec<_>>());
        both.dims = vec![2 * count];
        Ok(again(site, dims, both, rest))
    }

    /// One bound of `Clip`: an attribute in old files, an input in later ones.
    fn bound(
        &mut self,
        site: &Site<'a>,
        attribute: &str,
        input: usize,
    ) -> Result<Option<Rational>, FormatError> {
        let node = &site.node;
        let value = match (node.attribute(attribute)?, site.input(input)) {
            (Some(value), _) => f64::from(value.float()?),
            (None, None) => return Ok(None),
            (None, Some(_)) => match &self.constant(site, input)?.values {
                Values::Floats(values, _) if values.len() == 1 => values[0],
                _ => return Err(node.malformed(format!("expected one number as {attribute}"))),
            },
        };
        if value.is_nan() {
            return Err(node.malformed(format!("{attribute} is not a number")));
        }
        let is_end =
            if attribute == "min" { value <= f64::from(f32::MIN) } else { value >= f64::from(f32::MAX) };
        if value.is_infinite() && !is_end {
            return Err(node.unsupported(format!("{attribute} is {value}, which no value passes")));
        }
        if is_end {
            if value.is_finite() {
                let found = format!("{node}: the bound {value:e} lies at the end of single precision");
                self.layers.notes.push(format!("{found} and is left out"));
            }
            return Ok(None);
        }
        Ok(Some(exact(value)))
    }

    fn clipped(
        &mut self,
        site: Site<'a>,
        value: Value<'a>,
        bounds: (Option<Rational>, Option<Rational>),
        tasks: &mut [Task<'a>],
    ) -> Result<Next<'a>, FormatError> {
        let node = site.node;
        let (dims, count) = (value.dims.clone(), value.map.output());
        self.budget.operations(node, count.saturating_mul(4))?;
        let all = |x: &Rational| vec![x.clone(); count];
        let minus = |x: &Rational| vec![-x; count];
        match bounds {
            (None, None) => Ok(Next::Done(site, value)),
            (Some(low), Some(high)) if low > high => {
                Err(node.unsupported("its lower bound is above its upper bound"))
            }
            (Some(low), None) => {
                let value = self.shifted(&node, value, &minus(&low), tasks)?;
                if low.is_zero() && self.layers.is_nonnegative(&value) {
                    return Ok(Next::Done(site, value));
                }
                let rest = match low.is_zero() {
                    true => Rest::Nothing,
                    false => Rest::Offset { negated: false, constants: all(&low) },
                };
                Ok(again(site, dims, value, rest))
            }
            (None, Some(high)) => {
                let mut value = value;
                value.map.scale(&minus(&Rational::ONE));
                let value = self.shifted(&node, value, &all(&high), tasks)?;
                Ok(again(site, dims, value, Rest::Offset { negated: true, constants: all(&high) }))
            }
            (Some(low), Some(high)) => {
                let mut value = value;
                let twice: Vec<usize> = (0..count).chain(0..count).collect();
                value.map.select(&twice);
                let terms = [minus(&low), minus(&high)].concat();
                let mut value = self.shifted(&node, value, &terms, tasks)?;
                value.dims = vec![2 * count];
                let rest = Rest::Difference { slopes: vec![Rational::ONE; count], constants: all(&low) };
                Ok(again(site, dims, value, rest))
            }
        }
    }

    /// A value plus constants, exactly: where the sums of biases are no doubles, a layer is made of the value
    /// first.
    fn shifted(
        &mut self,
        node: &Node<'a>,
        mut value: Value<'a>,
        terms: &[Rational],
        tasks: &mut [Task<'a>],
    ) -> Result<Value<'a>, FormatError> {
        if terms.iter().all(Rational::is_zero) {
            return Ok(value);
        }
        if value.map.has_matrix() {
            self.budget.stored(node, value.map.stored())?;
            let mut shifted = value.map.clone();
            shifted.shift(terms);
            if shifted.into_matrix().2 {
                value.map.shift(terms);
                value.mark_folded(node);
                return Ok(value);
            }
            value = self.loose(node, value, tasks)?;
        }
        value.map.shift(terms);
        value.mark_folded(node);
        Ok(value)
    }

    /// A value without a matrix; the ReLUs of tasks that were begun survive the layer that this may take.
    pub(super) fn loose(
        &mut self,
        node: &Node<'a>,
        value: Value<'a>,
        tasks: &mut [Task<'a>],
    ) -> Result<Value<'a>, FormatError> {
        if !value.map.has_matrix() {
            return Ok(value);
        }
        let mut kept = Vec::new();
        for task in tasks.iter_mut() {
            kept.push(std::mem::replace(&mut task.relus, Value::empty()));
            if let Rest::Maxima(maxima) = &mut task.rest {
                kept.push(std::mem::replace(&mut maxima.kept, Value::empty()));
            }
        }
        let value = self.close(&node.to_string(), Activation::Identity, vec![value], &mut kept)?.remove(0);
        let mut kept = kept.into_iter();
        for task in tasks {
            task.relus = kept.next().expect("one for each");
            if let Rest::Maxima(maxima) = &mut task.rest {
                maxima.kept = kept.next().expect("one for each");
            }
        }
        Ok(value)
    }

    /// What comes after a layer of ReLUs.
    fn go_on(&mut self, task: Task<'a>) -> Result<Next<'a>, FormatError> {
        let Task { site, dims, relus, rest } = task;
        let node = site.node;
        let count = shape::count(&dims).unwrap_or(0);
        let mut rows = relus.map.rows().expect("a layer was just made of it");
        self.budget.operations(node, rows.entries())?;
        let value = match rest {
            Rest::Nothing => Value { dims, ..relus },
            Rest::Offset { negated, constants } => {
                if negated {
                    rows.scale(&vec![Rational::from(-1); count]);
                }
                rows.shift(&constants);
                Value { dims, map: Map::Rows(rows), ..relus }
            }
            Rest::Difference { slopes, constants } => {
                let mut second = rows.clone();
                second.select(&(count..2 * count).collect::<Vec<_>>());
                second.scale(&slopes.iter().map(|slope| -slope).collect::<Vec<_>>());
                rows.select(&(0..count).collect::<Vec<_>>());
                rows.add(&second);
                rows.shift(&constants);
                Value { dims, map: Map::Rows(rows), ..relus }
            }
            Rest::Slopes(Bend { above, below, at }) => {
                let mut second = rows.clone();
                second.select(&(count..2 * count).collect::<Vec<_>>());
                second.scale(&below.iter().map(|slope| -slope).collect::<Vec<_>>());
                rows.select(&(0..count).collect::<Vec<_>>());
                rows.scale(&above);
                rows.add(&second);
                rows.shift(&at);
                Value { dims, map: Map::Rows(rows), ..relus }
            }
            Rest::Maxima(maxima) => return self.next_round(site, dims, rows, *maxima),
        };
        Ok(Next::Done(site, value))
    }
}
