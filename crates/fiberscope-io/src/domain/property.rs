//! What a VNN-LIB file asks of two networks.
//!
//! A file asks for inputs and outputs that satisfy all its assertions; usually these are the ones that must not
//! exist. About two networks of the same inputs, the first one declared being `A` and the second `B`, a
//! comparison of outputs is taken to a linear form `sum c Y + c_0 > 0` (or `>= 0`). Two things are
//! recognised: constraints that no outputs satisfy, because one form is the negative of another up to a
//! constant that is too small, and the question whether some output of `B` is farther from that of `A` than
//! `epsilon`: a disjunction of `B_k - A_k > epsilon` and `A_k - B_k > epsilon` for all `k`. Where constraints of
//! that kind stand in a conjunction, which nothing can satisfy, the disjunction is what was meant.

use std::collections::BTreeMap;

use fiberscope_core::{Rational, decimal};

use super::InputBox;
use super::forms::{Form, forms};
use super::vnnlib::{self, arguments, head, integers};
use crate::FormatError;
use crate::text::utf8;

/// Formulas may be nested this deeply.
const MAX_NESTING: usize = 64;
/// The most comparisons of outputs that are read; every pair of them is compared.
const MAX_COMPARISONS: usize = 4096;

/// What a VNN-LIB file says about two networks with the same inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// The inputs.
    pub inputs: InputBox,
    /// Why the box is larger than the inputs of the file, if it is: the first constraint that is no bound.
    pub widened: Option<String>,
    /// What is asked of the outputs.
    pub outputs: OutputQuestion,
    /// Whether the file says that the networks have one architecture.
    pub isomorphic: bool,
}

/// What a file asks of the outputs of two networks.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputQuestion {
    /// Nothing.
    Nothing,
    /// Something about one network alone.
    OfOneNetwork,
    /// Whether an output differs by more than this.
    Apart(Rational),
    /// Something that no outputs satisfy, whatever the networks are.
    Contradiction {
        /// The constraint that cannot be satisfied, with its line.
        place: String,
        /// What seems to be meant: whether an output differs by more than this.
        intended: Option<Rational>,
    },
}

/// Reads a file for two networks with so many inputs and outputs. Constraints on inputs that are no bounds are
/// an error, or with `widen` left out, so that the box contains what they allow.
pub fn read_property(
    bytes: &[u8],
    inputs: usize,
    outputs: usize,
    widen: bool,
) -> Result<Property, FormatError> {
    if !matches!(bytes.trim_ascii_start().first(), Some(b'(' | b';')) {
        return Err(FormatError::malformed("expected a VNN-LIB file; other boxes are for --box"));
    }
    let read = vnnlib::read_inputs(bytes, inputs, widen)?;
    let all = forms(utf8(bytes)?)?;
    let mut tensors = Vec::new();
    let (mut isomorphic, mut networks) = (false, Vec::new());
    for network in all.clone().filter(|form| head(form) == Some("declare-network")) {
        let name = arguments(&network).next().and_then(|name| name.atom());
        for part in network.parts() {
            match head(&part) {
                Some("declare-output") => tensors.push(tensor(&part, networks.len(), outputs)?),
                Some("isomorphic-to" | "equal-to") => {
                    let other = arguments(&part).next().and_then(|other| other.atom());
                    if other.is_none_or(|other| !networks.contains(&Some(other))) {
                        return Err(part.error("expected the name of a network that is declared before"));
                    }
                    isomorphic = true;
                }
                _ => {}
            }
        }
        networks.push(name);
    }
    let question = match networks.len() {
        // Version 1.0, or one network: what is asked of one network's outputs is no question about two.
        0 | 1 => {
            let output = |atom: &str| match networks.len() {
                0 => atom.starts_with("Y_"),
                _ => tensors.iter().any(|tensor| place_of(tensor, atom).is_some()),
            };
            let mut assertions = all.filter(|form| head(form) == Some("assert"));
            match assertions.any(|form| form.atoms().any(output)) {
                true => OutputQuestion::OfOneNetwork,
                false => OutputQuestion::Nothing,
            }
        }
        2 => {
            if let Some(place) = (0..inputs).find(|&place| !read.equal.contains(&(0, 1, place))) {
                let message = format!(
                    "the file does not say that input {} is the same for both networks; expected an equality for every input",
                    place + 1
                );
                return Err(FormatError::unsupported(message));
            }
            question(all, &tensors, outputs)?
        }
        n => {
            return Err(FormatError::unsupported(format!("expected at most two networks, found {n}")));
        }
    };
    Ok(Property { inputs: read.inputs, widened: read.widened, outputs: question, isomorphic })
}

/// The outputs of a network.
struct Tensor<'t> {
    name: &'t str,
    network: usize,
    shape: Vec<usize>,
}

fn tensor<'t>(form: &Form<'t>, network: usize, outputs: usize) -> Result<Tensor<'t>, FormatError> {
    let mut words = arguments(form).map(|word| word.atom());
    let Some(name) = words.next().flatten() else {
        return Err(form.error("expected the name of the output"));
    };
    let written = words.flatten().find(|word| word.starts_with('['));
    let shape = written
        .map_or(Some(Vec::new()), integers)
        .ok_or_else(|| form.error("expected a shape as in [1,5]"))?;
    let size = shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
    if size != Some(outputs) {
        return Err(form.error(format!("expected {outputs} outputs, as the networks have")));
    }
    Ok(Tensor { name, network, shape })
}

/// `sum c Y + constant`, with networks and outputs counted from 0.
#[derive(Clone, Debug, Default)]
struct Linear {
    terms: BTreeMap<(usize, usize), Rational>,
    constant: Rational,
}

impl Linear {
    fn add(&mut self, other: &Linear, factor: &Rational) {
        for (&place, c) in &other.terms {
            let sum = self.terms.entry(place).or_default();
            *sum += &(c * factor);
            if sum.is_zero() {
                self.terms.remove(&place);
            }
        }
        self.constant += &(&other.constant * factor);
    }
}

/// `form > 0`, or `form >= 0`.
struct Comparison<'t> {
    form: Form<'t>,
    linear: Linear,
    strict: bool,
}

/// How comparisons are put together.
#[derive(PartialEq)]
enum Shape {
    /// All of them.
    All,
    /// One of them.
    Any,
}

fn question(
    all: super::forms::Forms,
    tensors: &[Tensor],
    outputs: usize,
) -> Result<OutputQuestion, FormatError> {
    let (mut conjunction, mut disjunctions) = (Vec::new(), Vec::new());
    for assertion in all.filter(|form| head(form) == Some("assert")) {
        let about = |atom: &str| tensors.iter().any(|tensor| place_of(tensor, atom).is_some());
        if !assertion.atoms().any(about) {
            continue;
        }
        let Some(formula) = arguments(&assertion).next() else { continue };
        let (shape, comparisons) = formula_of(formula, tensors)?;
        match shape {
            Shape::All => conjunction.extend(comparisons),
            Shape::Any => disjunctions.push((assertion, comparisons)),
        }
        if conjunction.len() + disjunctions.iter().map(|(_, all)| all.len()).sum::<usize>() > MAX_COMPARISONS
        {
            return Err(assertion.error(format!("expected at most {MAX_COMPARISONS} comparisons of outputs")));
        }
    }
    if let Some(form) = contradiction(&conjunction) {
        let intended = apart(&conjunction, outputs);
        return Ok(OutputQuestion::Contradiction {
            place: form.error("it contradicts another one").to_string(),
            intended,
        });
    }
    let unknown = |form: &Form| {
        form.error(
            "constraints on outputs that are not understood; expected (or (> (- Y_g[0] Y_f[0]) EPS) (> (- Y_f[0] Y_g[0]) EPS) ...) for all outputs; --box takes the box alone",
        )
    };
    match (&conjunction[..], &disjunctions[..]) {
        ([], []) => Ok(OutputQuestion::Nothing),
        ([], [(assertion, comparisons)]) => {
            let strict = comparisons.iter().all(|comparison| comparison.strict);
            let epsilon = apart(comparisons, outputs).filter(|_| strict);
            epsilon.map(OutputQuestion::Apart).ok_or_else(|| unknown(assertion))
        }
        ([first, ..], _) => Err(unknown(&first.form)),
        (_, [_, (second, _), ..]) => Err(unknown(second)),
    }
}

/// The comparisons of a formula that is a conjunction, or a disjunction, of them.
fn formula_of<'t>(
    formula: Form<'t>,
    tensors: &[Tensor],
) -> Result<(Shape, Vec<Comparison<'t>>), FormatError> {
    let mut shape = None;
    let mut comparisons = Vec::new();
    let mut open = vec![(formula, 0)];
    while let Some((form, depth)) = open.pop() {
        let word = head(&form);
        match word {
            Some("and" | "or") if depth < MAX_NESTING => {
                let parts: Vec<Form> = arguments(&form).collect();
                let this = if word == Some("and") { Shape::All } else { Shape::Any };
                // One part alone is either.
                if parts.len() != 1 {
                    if shape.as_ref().is_some_and(|shape| *shape != this) {
                        return Err(form.error(
                            "conjunctions and disjunctions of outputs inside each other are not understood",
                        ));
                    }
                    shape = Some(this);
                }
                open.extend(parts.into_iter().rev().map(|part| (part, depth + 1)));
            }
            Some("and" | "or") => return Err(form.error("formulas are nested too deeply")),
            Some(relation @ ("<=" | ">=" | "<" | ">")) => {
                comparisons.push(comparison(form, relation, tensors)?);
                if comparisons.len() > MAX_COMPARISONS {
                    return Err(
                        form.error(format!("expected at most {MAX_COMPARISONS} comparisons of outputs"))
                    );
                }
            }
            _ => return Err(form.error("expected <, <=, >, >=, and, or")),
        }
    }
    Ok((shape.unwrap_or(Shape::All), comparisons))
}

fn comparison<'t>(form: Form<'t>, relation: &str, tensors: &[Tensor]) -> Result<Comparison<'t>, FormatError> {
    let sides: Vec<Form> = arguments(&form).collect();
    let [left, right] = &sides[..] else {
        return Err(form.error("expected two sides"));
    };
    let (mut left, right) = (linear(left, tensors, 0)?, linear(right, tensors, 0)?);
    left.add(&right, &-Rational::ONE);
    if relation.starts_with('<') {
        let mut turned = Linear::default();
        turned.add(&left, &-Rational::ONE);
        left = turned;
    }
    Ok(Comparison { form, linear: left, strict: relation.len() == 1 })
}

fn place_of(tensor: &Tensor, atom: &str) -> Option<Option<usize>> {
    let index = atom.strip_prefix(tensor.name)?;
    if index.is_empty() {
        return Some(tensor.shape.iter().all(|&n| n == 1).then_some(0));
    }
    if !index.starts_with('[') {
        return None;
    }
    let Some(indices) = integers(index).filter(|indices| indices.len() == tensor.shape.len()) else {
        return Some(None);
    };
    let place =
        indices.iter().zip(&tensor.shape).try_fold(0, |place, (&i, &n)| (i < n).then_some(place * n + i));
    Some(place)
}

/// A term: an output, a number, or a sum, difference or multiple of terms.
fn linear(form: &Form, tensors: &[Tensor], depth: usize) -> Result<Linear, FormatError> {
    if depth > MAX_NESTING {
        return Err(form.error("terms are nested too deeply"));
    }
    let mut found = Linear::default();
    if let Some(atom) = form.atom() {
        for tensor in tensors {
            if let Some(place) = place_of(tensor, atom) {
                let place = place.ok_or_else(|| {
                    form.error(format!("expected an index into {}{:?}", tensor.name, tensor.shape))
                })?;
                found.terms.insert((tensor.network, place), Rational::ONE);
                return Ok(found);
            }
        }
        found.constant = decimal::parse(atom).ok_or_else(|| form.error("expected an output or a number"))?;
        return Ok(found);
    }
    let terms = arguments(form).map(|part| linear(&part, tensors, depth + 1));
    let terms = terms.collect::<Result<Vec<_>, _>>()?;
    let (one, minus) = (Rational::ONE, -Rational::ONE);
    match (head(form), &terms[..]) {
        (Some("+"), [_, ..]) => terms.iter().for_each(|term| found.add(term, &one)),
        (Some("-"), [only]) => found.add(only, &minus),
        (Some("-"), [first, rest @ ..]) => {
            found.add(first, &one);
            rest.iter().for_each(|term| found.add(term, &minus));
        }
        (Some("*"), [x, y]) if x.terms.is_empty() => found.add(y, &x.constant),
        (Some("*"), [x, y]) if y.terms.is_empty() => found.add(x, &y.constant),
        _ => return Err(form.error("expected a sum, a difference or a multiple of outputs")),
    }
    Ok(found)
}

/// A comparison of a conjunction that another one excludes, or that is never true.
fn contradiction<'t>(all: &[Comparison<'t>]) -> Option<Form<'t>> {
    let never = |sum: &Rational, strict: bool| sum.is_negative() || (strict && sum.is_zero());
    for (i, one) in all.iter().enumerate() {
        if one.linear.terms.is_empty() && never(&one.linear.constant, one.strict) {
            return Some(one.form);
        }
        // `t f + g` is a constant for some t > 0.
        let Some((place, c)) = one.linear.terms.iter().next() else { continue };
        for other in &all[..i] {
            let Some(d) = other.linear.terms.get(place) else { continue };
            let factor = -(d / c);
            if !factor.is_positive() {
                continue;
            }
            let mut sum = other.linear.clone();
            sum.add(&one.linear, &factor);
            if sum.terms.is_empty() && never(&sum.constant, one.strict || other.strict) {
                return Some(one.form);
            }
        }
    }
    None
}

/// The epsilon of comparisons `B_k - A_k > epsilon` and `A_k - B_k > epsilon`, both for all outputs.
fn apart(all: &[Comparison], outputs: usize) -> Option<Rational> {
    let mut epsilon: Option<Rational> = None;
    let mut seen = vec![[false; 2]; outputs];
    for Comparison { linear, .. } in all {
        let mut terms = linear.terms.iter();
        let (Some((&(0, k), of_a)), Some((&(1, l), of_b)), None) = (terms.next(), terms.next(), terms.next())
        else {
            return None;
        };
        if k != l || !(of_a + of_b).is_zero() {
            return None;
        }
        let size = -(&linear.constant / &of_b.abs());
        if size.is_negative() || epsilon.as_ref().is_some_and(|epsilon| *epsilon != size) {
            return None;
        }
        epsilon = Some(size);
        seen[k][usize::from(of_b.is_positive())] = true;
    }
    epsilon.filter(|_| seen.iter().flatten().all(|seen| *seen))
}
