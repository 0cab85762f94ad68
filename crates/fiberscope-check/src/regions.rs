//! A cover of the domain by joint linear regions on which the networks are equal affine maps.
//!
//! Lemma. If every rule below holds for the tree, `f_A = f_B` on the domain. Proof: inputs with a single
//! value are substituted, so the domain has interior points; take one off the zero sets of the
//! non-constant `g` of the tree (a dense set). At every split it lies strictly on one side, or the
//! pre-activation is constant on the path and the point follows the only branch. It satisfies all
//! constraints of its path strictly, so it does not end in an empty leaf; it ends in a leaf where all
//! neurons are decided as they are at the point, and `f_A = f_B` there. Both functions are continuous.
//!
//! The tree is walked in preorder with an explicit stack. Affine functions of the free inputs are
//! computed when they are asked for and kept as long as the masks of the layers before them hold.

use fiberscope_core::{
    Activation, CoverNode, Domain, ExactNetwork, Interval, Neuron, Operand, ProductSum, Rational,
};

use crate::{Refusal, refuse};

/// The most numbers that affine functions of hidden neurons may take together.
const MAX_NUMBERS: usize = 1 << 22;

/// How many splits of a path a refusal names.
const SHOWN_SPLITS: usize = 6;

/// Checks that the tree proves `f_A = f_B` on the domain.
pub fn verify(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    tree: &[CoverNode],
) -> Result<(), Refusal> {
    let inputs = Inputs::new(&domain.sides(a.input_width()));
    let neurons = |network: &ExactNetwork| network.layers().iter().map(|layer| layer.width()).sum::<usize>();
    if (neurons(a) + neurons(b)).saturating_mul(inputs.free + 1) > MAX_NUMBERS {
        return refuse("region tree", "the networks are too large for this kind of certificate");
    }
    Walk::new(a, b, inputs).run(tree)
}

/// An affine function of the free inputs: its gradient, then its constant.
type Form = Vec<Rational>;

/// The inputs as affine functions of the free ones, and the finite sides of the free ones.
struct Inputs {
    free: usize,
    forms: Vec<Form>,
    sides: Vec<Form>,
}

impl Inputs {
    fn new(intervals: &[Interval]) -> Self {
        let fixed = |side: &Interval| side.lower.is_some() && side.lower == side.upper;
        let free = intervals.iter().filter(|side| !fixed(side)).count();
        let (mut forms, mut sides, mut place) = (Vec::new(), Vec::new(), 0);
        for interval in intervals {
            let mut form = vec![Rational::ZERO; free + 1];
            if fixed(interval) {
                form[free] = interval.lower.clone().expect("a fixed input has a value");
            } else {
                form[place] = Rational::ONE;
                if let Some(lower) = &interval.lower {
                    let mut side = form.clone();
                    side[free] = -lower;
                    sides.push(side);
                }
                if let Some(upper) = &interval.upper {
                    let mut side = negated(&form);
                    side[free] = upper.clone();
                    sides.push(side);
                }
                place += 1;
            }
            forms.push(form);
        }
        Inputs { free, forms, sides }
    }
}

/// What is known of one network on the current path.
struct Masked<'a> {
    network: &'a ExactNetwork,
    /// Per hidden layer and neuron: on, off or not decided. Identity neurons are always on.
    masks: Vec<Vec<Option<bool>>>,
    /// Per hidden layer: how many neurons are not decided.
    open: Vec<usize>,
    /// Per layer and neuron: the pre-activation, if it was asked for under the current masks.
    forms: Vec<Vec<Option<Form>>>,
}

impl<'a> Masked<'a> {
    fn new(network: &'a ExactNetwork) -> Self {
        let hidden = network.hidden_layers();
        let initial = |relu: bool| if relu { None } else { Some(true) };
        let masks: Vec<_> = hidden
            .iter()
            .map(|layer| vec![initial(layer.activation() == Activation::Relu); layer.width()])
            .collect();
        let open = masks.iter().map(|mask| mask.iter().filter(|on| on.is_none()).count()).collect();
        let forms = network.layers().iter().map(|layer| vec![None; layer.width()]).collect();
        Masked { network, masks, open, forms }
    }

    /// The first layer before `layer` with a neuron that is not decided.
    fn open_layer(&self, layer: usize) -> Option<usize> {
        self.open[..layer].iter().position(|&open| open > 0)
    }

    fn set(&mut self, neuron: Neuron, on: Option<bool>) {
        let Neuron { layer, unit } = neuron;
        let before = std::mem::replace(&mut self.masks[layer][unit], on);
        match (before, on) {
            (None, Some(_)) => self.open[layer] -= 1,
            (Some(_), None) => self.open[layer] += 1,
            _ => {}
        }
        if on != before {
            // Only layers that were asked for after this one was complete hold anything.
            for forms in self.forms[layer + 1..].iter_mut() {
                forms.iter_mut().for_each(|form| *form = None);
            }
        }
    }

    /// The pre-activation of a neuron whose layers before are decided.
    fn form(&mut self, neuron: Neuron, inputs: &Inputs) -> &Form {
        // Layers from the first one to this one whose functions are needed, all neurons that are on.
        for l in 0..=neuron.layer {
            let units = if l == neuron.layer { neuron.unit..neuron.unit + 1 } else { 0..self.forms[l].len() };
            for unit in units {
                let needed = l == neuron.layer || self.masks[l][unit] == Some(true);
                if needed && self.forms[l][unit].is_none() {
                    self.forms[l][unit] = Some(self.combine(Neuron { layer: l, unit }, inputs));
                }
            }
        }
        self.forms[neuron.layer][neuron.unit].as_ref().expect("it was just computed")
    }

    /// `sum_j w_j a_j + b` with the masked functions `a_j` of the layer before.
    fn combine(&self, neuron: Neuron, inputs: &Inputs) -> Form {
        let layer = &self.network.layers()[neuron.layer];
        let mut total = vec![ProductSum::default(); inputs.free + 1];
        for (j, weight) in layer.weight().row(neuron.unit).iter().enumerate() {
            let input = match neuron.layer.checked_sub(1) {
                None => Some(&inputs.forms[j]),
                Some(before) if self.masks[before][j] == Some(true) => self.forms[before][j].as_ref(),
                Some(_) => None,
            };
            if let (Some(input), false) = (input, weight.is_zero()) {
                total.iter_mut().zip(input).for_each(|(sum, x)| sum.add(weight, x));
            }
        }
        total[inputs.free].add(&layer.bias()[neuron.unit], &Rational::ONE);
        total.iter().map(ProductSum::to_rational).collect()
    }
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

struct Walk<'a> {
    a: Masked<'a>,
    b: Masked<'a>,
    inputs: Inputs,
    frames: Vec<Frame>,
    /// The splits of the path that have a constraint: place in `frames`.
    numbered: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn new(a: &'a ExactNetwork, b: &'a ExactNetwork, inputs: Inputs) -> Self {
        Walk { a: Masked::new(a), b: Masked::new(b), inputs, frames: Vec::new(), numbered: Vec::new() }
    }

    fn run(mut self, tree: &[CoverNode]) -> Result<(), Refusal> {
        let mut complete = false;
        for (place, node) in tree.iter().enumerate() {
            if complete {
                return refuse(format!("region tree, node {}", place + 1), "the tree ends before this node");
            }
            if let Err(rule) = self.visit(node) {
                return refuse(self.step(place), rule);
            }
            if !matches!(node, CoverNode::Split(..)) {
                complete = self.turn();
            }
        }
        if complete { Ok(()) } else { refuse(self.step(tree.len()), "the tree ends too early") }
    }

    fn visit(&mut self, node: &CoverNode) -> Result<(), String> {
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
        }
    }

    fn split(&mut self, operand: Operand, neuron: Neuron) -> Result<(), String> {
        let Walk { a, b, inputs, .. } = self;
        let network = match operand {
            Operand::A => a,
            Operand::B => b,
        };
        let Some(mask) = network.masks.get(neuron.layer) else {
            return Err(format!("{operand} has no hidden layer {}", neuron.layer + 1));
        };
        match mask.get(neuron.unit) {
            None => return Err(format!("{operand} has no {neuron}")),
            Some(Some(_)) => return Err(format!("{neuron} of {operand} is already decided or is no ReLU")),
            Some(None) => {}
        }
        if let Some(layer) = network.open_layer(neuron.layer) {
            let layer = layer + 1;
            return Err(format!("{neuron} of {operand} is split before layer {layer} is decided"));
        }
        let form = network.form(neuron, inputs);
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
    fn empty(&self, terms: &[(usize, Rational)]) -> Result<(), String> {
        if terms.is_empty() {
            return Err("a proof of emptiness needs at least one constraint".into());
        }
        let mut total = vec![ProductSum::default(); self.inputs.free + 1];
        for (constraint, multiplier) in terms {
            if !multiplier.is_positive() || !multiplier.is_integer() {
                return Err(format!(
                    "the multiplier of constraint {} must be a positive integer",
                    constraint + 1
                ));
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
    fn constraint(&self, number: usize) -> Result<(&Form, bool), String> {
        if let Some(side) = self.inputs.sides.get(number) {
            return Ok((side, false));
        }
        let Some(&place) = self.numbered.get(number - self.inputs.sides.len()) else {
            let last = self.inputs.sides.len() + self.numbered.len();
            return Err(format!("constraint {} does not exist; the last is {last}", number + 1));
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
    fn equal(&mut self) -> Result<(), String> {
        let Walk { a, b, inputs, .. } = self;
        for (operand, network) in [(Operand::A, &*a), (Operand::B, &*b)] {
            if let Some(layer) = network.open_layer(network.open.len()) {
                return Err(format!("layer {} of {operand} is not decided", layer + 1));
            }
        }
        for unit in 0..a.network.output_width() {
            let output = |network: &ExactNetwork| Neuron { layer: network.hidden_depth(), unit };
            if a.form(output(a.network), inputs) != b.form(output(b.network), inputs) {
                return Err(format!("output {} is not the same affine function in A and B", unit + 1));
            }
        }
        Ok(())
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
    fn step(&self, place: usize) -> String {
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
        format!("region tree, node {} ({path})", place + 1)
    }
}

fn negated(form: &[Rational]) -> Form {
    form.iter().map(|x| -x).collect()
}

#[cfg(test)]
mod tests {
    use CoverNode::{Empty, Equal, None as Never};

    use super::*;
    use crate::testing::network;

    /// `relu(x) + relu(-x)`.
    fn absolute() -> ExactNetwork {
        network(&[(&[&[1], &[-1]], &[0, 0]), (&[&[1, 1]], &[0])])
    }

    /// `relu(2 relu(x) + 2 relu(-x)) / 2` with a dead neuron and one that is always 3.
    fn deep() -> ExactNetwork {
        network(&[
            (&[&[-2], &[2], &[0]], &[0, 0, 3]),
            (&[&[1, 1, 0], &[-1, -1, -1]], &[0, -1]),
            (&[&[1, 5]], &[0]),
            (&[&[1]], &[0]),
        ])
    }

    fn a(layer: usize, unit: usize) -> CoverNode {
        CoverNode::Split(Operand::A, Neuron { layer: layer - 1, unit: unit - 1 })
    }

    fn b(layer: usize, unit: usize) -> CoverNode {
        CoverNode::Split(Operand::B, Neuron { layer: layer - 1, unit: unit - 1 })
    }

    /// Constraints count from 1 here, as in print.
    fn empty(terms: &[(usize, i64)]) -> CoverNode {
        Empty(terms.iter().map(|&(c, m)| (c - 1, Rational::from(m))).collect())
    }

    /// `|x|` against itself with the neurons exchanged.
    fn valid() -> Vec<CoverNode> {
        let pair = |first: [CoverNode; 3], last: [CoverNode; 2]| first.into_iter().chain(last);
        let mut tree = vec![a(1, 1)];
        // x > 0: -x > 0 is empty for A's second and B's first neuron, B's second is on.
        tree.extend(pair([a(1, 2), empty(&[(1, 1), (2, 1)]), b(1, 1)], [empty(&[(1, 1), (3, 1)]), b(1, 2)]));
        tree.extend([Equal, empty(&[(1, 1), (4, 1)])]);
        // x < 0.
        tree.extend([a(1, 2), b(1, 1), b(1, 2), empty(&[(1, 1), (4, 1)]), Equal]);
        tree.extend([empty(&[(2, 1), (3, 1)]), empty(&[(1, 1), (2, 1)])]);
        tree
    }

    fn exchanged() -> ExactNetwork {
        network(&[(&[&[-1], &[1]], &[0, 0]), (&[&[1, 1]], &[0])])
    }

    fn refused(tree: &[CoverNode], expected: &str) {
        let refusal = verify(&absolute(), &exchanged(), &Domain::Space, tree).unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
    }

    #[test]
    fn a_complete_tree_is_accepted() {
        verify(&absolute(), &exchanged(), &Domain::Space, &valid()).unwrap();
    }

    #[test]
    fn every_rule_is_enforced() {
        let with = |place: usize, node: CoverNode| {
            let mut tree = valid();
            tree[place] = node;
            tree
        };
        refused(&[], "node 1 (the root): the tree ends too early");
        refused(&valid()[..5], "the tree ends too early");
        refused(&[valid(), vec![Equal]].concat(), "node 16: the tree ends before this node");
        refused(&with(0, Equal), "layer 1 of A is not decided");
        refused(&with(1, Equal), "node 2 (A 1.1 on): layer 1 of A is not decided");
        refused(&with(0, Never), "\"none\" stands only for");
        refused(&with(0, a(2, 1)), "A has no hidden layer 2");
        refused(&with(0, a(1, 3)), "A has no neuron 3 of layer 1");
        refused(&with(1, a(1, 1)), "neuron 1 of layer 1 of A is already decided");
        refused(&with(2, empty(&[])), "at least one constraint");
        refused(&with(2, empty(&[(3, 1), (2, 1)])), "constraint 3 does not exist; the last is 2");
        refused(&with(2, empty(&[(1, 1), (2, 0)])), "multiplier of constraint 2 must be a positive integer");
        refused(&with(2, empty(&[(1, -1), (2, -1)])), "constraint 1 must be a positive integer");
        refused(&with(2, Empty(vec![(0, Rational::dyadic(1, -1))])), "must be a positive integer");
        refused(&with(2, empty(&[(1, 1), (2, 2)])), "gradients with their multipliers must add up to zero");
        refused(&with(5, a(1, 2)), "already decided");
        refused(&with(6, empty(&[(1, 1), (2, 1)])), "gradients");
    }

    #[test]
    fn a_positive_sum_of_constants_is_refused() {
        // x + 1 and 1 - x are both positive around 0.
        let bump = network(&[(&[&[1], &[-1]], &[1, 1]), (&[&[1, 1]], &[0])]);
        let tree = [a(1, 1), a(1, 2), empty(&[(1, 1), (2, 1)])];
        let refusal = verify(&bump, &bump, &Domain::Space, &tree).unwrap_err();
        assert!(refusal.rule.contains("constants with their multipliers"), "{refusal}");
    }

    #[test]
    fn maps_that_differ_are_refused() {
        let twice = network(&[(&[&[-1], &[1]], &[0, 0]), (&[&[1, 2]], &[0])]);
        let refusal = verify(&absolute(), &twice, &Domain::Space, &valid()).unwrap_err();
        assert!(refusal.rule.contains("output 1 is not the same affine function"), "{refusal}");
    }

    #[test]
    fn constants_layers_and_boxes() {
        let half = Domain::from_bounds(&[(0.0, 4.0)]).unwrap();
        let same = network(&[(&[&[2]], &[0]), (&[&[1]], &[0])]);
        // On [0, 4]: A's neuron is on, the deep network's first is off, its second on, its third constant.
        let tree = vec![
            a(1, 1),
            b(1, 3),
            b(1, 1),
            empty(&[(1, 2), (4, 1)]),
            b(1, 2),
            b(2, 2),
            empty(&[(1, 2), (6, 1)]),
            b(2, 1),
            b(3, 1),
            Equal,
            empty(&[(1, 2), (8, 1)]),
            empty(&[(1, 2), (7, 1)]),
            empty(&[(1, 2), (5, 1)]),
            Never,
            empty(&[(1, 2), (3, 1)]),
        ];
        verify(&same, &deep(), &half, &tree).unwrap();
        let check = |place: usize, node: CoverNode, expected: &str| {
            let mut tree = tree.clone();
            tree[place] = node;
            let refusal = verify(&same, &deep(), &half, &tree).unwrap_err();
            assert!(refusal.to_string().contains(expected), "{refusal}");
        };
        check(13, Equal, "this side must be \"none\"");
        check(4, b(2, 1), "neuron 1 of layer 2 of B is split before layer 1 is decided");
        check(3, Never, "\"none\" stands only for");
        check(9, empty(&[(2, 1)]), "gradients");
        // The same on [0, 0]: every pre-activation is constant and there are no constraints.
        let point = Domain::from_bounds(&[(0.0, 0.0)]).unwrap();
        let tree = [a(1, 1), b(1, 1), b(1, 2), b(1, 3), b(2, 1), b(2, 2), Never, b(3, 1), Equal];
        let tree = [&tree[..], &vec![Never; 6]].concat();
        verify(&same, &deep(), &point, &tree).unwrap();
    }

    #[test]
    fn hostile_trees_end() {
        let deep_tree = vec![a(1, 1); 100_000];
        refused(&deep_tree, "already decided");
        refused(&vec![Equal; 100_000], "not decided");
        refused(&[a(1, 1), empty(&[(usize::MAX, 1)])], "does not exist");
    }
}
