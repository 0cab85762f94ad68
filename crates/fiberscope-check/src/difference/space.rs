//! What backward rows need of a box, and what they leave behind.

use super::pair::Pair;
use super::relax::Lines;

/// How far apart the lines of the neurons of a layer are.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    /// The largest distance of the lines of `a`.
    pub a: Vec<f64>,
    /// The distance of the lines of `e` in the middle.
    pub e: Vec<f64>,
}

/// The coefficients that the last row had behind the neurons of a layer.
#[derive(Clone, Debug, Default)]
pub struct RowCoefficients {
    /// The coefficients of `a`.
    pub a: Vec<f64>,
    /// The coefficients of `e`.
    pub e: Vec<f64>,
}

/// What rows need of a box, computed when the first row asks for it.
#[derive(Clone, Debug)]
pub(super) struct RowSpace {
    pub ready: bool,
    /// Layer by layer, the inputs of the network first: bounds `alpha` of `abs(a)` and `eps` of `abs(e)`.
    pub sizes: Vec<Sizes>,
    pub lines: Vec<Vec<Lines>>,
    pub gaps: Vec<Gaps>,
    pub coefficients: Vec<RowCoefficients>,
    pub input: Vec<f64>,
    pub c_z: Vec<f64>,
    pub c_d: Vec<f64>,
    /// The multipliers of the signs; none is as good as zeros.
    pub multipliers: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    pub alpha: Vec<f64>,
    pub eps: Vec<f64>,
    /// `abs(W_A) alpha + abs(b_A)` and `abs(dW) alpha + abs(W_B) eps + abs(db)` of the layer behind.
    pub v_a: Vec<f64>,
    pub v_d: Vec<f64>,
    /// `1 + sum (alpha + eps + zeta + delta)`.
    pub total: f64,
}

impl RowSpace {
    pub fn new(pair: &Pair) -> Self {
        let hidden = pair.layers().len() - 1;
        RowSpace {
            ready: false,
            sizes: vec![Sizes::default(); hidden + 1],
            lines: vec![Vec::new(); hidden],
            gaps: vec![Gaps::default(); hidden],
            coefficients: vec![RowCoefficients::default(); hidden],
            input: vec![0.0; pair.inputs()],
            c_z: Vec::new(),
            c_d: Vec::new(),
            multipliers: Vec::new(),
        }
    }

    pub fn forget(&mut self) {
        self.ready = false;
        self.multipliers.clear();
    }
}
