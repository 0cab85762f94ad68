//! Which input to bisect.
//!
//! The row that was tightened last loses `abs(c_e)` times the gap between the lines of `e`, and `abs(c_a)`
//! times the height of the band of `a`, at every hidden neuron. This loss is laid on the inputs in proportion
//! to the coefficients of the neuron's form: the input that answers for most of it is bisected.

use fiberscope_check::difference::{Bounder, middle};

/// The inputs to bisect, the best one first; at most two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Splits {
    first: Option<u32>,
    second: Option<u32>,
}

impl Splits {
    /// The inputs that answer for most of the loss of the row that was tightened last; where there is no
    /// loss, the widest ones.
    pub fn new(bounder: &mut Bounder, lo: &[f64], hi: &[f64], root: (&[f64], &[f64])) -> Self {
        let found = Splits::best(&losses(bounder, lo.len()), lo, hi);
        if found.first.is_some() { found } else { Splits::widest(lo, hi, root) }
    }

    /// The widest inputs, measured against the root box.
    pub fn widest(lo: &[f64], hi: &[f64], (root_lo, root_hi): (&[f64], &[f64])) -> Self {
        let width = |j: usize| (0.5 * hi[j] - 0.5 * lo[j]) / (0.5 * root_hi[j] - 0.5 * root_lo[j]);
        let widths: Vec<f64> = (0..lo.len()).map(width).collect();
        Splits::best(&widths, lo, hi)
    }

    /// The inputs with the largest scores, the first one counted half for the second choice. Inputs that
    /// cannot be bisected are left out.
    fn best(scores: &[f64], lo: &[f64], hi: &[f64]) -> Self {
        let choose = |halved: Option<u32>| {
            let mut best: Option<(u32, f64)> = None;
            for (j, &score) in scores.iter().enumerate() {
                let again = halved == Some(j as u32);
                let score = if again { 0.5 * score } else { score };
                let cuts = match middle(lo[j], hi[j]) {
                    Some(centre) if again => middle(lo[j], centre).and(middle(centre, hi[j])),
                    other => other,
                };
                if cuts.is_some() && score > best.map_or(0.0, |(_, most)| most) {
                    best = Some((j as u32, score));
                }
            }
            best.map(|(j, _)| j)
        };
        let first = choose(None);
        Splits { first, second: first.and_then(|_| choose(first)) }
    }

    /// The inputs to bisect one after the other: two if the box is far from the goal.
    pub fn inputs(self, twice: bool) -> Vec<usize> {
        [self.first, self.second.filter(|_| twice)].into_iter().flatten().map(|j| j as usize).collect()
    }

    /// Whether no input can be bisected.
    pub fn is_empty(self) -> bool {
        self.first.is_none()
    }
}

/// What every input answers for of the loss of the row that was tightened last.
fn losses(bounder: &mut Bounder, inputs: usize) -> Vec<f64> {
    let mut losses = vec![0.0; inputs];
    for l in 0..bounder.pair().layers().len() - 1 {
        let gaps = bounder.gap(l).clone();
        let coefficients = bounder.row_coefficients(l);
        let forms = bounder.input_coefficients(l).chunks_exact(inputs);
        for (i, form) in forms.enumerate() {
            let loss = coefficients.e[i].abs() * gaps.e[i] + coefficients.a[i].abs() * gaps.a[i];
            let total: f64 = form.iter().sum();
            if loss > 0.0 && total > 0.0 {
                let unit = loss / total;
                losses.iter_mut().zip(form).for_each(|(loss, c)| *loss += unit * c);
            }
        }
    }
    losses
}
