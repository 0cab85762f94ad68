//! A cover of the domain by cells on which the networks are the same function.
//!
//! Lemma. If every rule below holds for the tree, `f_A = f_B` on the domain. Proof: inputs with a single
//! value are substituted, so the domain has interior points; take one off the zero sets of the non-constant
//! `g` of the tree (a dense set). At every split it lies strictly on one side, or the pre-activation is
//! constant on the path and the point follows the only branch. It satisfies all constraints of its path
//! strictly, so it does not end in an empty leaf; it ends in a leaf whose path decides neurons as they are at
//! the point, and `f_A = f_B` there: the affine maps are equal, or the outputs are the same expressions
//! ([`numbering`]). Both functions are continuous.
//!
//! The tree is walked in preorder with an explicit stack. Affine functions of the free inputs are
//! computed when they are asked for and kept as long as the masks of the layers before them hold.

mod expression;
mod masked;
mod numbering;

use fiberscope_core::{CoverNode, Domain, ExactNetwork, Network, Neuron, Operand, ProductSum, Rational};

use crate::{End, Stop, refuse, regions_fit, verify_prefix};
use expression::Expression;
use masked::{Form, Inputs, Masked};
use numbering::Numbering;

/// How many splits of a path a refusal names.
const SHOWN_SPLITS: usize = 6;

/// The most products of coefficients at one leaf `same`: so many; and so many, plus so many for each
/// parameter times each variable.
const MAX_PRODUCTS: usize = 1 << 24;
const PRODUCTS: (usize, usize) = (1 << 16, 64);

/// Why a node is not accepted.
#[derive(Debug, PartialEq)]
enum Fault {
    Rule(String),
    Stopped,
}

impl<T: Into<String>> From<T> for Fault {
    fn from(rule: T) -> Self {
        Fault::Rule(rule.into())
    }
}

/// Whether a tree may have the leaf `same` where these neurons are on or off. Also false if it is stopped
/// before that is known.
///
/// ```
/// use fiberscope_check::same_on_path;
/// use fiberscope_core::{Domain, Network};
///
/// let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap().to_exact();
/// let b = Network::from_rows(&[(&[&[-2.0], &[1.0]], &[0.0, 0.0]), (&[&[0.5, 1.0]], &[0.0])]).unwrap().to_exact();
/// assert!(same_on_path(&a, &b, &Domain::Space, [], &|| false));
/// ```
pub fn same_on_path(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    path: impl IntoIterator<Item = (Operand, Neuron, bool)>,
    stop: &dyn Fn() -> bool,
) -> bool {
    let Ok(mut walk) = Walk::new(a, b, domain, stop) else { return false };
    let walked = path.into_iter().try_for_each(|(operand, neuron, on)| {
        walk.split(operand, neuron)?;
        let missed = walk.frames.last().is_some_and(|frame| frame.constant.is_some_and(|side| side != on));
        if !on {
            walk.turn();
        }
        if missed { Err("a constant pre-activation is not on this side".into()) } else { Ok(()) }
    });
    walked.and_then(|()| walk.same()).is_ok()
}

/// What is behind `prefix` equal first layers, and a box that holds all that these compute on the domain.
///
/// Lemma. If the tails are equal on the box, the networks are on the domain: both are the same map into the box,
/// followed by their tails.
pub fn tails(
    [a, b]: [ExactNetwork; 2],
    domain: &Domain,
    prefix: usize,
) -> Result<([ExactNetwork; 2], Domain), End> {
    for (name, network) in [("A", &a), ("B", &b)] {
        let hidden = network.hidden_depth();
        if hidden < prefix {
            let rule = format!("{name} has {hidden} hidden layers after the moves; the prefix has {prefix}");
            return refuse("prefix", rule);
        }
    }
    let sides = verify_prefix(&a, &b, domain, prefix)?;
    let tail = |network: ExactNetwork| {
        Network::new(network.layers()[prefix..].to_vec()).expect("the last layers of a network are one")
    };
    Ok(([tail(a), tail(b)], Domain::Box(sides)))
}

/// A split on the current path.
struct Frame {
    operand: Operand,
    neuron: Neuron,
    /// The side the walk is on.
    on: bool,
    /// The only side of a constant pre-activation.
    constant: Option<bool>,
}

/// The check of a tree, a node at a time.
pub struct Walk<'a> {
    a: Masked<'a>,
    b: Masked<'a>,
    inputs: Inputs,
    frames: Vec<Frame>,
    /// The splits of the path that have a constraint: place in `frames`.
    numbered: Vec<usize>,
    /// How many nodes there were, and whether they are a whole tree.
    count: u64,
    complete: bool,
    /// The most products at a leaf `same`.
    products: usize,
    /// How many of the last layers, with one layer before them at least, are equal number by number. Zero if leaves
    /// `same` do not rest on them.
    shared: usize,
    stop: Stop<'a>,
}

impl<'a> Walk<'a> {
    pub fn new(
        a: &'a ExactNetwork,
        b: &'a ExactNetwork,
        domain: &Domain,
        stop: Stop<'a>,
    ) -> Result<Self, End> {
        if !regions_fit(a, b, domain) {
            return refuse("region tree", "the networks are too large for this kind of certificate");
        }
        let inputs = Inputs::new(&domain.sides(a.input_width()));
        let hidden =
            |network: &ExactNetwork| network.hidden_layers().iter().map(|l| l.width()).sum::<usize>();
        let variables = inputs.free + hidden(a) + hidden(b);
        let parameters = a.parameter_count() + b.parameter_count();
        let more = PRODUCTS.1.saturating_mul(parameters).saturating_mul(variables);
        let last_layers = a.layers().iter().rev().zip(b.layers().iter().rev());
        let equal = last_layers.take_while(|(of_a, of_b)| of_a == of_b).count();
        Ok(Walk {
            shared: equal.min(a.depth() - 1).min(b.depth() - 1),
            a: Masked::new(a, stop),
            b: Masked::new(b, stop),
            inputs,
            frames: Vec::new(),
            numbered: Vec::new(),
            count: 0,
            complete: false,
            products: PRODUCTS.0.saturating_add(more).min(MAX_PRODUCTS),
            stop,
        })
    }

    /// The next node of the tree.
    pub fn next(&mut self, node: &CoverNode) -> Result<(), End> {
        self.count += 1;
        if self.complete {
            return refuse(format!("region tree, node {}", self.count), "the tree ends before this node");
        }
        match self.visit(node) {
            Ok(()) => {}
            Err(Fault::Rule(rule)) => return refuse(self.step(self.count), rule),
            Err(Fault::Stopped) => return Err(End::Stopped),
        }
        if !matches!(node, CoverNode::Split(..)) {
            self.complete = self.turn();
        }
        Ok(())
    }

    /// The end of the list.
    pub fn finish(&mut self) -> Result<(), End> {
        if self.complete { Ok(()) } else { refuse(self.step(self.count + 1), "the tree ends too early") }
    }

    fn visit(&mut self, node: &CoverNode) -> Result<(), Fault> {
        let skipped = self.frames.last().is_some_and(|frame| frame.constant.is_some_and(|on| on != frame.on));
        match node {
            CoverNode::None if skipped => Ok(()),
            CoverNode::None => {
                Err("\"none\" stands only for the side that a constant pre-activation misses".into())
            }
            _ if skipped => {
                Err("the pre-activation is constant on this path; this side must be \"none\"".into())
            }
            CoverNode::Split(operand, neuron) => self.split(*operand, *neuron),
            CoverNode::Empty(terms) => self.empty(terms),
            CoverNode::Equal => self.equal(),
            CoverNode::Same => self.same(),
        }
    }

    fn split(&mut self, operand: Operand, neuron: Neuron) -> Result<(), Fault> {
        let Walk { a, b, inputs, .. } = self;
        let network = match operand {
            Operand::A => a,
            Operand::B => b,
        };
        let Some(mask) = network.masks.get(neuron.layer) else {
            return Err(format!("{operand} has no hidden layer {}", neuron.layer.saturating_add(1)).into());
        };
        match mask.get(neuron.unit) {
            None => return Err(format!("{operand} has no {neuron}").into()),
            Some(Some(_)) => {
                return Err(format!("{neuron} of {operand} is already decided or is no ReLU").into());
            }
            Some(None) => {}
        }
        if let Some(layer) = network.open_layer(neuron.layer) {
            let layer = layer + 1;
            return Err(format!("{neuron} of {operand} is split before layer {layer} is decided").into());
        }
        let form = network.form(neuron, inputs)?;
        let (constant, gradient) = form.split_last().expect("a form has a constant");
        let constant = gradient.iter().all(Rational::is_zero).then(|| !constant.is_negative());
        network.set(neuron, Some(true));
        if constant.is_none() {
            self.numbered.push(self.frames.len());
        }
        self.frames.push(Frame { operand, neuron, on: true, constant });
        Ok(())
    }

    /// `m_c > 0`, `sum m_c grad g_c = 0`, `sum m_c g_c(0) <= 0`.
    fn empty(&self, terms: &[(usize, Rational)]) -> Result<(), Fault> {
        if terms.is_empty() {
            return Err("a proof of emptiness needs at least one constraint".into());
        }
        let mut total = vec![ProductSum::default(); self.inputs.free + 1];
        for (constraint, multiplier) in terms {
            if !multiplier.is_positive() || !multiplier.is_integer() {
                return Err(format!(
                    "the multiplier of constraint {} must be a positive integer",
                    constraint.saturating_add(1)
                )
                .into());
            }
            let (form, negative) = self.constraint(*constraint)?;
            for (sum, g) in total.iter_mut().zip(form) {
                if negative { sum.subtract(multiplier, g) } else { sum.add(multiplier, g) }
            }
        }
        let total: Form = total.iter().map(ProductSum::to_rational).collect();
        let (constant, gradient) = total.split_last().expect("a form has a constant");
        if gradient.iter().any(|g| !g.is_zero()) {
            return Err("the gradients with their multipliers must add up to zero".into());
        }
        if constant.is_positive() {
            return Err("the constants with their multipliers must add up to at most zero".into());
        }
        Ok(())
    }

    /// A constraint of the path: an affine function and whether it is to be negated.
    fn constraint(&self, number: usize) -> Result<(&Form, bool), Fault> {
        if let Some(side) = self.inputs.sides.get(number) {
            return Ok((side, false));
        }
        let Some(&place) = self.numbered.get(number - self.inputs.sides.len()) else {
            let last = self.inputs.sides.len() + self.numbered.len();
            let number = number.saturating_add(1);
            return Err(format!("constraint {number} does not exist; the last is {last}").into());
        };
        let Frame { operand, neuron, on, .. } = &self.frames[place];
        let network = match operand {
            Operand::A => &self.a,
            Operand::B => &self.b,
        };
        let form = network.forms[neuron.layer][neuron.unit].as_ref();
        Ok((form.expect("it was computed at the split and the layers before still hold"), !on))
    }

    /// All neurons are decided and the affine maps agree.
    fn equal(&mut self) -> Result<(), Fault> {
        let Walk { a, b, inputs, .. } = self;
        for (operand, network) in [(Operand::A, &*a), (Operand::B, &*b)] {
            if let Some(layer) = network.open_layer(network.open.len()) {
                return Err(format!("layer {} of {operand} is not decided", layer + 1).into());
            }
        }
        for unit in 0..a.network.output_width() {
            let output = |network: &ExactNetwork| Neuron { layer: network.hidden_depth(), unit };
            if a.form(output(a.network), inputs)? != b.form(output(b.network), inputs)? {
                return Err(format!("output {} is not the same affine function in A and B", unit + 1).into());
            }
        }
        Ok(())
    }

    /// The outputs are the same expressions where the constraints of the path hold. They are if what the layers
    /// before equal ones compute are the same expressions: equal layers make equal values of equal values. That
    /// is asked first, and not again where it once was not so.
    fn same(&mut self) -> Result<(), Fault> {
        let depths = [self.a.network.depth(), self.b.network.depth()];
        if self.shared > 0 && self.differing(depths.map(|depth| depth - self.shared))?.is_none() {
            return Ok(());
        }
        self.shared = 0;
        match self.differing(depths)? {
            Some(output) => {
                Err(format!("output {} is not the same expression in A and B", output + 1).into())
            }
            None => Ok(()),
        }
    }

    /// The first place where what so many layers of A and of B compute is not the same expression.
    fn differing(&mut self, [of_a, of_b]: [usize; 2]) -> Result<Option<usize>, Fault> {
        let mut numbering = Numbering::new(&self.inputs.ranges, self.products, self.stop);
        for number in self.inputs.sides.len()..self.inputs.sides.len() + self.numbered.len() {
            let (form, negative) = self.constraint(number)?;
            let known = Expression::affine(form);
            numbering.assume(&if negative { known.times(&-Rational::ONE) } else { known })?;
        }
        let a = self.a.values(of_a, &self.inputs, &mut numbering)?;
        let b = self.b.values(of_b, &self.inputs, &mut numbering)?;
        Ok(a.iter().zip(&b).position(|(a, b)| a != b))
    }

    /// Goes from a finished subtree to the next one; true at the end of the tree.
    fn turn(&mut self) -> bool {
        while let Some(frame) = self.frames.last_mut() {
            let network = match frame.operand {
                Operand::A => &mut self.a,
                Operand::B => &mut self.b,
            };
            if frame.on {
                frame.on = false;
                network.set(frame.neuron, Some(false));
                return false;
            }
            network.set(frame.neuron, None);
            if frame.constant.is_none() {
                self.numbered.pop();
            }
            self.frames.pop();
        }
        true
    }

    /// Where the walk is, in words.
    fn step(&self, node: u64) -> String {
        let name = |frame: &Frame| {
            let Frame { operand, neuron, on, .. } = frame;
            format!("{operand} {}.{} {}", neuron.layer + 1, neuron.unit + 1, if *on { "on" } else { "off" })
        };
        let skipped = self.frames.len().saturating_sub(SHOWN_SPLITS);
        let mut path: Vec<_> = self.frames[skipped..].iter().map(name).collect();
        if skipped > 0 {
            path.insert(0, format!("{skipped} splits"));
        }
        let path = if path.is_empty() { "the root".into() } else { path.join(", ") };
        format!("region tree, node {node} ({path})")
    }
}

#[cfg(test)]
mod tests;
