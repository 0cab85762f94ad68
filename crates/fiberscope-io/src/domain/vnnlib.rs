//! The input constraints of a VNN-LIB file, where they are a box.
//!
//! Version 1.0 names the inputs `X_0, X_1, ...`. Version 2.0 declares networks with input tensors,
//! whose entries are `X[0]` or `X[0,3]`, counted from 0 and row by row. Where several networks have
//! bounds on their inputs, the bounds must be the same.
//!
//! An assertion is a conjunction of constraints. Those without an input and comparisons with an
//! output are skipped. Of the others, `<=`, `>=` and `=` (also `==`) between one input and one number
//! are bounds.

use std::collections::BTreeSet;

use super::InputBox;
use super::forms::{Form, Forms, forms};
use crate::FormatError;
use crate::text::utf8;

/// Conjunctions may be nested this deeply; each level reads its text once more.
const MAX_NESTING: usize = 64;
/// The most alternatives of a disjunction times inputs.
const MAX_ALTERNATIVES: usize = 1 << 24;
/// The most networks of a file.
const MAX_NETWORKS: usize = 16;
/// The longest name and shape of an input, so that messages about it stay short.
const MAX_NAME: usize = 100;
const MAX_RANK: usize = 16;

/// Reads a file for a network with this many inputs.
pub(super) fn read(bytes: &[u8], inputs: usize) -> Result<InputBox, FormatError> {
    Ok(read_inputs(bytes, inputs, false)?.inputs)
}

/// The constraints on inputs.
pub(super) struct Inputs {
    pub inputs: InputBox,
    /// The first constraint that is no bound, if the box was widened for it.
    pub widened: Option<String>,
    /// Networks (from 0, those with inputs) and the place of an input that is the same for both.
    pub equal: BTreeSet<(usize, usize, usize)>,
}

/// Reads a file for a network with this many inputs. With `widen`, constraints that are no bounds are left out,
/// of a disjunction all alternatives are allowed, and strict bounds are bounds: the box contains all inputs of
/// the file.
pub(super) fn read_inputs(bytes: &[u8], inputs: usize, widen: bool) -> Result<Inputs, FormatError> {
    let all = forms(utf8(bytes)?)?;
    let mut names = Names { widen, ..Names::declared(all.clone(), inputs)? };
    for form in all.filter(|form| head(form) == Some("assert")) {
        conjunction(arguments(&form), &mut names, 0)?;
    }
    let (widened, equal) = (names.widened.take(), std::mem::take(&mut names.equal));
    let mut bounded = names.inputs.into_iter().filter(|tensor| !tensor.bounds.is_empty());
    let Some(first) = bounded.next() else {
        return Err(FormatError::malformed("the file has no bounds on inputs; expected a box"));
    };
    if let Some(other) = bounded.find(|other| other.bounds != first.bounds) {
        let message = format!("{} and {} have different bounds; expected one box", first.name, other.name);
        return Err(FormatError::unsupported(message));
    }
    for (input, &(lo, hi)) in first.bounds.iter().enumerate() {
        for (end, what) in [(lo, "lower"), (hi, "upper")] {
            if end.is_infinite() {
                let message = format!("{} has no {what} bound; expected a box", first.entry(input));
                return Err(FormatError::malformed(message));
            }
        }
    }
    let inputs = InputBox::named(first.bounds.clone(), |input| first.entry(input))?;
    Ok(Inputs { inputs, widened, equal })
}

/// The inputs of one network.
struct Tensor<'t> {
    name: &'t str,
    /// `None` for the flat names of version 1.0.
    shape: Option<Vec<usize>>,
    inputs: usize,
    /// The bounds so far, infinite at first; empty as long as there are none.
    bounds: Vec<(f64, f64)>,
}

impl Tensor<'_> {
    /// What follows the tensor's name in the name of one of its entries.
    fn index<'a>(&self, atom: &'a str) -> Option<&'a str> {
        let rest = atom.strip_prefix(self.name)?;
        match self.shape {
            None => rest.strip_prefix('_').filter(|digits| is_decimal(digits)),
            Some(_) => (rest.is_empty() || rest.starts_with('[')).then_some(rest),
        }
    }

    /// The place of an entry, row by row, or what is wrong with its index.
    fn place(&self, index: &str) -> Result<usize, String> {
        let Some(shape) = &self.shape else {
            let place = index.parse().ok().filter(|&place| place < self.inputs);
            return place.ok_or_else(|| format!("the network has {} inputs, counted from 0", self.inputs));
        };
        let wrong = || format!("expected an index into {}{shape:?}", self.name);
        let indices = if index.is_empty() { Some(Vec::new()) } else { integers(index) };
        let indices = indices.filter(|indices| indices.len() == shape.len()).ok_or_else(wrong)?;
        let mut place = 0;
        for (&i, &size) in indices.iter().zip(shape) {
            if i >= size {
                return Err(wrong());
            }
            place = place * size + i;
        }
        Ok(place)
    }

    /// The name of an entry.
    fn entry(&self, mut place: usize) -> String {
        let Some(shape) = &self.shape else { return format!("{}_{place}", self.name) };
        let mut indices = Vec::new();
        for size in shape.iter().rev() {
            indices.push((place % size).to_string());
            place /= size;
        }
        indices.reverse();
        format!("{}[{}]", self.name, indices.join(","))
    }

    fn restrict(&mut self, place: usize, lo: f64, hi: f64) {
        if self.bounds.is_empty() {
            self.bounds = vec![(f64::NEG_INFINITY, f64::INFINITY); self.inputs];
        }
        let bounds = &mut self.bounds[place];
        *bounds = (bounds.0.max(lo), bounds.1.min(hi));
    }
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first atom of a list.
pub(super) fn head<'t>(form: &Form<'t>) -> Option<&'t str> {
    form.parts().next()?.atom()
}

/// The numbers of `[2,3]`.
pub(super) fn integers(text: &str) -> Option<Vec<usize>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    if inner.trim().is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// The names that the file declares.
struct Names<'t> {
    /// The input tensors; one without a shape for version 1.0.
    inputs: Vec<Tensor<'t>>,
    /// Version 2.0: the names of outputs and hidden layers, sorted.
    others: Option<Vec<&'t str>>,
    /// Whether constraints that are no bounds are left out, and the first of them.
    widen: bool,
    widened: Option<String>,
    equal: BTreeSet<(usize, usize, usize)>,
}

impl<'t> Names<'t> {
    fn declared(all: Forms<'t>, inputs: usize) -> Result<Self, FormatError> {
        let flat = Tensor { name: "X", shape: None, inputs, bounds: Vec::new() };
        let (mut networks, mut others) = (Vec::new(), Vec::new());
        for form in all {
            match head(&form) {
                Some("declare-const" | "declare-fun") => {
                    let name = form.parts().nth(1).and_then(|name| name.atom());
                    if let Some(index) = name.and_then(|name| flat.index(name)) {
                        flat.place(index).map_err(|what| form.error(what))?;
                    }
                }
                Some("declare-network") if networks.len() == MAX_NETWORKS => {
                    return Err(form.error(format!("expected at most {MAX_NETWORKS} networks")));
                }
                Some("declare-network") => {
                    networks.extend(network(form, inputs)?);
                    let other = |part: &Form| matches!(head(part), Some("declare-output" | "declare-hidden"));
                    others.extend(form.parts().filter(other).filter_map(|part| part.parts().nth(1)?.atom()));
                }
                _ => {}
            }
        }
        if networks.is_empty() {
            return Ok(Names::new(vec![flat], None));
        }
        others.sort_unstable();
        Ok(Names::new(networks, Some(others)))
    }

    fn new(inputs: Vec<Tensor<'t>>, others: Option<Vec<&'t str>>) -> Self {
        Names { inputs, others, widen: false, widened: None, equal: BTreeSet::new() }
    }

    /// A constraint is no bound: left out, or an error.
    fn leave_out(&mut self, form: &Form, what: &str) -> Result<(), FormatError> {
        let error = no_box(form, what);
        if !self.widen {
            return Err(error);
        }
        self.widened.get_or_insert_with(|| form.error(what).to_string());
        Ok(())
    }

    fn is_input(&self, atom: &str) -> bool {
        self.inputs.iter().any(|tensor| tensor.index(atom).is_some())
    }

    /// Whether an atom is an output or a hidden neuron.
    fn is_other(&self, atom: &str) -> bool {
        match &self.others {
            None => atom.starts_with("Y_"),
            Some(others) => {
                let name = atom.split('[').next().unwrap_or(atom);
                others.binary_search(&name).is_ok()
            }
        }
    }
}

/// The input tensor of a declared network, if it has one.
fn network<'t>(network: Form<'t>, inputs: usize) -> Result<Option<Tensor<'t>>, FormatError> {
    let mut declared = network.parts().filter(|part| head(part) == Some("declare-input"));
    let Some(input) = declared.next() else { return Ok(None) };
    if let Some(second) = declared.next() {
        return Err(second.error("a second input of the same network; expected one"));
    }
    let mut words = input.parts().skip(1).map(|word| word.atom());
    let Some(name) = words.next().flatten() else {
        return Err(input.error("expected the name of the input"));
    };
    let written = words.flatten().find(|word| word.starts_with('['));
    let shape = written
        .map_or(Some(Vec::new()), integers)
        .ok_or_else(|| input.error("expected a shape as in [1,5]"))?;
    if name.len() > MAX_NAME || name.contains(char::is_control) || shape.len() > MAX_RANK {
        let message = format!(
            "expected a printable name of at most {MAX_NAME} bytes and at most {MAX_RANK} dimensions"
        );
        return Err(input.error(message));
    }
    let size = shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
    if size != Some(inputs) {
        return Err(input.error(format!("expected {inputs} inputs, as the network has")));
    }
    Ok(Some(Tensor { name, shape: Some(shape), inputs, bounds: Vec::new() }))
}

/// Applies the constraints of a conjunction.
fn conjunction(constraints: Forms, names: &mut Names, depth: usize) -> Result<(), FormatError> {
    for constraint in constraints {
        match head(&constraint) {
            _ if !constraint.atoms().any(|atom| names.is_input(atom)) => {}
            Some("and") if depth + 1 >= MAX_NESTING => {
                return Err(constraint.error("conjunctions are nested too deeply"));
            }
            Some("or") if depth + 1 >= MAX_NESTING => {
                return Err(constraint.error("disjunctions are nested too deeply"));
            }
            Some("and") => conjunction(arguments(&constraint), names, depth + 1)?,
            Some("or") if arguments(&constraint).count() == 1 => {
                conjunction(arguments(&constraint), names, depth + 1)?;
            }
            Some("or") => disjunction(&constraint, names, depth)?,
            Some(relation @ ("<=" | ">=" | "=" | "==" | "<" | ">")) => {
                comparison(&constraint, relation, names)?
            }
            _ => names.leave_out(&constraint, "a constraint of another kind on inputs")?,
        }
    }
    Ok(())
}

/// Allows what one of the alternatives allows, and the box around that: those that allow nothing do not count.
fn disjunction(form: &Form, names: &mut Names, depth: usize) -> Result<(), FormatError> {
    names.leave_out(form, "a disjunction over inputs")?;
    let inputs = names.inputs.iter().map(|tensor| tensor.inputs).sum::<usize>();
    if arguments(form).count().saturating_mul(inputs) > MAX_ALTERNATIVES {
        return Err(form.error("too many alternatives for so many inputs"));
    }
    let before: Vec<Vec<(f64, f64)>> = names.inputs.iter().map(|tensor| tensor.bounds.clone()).collect();
    let equal = names.equal.clone();
    let mut hull: Option<Vec<Vec<(f64, f64)>>> = None;
    for alternative in arguments(form) {
        names.inputs.iter_mut().zip(&before).for_each(|(tensor, before)| tensor.bounds.clone_from(before));
        conjunction(alternative.alone(), names, depth + 1)?;
        let found: Vec<_> = names.inputs.iter().map(|tensor| tensor.bounds.clone()).collect();
        if found.iter().flatten().any(|(lo, hi)| lo > hi) {
            continue;
        }
        hull = Some(match hull {
            None => found,
            Some(hull) => hull.iter().zip(&found).map(|(x, y)| around(x, y)).collect(),
        });
    }
    // An equality of one alternative does not hold in the others.
    names.equal = equal;
    let hull = hull.ok_or_else(|| form.error("no input satisfies any of the alternatives"))?;
    names.inputs.iter_mut().zip(hull).for_each(|(tensor, bounds)| tensor.bounds = bounds);
    Ok(())
}

/// The smallest box around two, where no bounds are no box.
fn around(x: &[(f64, f64)], y: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if x.is_empty() || y.is_empty() {
        return Vec::new();
    }
    x.iter().zip(y).map(|(x, y)| (x.0.min(y.0), x.1.max(y.1))).collect()
}

pub(super) fn arguments<'t>(form: &Form<'t>) -> Forms<'t> {
    let mut parts = form.parts();
    parts.next();
    parts
}

fn no_box(form: &Form, what: &str) -> FormatError {
    form.error(format!("{what}; expected bounds on single inputs, as in (<= X_0 1)"))
}

/// One side of a comparison.
enum Side {
    Input { tensor: usize, place: usize },
    Number(f64),
    Other,
}

fn side(form: &Form, tensors: &[Tensor]) -> Result<Side, FormatError> {
    let Some(atom) = form.atom() else {
        // `(- 1.5)` is how SMT-LIB writes negative numbers.
        let mut words = form.parts().map(|part| part.atom());
        if let (Some(Some("-")), Some(Some(number)), None) = (words.next(), words.next(), words.next())
            && number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            return Ok(Side::Number(-parse_number(number, form)?));
        }
        return Ok(Side::Other);
    };
    for (t, tensor) in tensors.iter().enumerate() {
        if let Some(index) = tensor.index(atom) {
            let place = tensor.place(index).map_err(|what| form.error(what))?;
            return Ok(Side::Input { tensor: t, place });
        }
    }
    if atom.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return Ok(Side::Number(parse_number(atom, form)?));
    }
    Ok(Side::Other)
}

fn parse_number(text: &str, form: &Form) -> Result<f64, FormatError> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| form.error("expected a finite number"))
}

/// Applies a comparison that has an input in it. As in SMT-LIB, `(<= 0 X_0 1)` compares neighbours.
fn comparison(form: &Form, relation: &str, names: &mut Names) -> Result<(), FormatError> {
    if form.atoms().any(|atom| names.is_other(atom)) {
        return Ok(());
    }
    if let "<" | ">" = relation {
        let what = "a strict bound; expected <= or >=, since a box contains its ends";
        if !names.widen {
            return Err(form.error(what));
        }
        names.widened.get_or_insert_with(|| form.error("a strict bound").to_string());
    }
    let mut before = None;
    for part in arguments(form) {
        let this = side(&part, &names.inputs)?;
        match (before.as_ref(), &this) {
            (None, _) | (Some(Side::Number(_)), Side::Number(_)) => {}
            (Some(&Side::Input { tensor, place }), &Side::Number(number)) => {
                let (lo, hi) = interval(relation, number);
                names.inputs[tensor].restrict(place, lo, hi);
            }
            (Some(&Side::Number(number)), &Side::Input { tensor, place }) => {
                let (lo, hi) = interval(turned(relation), number);
                names.inputs[tensor].restrict(place, lo, hi);
            }
            (Some(Side::Input { tensor: a, place: i }), Side::Input { tensor: b, place: j })
                if relation.starts_with('=') && a != b && i == j =>
            {
                names.equal.insert((*a.min(b), *a.max(b), *i));
            }
            _ => return names.leave_out(form, "a relation between inputs"),
        }
        before = Some(this);
    }
    Ok(())
}

/// The numbers `x` with `x relation number`.
fn interval(relation: &str, number: f64) -> (f64, f64) {
    match relation {
        "<=" | "<" => (f64::NEG_INFINITY, number),
        ">=" | ">" => (number, f64::INFINITY),
        _ => (number, number),
    }
}

fn turned(relation: &str) -> &str {
    match relation {
        "<=" | "<" => ">=",
        ">=" | ">" => "<=",
        _ => relation,
    }
}
