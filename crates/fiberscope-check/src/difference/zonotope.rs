//! The forward pass: bounds of all layers on a box, one layer after the other.

use super::U;
use super::forms::Forms;
use super::pair::Pair;
use super::phases::{Sign, clip};
use super::products::{Kept, Products};
use super::space::{OfNeuron, RowSpace};

/// Certified bounds of one layer on a box: `zl <= z <= zu`, `dl <= d <= du`, `yl <= z + d <= yu`, neuron by
/// neuron.
#[derive(Clone, Copy, Debug)]
pub struct LayerBounds<'b> {
    /// Lower bounds of the pre-activations of A.
    pub zl: &'b [f64],
    /// Upper bounds of the pre-activations of A.
    pub zu: &'b [f64],
    /// Lower bounds of the differences of the pre-activations, B less A.
    pub dl: &'b [f64],
    /// Upper bounds of the differences of the pre-activations, B less A.
    pub du: &'b [f64],
    /// Lower bounds of the pre-activations of B.
    pub yl: &'b [f64],
    /// Upper bounds of the pre-activations of B.
    pub yu: &'b [f64],
}

/// What came of bounding a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// All layers are bounded.
    Bounded,
    /// No input has all the signs: nothing else is known, and nothing else is needed.
    Empty,
    /// Something is not finite, or this thread's arithmetic is not that of the lemmas: nothing is known.
    Beyond,
}

/// Bounds for a pair on one box after the other. The memory is kept from box to box.
#[derive(Clone, Debug)]
pub struct Bounder<'p> {
    pub(super) pair: &'p Pair,
    pub(super) lo: Vec<f64>,
    pub(super) hi: Vec<f64>,
    pub(super) kept: Vec<Kept>,
    pub(super) rows: RowSpace,
    pub(super) signs: Vec<Sign>,
    /// Whether rows tighten the bounds of hidden neurons.
    closely: bool,
    pub(super) neurons: Vec<OfNeuron>,
    free: Vec<usize>,
    forms: Forms,
    products: Products,
}

impl<'p> Bounder<'p> {
    /// A bounder for this pair.
    pub fn new(pair: &'p Pair) -> Self {
        let inputs = pair.inputs();
        Bounder {
            pair,
            lo: vec![0.0; inputs],
            hi: vec![0.0; inputs],
            kept: pair.layers().iter().map(|layer| Kept::new(layer.rows, inputs)).collect(),
            rows: RowSpace::new(pair),
            signs: Vec::new(),
            closely: false,
            neurons: Vec::new(),
            free: Vec::new(),
            forms: Forms::default(),
            products: Products::default(),
        }
    }

    /// The pair.
    pub fn pair(&self) -> &'p Pair {
        self.pair
    }

    /// Bounds all layers on the box from `lo` to `hi`; false if something is not finite (or if this thread's
    /// arithmetic is not that of the lemmas), and then nothing is known.
    pub fn run(&mut self, lo: &[f64], hi: &[f64]) -> bool {
        self.run_where(lo, hi, &[]) == Ran::Bounded
    }

    /// Bounds all layers for the inputs of the box from `lo` to `hi` at which hidden neurons have these
    /// signs, each pre-activation at most once. The rows that follow have no multipliers.
    pub fn run_where(&mut self, lo: &[f64], hi: &[f64], signs: &[Sign]) -> Ran {
        self.closely = false;
        self.pass(lo, hi, signs)
    }

    /// The same with a closer look, which costs several times as much: rows that start at open neurons bound them, too.
    pub fn run_closely(&mut self, lo: &[f64], hi: &[f64], signs: &[Sign]) -> Ran {
        self.closely = true;
        self.pass(lo, hi, signs)
    }

    /// Whether the last run took a closer look.
    pub(super) fn is_close(&self) -> bool {
        self.closely
    }

    fn pass(&mut self, lo: &[f64], hi: &[f64], signs: &[Sign]) -> Ran {
        self.rows.forget();
        if lo.len() != self.lo.len() || hi.len() != self.hi.len() || !rounds_to_nearest() {
            return Ran::Beyond;
        }
        self.signs.clear();
        self.signs.extend_from_slice(signs);
        self.lo.copy_from_slice(lo);
        self.hi.copy_from_slice(hi);
        if !self.forms.start(lo, hi, &mut self.free) {
            return Ran::Beyond;
        }
        let last = self.pair.layers().len() - 1;
        for (l, layer) in self.pair.layers().iter().enumerate() {
            self.products.multiply(layer, &mut self.forms);
            if !self.products.bound(layer, &self.forms, &mut self.kept[l]) {
                return Ran::Beyond;
            }
            if !clip(&mut self.kept[l], l, &self.signs) {
                return Ran::Empty;
            }
            if l < last && self.closely && !self.look_closely(l) {
                return Ran::Empty;
            }
            self.products.keep_inputs(&self.free, self.pair.inputs(), &mut self.kept[l].inputs);
            if l < last {
                self.forms.activate(layer, &self.products, &self.kept[l]);
            }
        }
        Ran::Bounded
    }

    /// The rows from here on have these multipliers, one for each sign of the last run, not negative.
    pub fn multiply(&mut self, multipliers: impl IntoIterator<Item = f64>) {
        self.rows.multipliers.clear();
        self.rows.multipliers.extend(multipliers);
    }

    /// Certified bounds of the outputs' differences: `lower[k] <= f_B(x)[k] - f_A(x)[k] <= upper[k]` on the
    /// box of the last run.
    pub fn output_bounds(&self) -> (&[f64], &[f64]) {
        let last = &self.kept[self.kept.len() - 1];
        (&last.dl, &last.du)
    }

    /// Certified bounds of layer `l`, counted from 0; the last one is the output.
    pub fn layer(&self, l: usize) -> LayerBounds<'_> {
        let Kept { zl, zu, dl, du, yl, yu, .. } = &self.kept[l];
        LayerBounds { zl, zu, dl, du, yl, yu }
    }

    /// The absolute values of the inputs' coefficients in the forms of `z` and of `d` of layer `l`, added (a
    /// neuron may be missing from one network): a row of as many entries as there are inputs for every
    /// neuron. Nothing that is checked rests on them.
    pub fn input_coefficients(&self, l: usize) -> &[f64] {
        &self.kept[l].inputs
    }
}

/// Whether this thread rounds to nearest and keeps what is not normal; some libraries set processors to do
/// otherwise.
fn rounds_to_nearest() -> bool {
    let [one, least] = [1.0, 5e-324].map(std::hint::black_box);
    let kept = least > 0.0 && f64::MIN_POSITIVE * (0.5 * one) > 0.0;
    kept && one + U == 1.0 && one + 1.5 * U > 1.0 && -one - U == -1.0 && -one - 1.5 * U < -1.0
}
