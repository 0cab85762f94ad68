//! Functions of one variable, at any depth.
//!
//! A network with one input, or whose first-layer rows are multiples of one row `u`, is a piecewise linear
//! function of `s = x` or `s = u x`. Its pieces are found layer by layer: a neuron that is affine on a piece
//! bends it where it is zero, and neighbouring pieces on which all neurons of a layer are the same are joined
//! again. The breakpoints `s_i` of the outputs with the jumps `a_i` of their slopes, and the first piece
//! `M s + beta`, are the hyperplane representation `sum_i a_i relu(s - s_i) + M s + beta`, which is unique.

use fiberscope_core::{
    Activation, HyperplaneRepresentation, Interval, Layer, Matrix, Rational, WeightedHyperplane, content,
    ratio_of,
};

use crate::limit::Deadline;

/// Functions with more pieces (after any layer) are not followed.
const PIECES: usize = 1 << 12;

/// An affine function `slope s + offset`.
#[derive(Clone, PartialEq)]
struct Affine {
    slope: Rational,
    offset: Rational,
}

/// The functions of a layer's neurons between two breakpoints.
#[derive(Clone)]
struct Piece {
    side: Interval,
    units: Vec<Affine>,
}

/// The representation of the layers on a box, if they are a function of one variable there with not too many
/// pieces.
pub fn representation(
    layers: &[Layer<Rational>],
    sides: &[Interval],
    deadline: &Deadline,
) -> Option<HyperplaneRepresentation> {
    let first = layers.first()?;
    let (rows, bias) = without_single_points(first, sides);
    let direction = direction(&rows)?;
    let factor = |row: &[Rational]| ratio_of(direction.iter(), row.iter());
    let factors: Vec<Rational> = rows.iter_rows().map(factor).collect::<Option<_>>()?;
    let side = range(&direction, sides);
    let column = Layer::new(Matrix::from_entries(factors.len(), 1, factors)?, bias, first.activation());
    let start = Affine { slope: Rational::ONE, offset: Rational::ZERO };
    let mut pieces = vec![Piece { side, units: vec![start] }];
    for layer in std::iter::once(&column).chain(&layers[1..]) {
        pieces = through(&pieces, layer, deadline)?;
    }
    Some(representation_of(&pieces, &direction))
}

/// The rows and biases of a layer with the inputs that have one value only put into the biases.
fn without_single_points(layer: &Layer<Rational>, sides: &[Interval]) -> (Matrix<Rational>, Vec<Rational>) {
    let (mut rows, mut bias) = (layer.weight().clone(), layer.bias().to_vec());
    for (j, side) in sides.iter().enumerate() {
        let Some(value) = single_point(side) else { continue };
        for (i, b) in bias.iter_mut().enumerate() {
            *b += &(&rows[(i, j)] * value);
            rows.row_mut(i)[j] = Rational::ZERO;
        }
    }
    (rows, bias)
}

/// The value of a side that has one only.
pub fn single_point(side: &Interval) -> Option<&Rational> {
    match (&side.lower, &side.upper) {
        (Some(lower), Some(upper)) if lower == upper => Some(lower),
        _ => None,
    }
}

/// The first row that is not zero, with content 1 and its first nonzero entry positive.
fn direction(rows: &Matrix<Rational>) -> Option<Vec<Rational>> {
    let row = rows.iter_rows().find(|row| row.iter().any(|x| !x.is_zero()))?;
    let content = content(row.iter())?;
    let negative = row.iter().find(|x| !x.is_zero())?.is_negative();
    let scale = if negative { -content } else { content };
    Some(row.iter().map(|x| x / &scale).collect())
}

/// The values of `u x` on the box, exactly: a breakpoint counts only inside.
fn range(direction: &[Rational], sides: &[Interval]) -> Interval {
    let end = |sign: i8| -> Option<Rational> {
        let terms = direction.iter().zip(sides).filter(|(u, _)| !u.is_zero());
        let ends = terms.map(|(u, side)| {
            let end = if u.signum() == sign { &side.upper } else { &side.lower };
            end.as_ref().map(|end| u * end)
        });
        ends.sum()
    };
    Interval { lower: end(-1), upper: end(1) }
}

/// The pieces behind a layer; `None` if there are too many, or the time is up.
fn through(pieces: &[Piece], layer: &Layer<Rational>, deadline: &Deadline) -> Option<Vec<Piece>> {
    let mut found: Vec<Piece> = Vec::new();
    for piece in pieces {
        if deadline.is_past() {
            return None;
        }
        let units: Vec<Affine> = (0..layer.width()).map(|unit| behind(layer, unit, &piece.units)).collect();
        if layer.activation() == Activation::Identity {
            push(&mut found, Piece { side: piece.side.clone(), units });
            continue;
        }
        let roots: Vec<Option<Rational>> =
            units.iter().map(|z| Some(&-&z.offset * &z.slope.recip()?)).collect();
        let inside = |root: &&Rational| {
            piece.side.lower.as_ref().is_none_or(|end| end < *root)
                && piece.side.upper.as_ref().is_none_or(|end| *root < end)
        };
        let mut cuts: Vec<&Rational> = roots.iter().flatten().filter(inside).collect();
        cuts.sort();
        cuts.dedup();
        let ends =
            |at: Option<&&Rational>, end: &Option<Rational>| at.map_or(end.clone(), |&cut| Some(cut.clone()));
        for k in 0..=cuts.len() {
            let lower = ends(k.checked_sub(1).and_then(|k| cuts.get(k)), &piece.side.lower);
            let upper = ends(cuts.get(k), &piece.side.upper);
            let relu = |(z, root): (&Affine, &Option<Rational>)| {
                let active = match root {
                    None => z.offset.is_positive(),
                    // There is no zero inside: all of the part lies on one side of it.
                    Some(root) if z.slope.is_positive() => lower.as_ref().is_some_and(|end| end >= root),
                    Some(root) => upper.as_ref().is_some_and(|end| end <= root),
                };
                if active { z.clone() } else { Affine { slope: Rational::ZERO, offset: Rational::ZERO } }
            };
            let units = units.iter().zip(&roots).map(relu).collect();
            push(&mut found, Piece { side: Interval { lower, upper }, units });
            if found.len() > PIECES {
                return None;
            }
        }
    }
    Some(found)
}

/// Adds a piece, to the one before it if all functions are the same.
fn push(pieces: &mut Vec<Piece>, next: Piece) {
    match pieces.last_mut() {
        Some(last) if last.units == next.units => last.side.upper = next.side.upper,
        _ => pieces.push(next),
    }
}

/// `w a + b` for the functions `a` of the layer before.
fn behind(layer: &Layer<Rational>, unit: usize, before: &[Affine]) -> Affine {
    let mut sum = Affine { slope: Rational::ZERO, offset: layer.bias()[unit].clone() };
    for (w, a) in layer.weight().row(unit).iter().zip(before).filter(|(w, _)| !w.is_zero()) {
        sum.slope += &(w * &a.slope);
        sum.offset += &(w * &a.offset);
    }
    sum
}

/// The breakpoints with their jumps, as hyperplanes with this normal.
fn representation_of(pieces: &[Piece], direction: &[Rational]) -> HyperplaneRepresentation {
    let hyperplane = |pair: &[Piece]| {
        let at = pair[0].side.upper.clone().unwrap_or(Rational::ZERO);
        let jumps = pair[0].units.iter().zip(&pair[1].units).map(|(x, y)| &y.slope - &x.slope);
        WeightedHyperplane {
            normal: direction.to_vec(),
            offset: -at,
            weight: jumps.collect(),
            units: Vec::new(),
        }
    };
    let mut hyperplanes: Vec<_> = pieces.windows(2).map(hyperplane).collect();
    hyperplanes.sort_by(|x, y| x.offset.cmp(&y.offset));
    let first = &pieces[0].units;
    HyperplaneRepresentation {
        hyperplanes,
        linear: first.iter().map(|z| direction.iter().map(|u| u * &z.slope).collect()).collect(),
        constant: first.iter().map(|z| z.offset.clone()).collect(),
    }
}
