//! Random numbers, networks and rewritings.

use fiberscope_core::Rational;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::draft::{Draft, Rows};

/// What the numbers of a network are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// From -3 to 3.
    Integers,
    /// Multiples of 1/8 up to 8.
    Dyadic,
    /// Doubles with all their digits.
    Doubles,
    /// Single precision.
    Singles,
}

/// The source of all that is random in a case.
pub struct Maker {
    /// The generator.
    pub rng: ChaCha8Rng,
    /// The style of its numbers.
    pub style: Style,
}

impl Maker {
    /// The maker of case `case` of the soak with this seed.
    pub fn new(seed: u64, case: u64) -> Self {
        let mixed = (seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd134_2543_de82_ef95);
        let mut rng = ChaCha8Rng::seed_from_u64(mixed ^ mixed >> 32 ^ case);
        let style = match rng.random_range(0..8) {
            0..3 => Style::Integers,
            3..6 => Style::Dyadic,
            6 => Style::Doubles,
            _ => Style::Singles,
        };
        Maker { rng, style }
    }

    /// Whether an event of this many in a hundred happens.
    pub fn percent(&mut self, share: u32) -> bool {
        self.rng.random_range(0..100) < share
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end)
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number of the style; zero in places.
    pub fn number(&mut self) -> Rational {
        match self.style {
            Style::Integers => Rational::from(self.rng.random_range(-3..=3)),
            Style::Dyadic => Rational::dyadic(self.rng.random_range(-64..=64), -3),
            Style::Doubles => exact(self.rng.random::<f64>() * 4.0 - 2.0),
            Style::Singles => exact(f64::from((self.rng.random::<f64>() * 4.0 - 2.0) as f32)),
        }
    }

    /// A number of the style that is not zero.
    pub fn nonzero(&mut self) -> Rational {
        loop {
            let x = self.number();
            if !x.is_zero() {
                return x;
            }
        }
    }

    /// A number of the style above zero.
    pub fn positive(&mut self) -> Rational {
        self.nonzero().abs()
    }

    /// A short number above zero by which others can be multiplied without growing long.
    pub fn factor(&mut self) -> Rational {
        let power = self.rng.random_range(-3..=3);
        let odd = if self.percent(20) { self.pick(&[3, 5]) } else { 1 };
        Rational::dyadic(odd, power)
    }

    /// A power of two.
    pub fn power(&mut self) -> Rational {
        Rational::dyadic(1, self.rng.random_range(-4..=4))
    }

    /// A vector of the style.
    pub fn vector(&mut self, length: usize) -> Vec<Rational> {
        (0..length).map(|_| self.number()).collect()
    }

    /// Widths of a small network: inputs, hidden layers, outputs. Many inputs or layers come with few
    /// neurons.
    pub fn widths(&mut self) -> Vec<usize> {
        let inputs = self.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 5, 6]);
        let hidden = self.pick(&[1, 1, 1, 2, 2, 2, 3, 4]);
        let widest = if hidden > 2 || inputs > 3 { 3 } else { 4 };
        let mut widths = vec![inputs];
        widths.extend((0..hidden).map(|_| 1 + self.below(widest)));
        widths.push(self.pick(&[1, 1, 1, 2, 3]));
        widths
    }

    /// A network of these widths; some rows and columns are degenerate if that is wanted.
    pub fn network(&mut self, widths: &[usize], degenerate: bool) -> Draft {
        let last = widths.len() - 2;
        let mut layers = Vec::new();
        for (l, ends) in widths.windows(2).enumerate() {
            let weight: Vec<Vec<Rational>> = (0..ends[1]).map(|_| self.vector(ends[0])).collect();
            let bias = self.vector(ends[1]);
            let relu = l < last && !(degenerate && self.percent(4));
            layers.push(Rows { weight, bias, relu });
        }
        let mut draft = Draft { layers };
        if degenerate {
            for layer in 0..=last {
                self.degenerate(&mut draft, layer);
            }
        }
        draft
    }

    /// Any network.
    pub fn any(&mut self) -> Draft {
        let (widths, degenerate) = (self.widths(), self.percent(40));
        self.network(&widths, degenerate)
    }

    /// Ties, equal and opposite rows, rows and columns of zeros.
    fn degenerate(&mut self, draft: &mut Draft, layer: usize) {
        let rows = &mut draft.layers[layer];
        let (width, inputs) = (rows.width(), rows.weight[0].len());
        for _ in 0..1 + self.below(2) {
            let (i, j, k) = (self.below(width), self.below(width), self.below(inputs));
            match self.below(8) {
                0 => rows.bias.iter_mut().for_each(|b| *b = Rational::ZERO),
                1 => {
                    rows.weight[i] = rows.weight[j].clone();
                    rows.bias[i] = rows.bias[j].clone();
                }
                2 | 3 => {
                    let c = -&self.power();
                    rows.weight[i] = rows.weight[j].iter().map(|w| w * &c).collect();
                    rows.bias[i] = &rows.bias[j] * &c;
                }
                4 => rows.weight[i] = vec![Rational::ZERO; inputs],
                5 => rows.weight.iter_mut().for_each(|row| row[k] = Rational::ZERO),
                6 => rows.weight[i] = rows.weight[j].clone(),
                _ => {
                    let sign = Rational::from(self.pick(&[1, -1]));
                    rows.weight[i].iter_mut().for_each(|w| *w = &w.abs() * &sign);
                }
            }
        }
    }

    /// The neurons of every hidden layer in another order and scaled by powers of two.
    pub fn disguise(&mut self, draft: &mut Draft) {
        for layer in 0..draft.hidden() {
            let width = draft.layers[layer].width();
            let order = self.order(width);
            draft.permute(layer, &order);
            // An identity layer may be scaled as well, but a sign would do there too; keep to what both
            // allow.
            for unit in 0..width {
                let factor = self.power();
                draft.scale(layer, unit, &factor);
            }
        }
    }

    /// A permutation.
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }

    /// One rewriting that keeps the function and may change widths and depth.
    pub fn rewrite(&mut self, draft: &mut Draft) {
        let relu: Vec<usize> = (0..draft.hidden()).filter(|&l| draft.layers[l].relu).collect();
        if relu.is_empty() {
            return;
        }
        let layer = relu[self.below(relu.len())];
        let (width, inputs) = (draft.layers[layer].width(), draft.layers[layer].weight[0].len());
        let (unit, next) = (self.below(width), draft.layers[layer + 1].width());
        if width > 7 || draft.layers.len() > 5 {
            return;
        }
        let factor = self.factor();
        match self.below(9) {
            0 | 1 => {
                let share = Rational::dyadic(self.rng.random_range(-4..=8), -2);
                let factor = self.power();
                draft.split(layer, unit, &factor, &share);
            }
            2 => {
                let (row, bias, out) = (self.vector(inputs), self.number(), self.vector(next));
                let factor = &self.power() * &Rational::from(2);
                if factor != Rational::ONE {
                    draft.cancel(layer, &row, &bias, &out, &factor);
                }
            }
            3 => draft.turn(layer, unit, &Rational::dyadic(1, 1)),
            4 => {
                // Nobody listens to it.
                let (row, bias) = (self.vector(inputs), self.number());
                draft.append(layer, row, bias, &vec![Rational::ZERO; next]);
            }
            5 if layer > 0 && draft.layers[layer - 1].relu => {
                let row = self.vector(inputs).iter().map(|w| -w.abs()).collect();
                let (bias, out) = (-self.number().abs(), self.vector(next));
                draft.append(layer, row, bias, &out);
            }
            6 => {
                let (bias, out) = (self.number(), self.vector(next));
                draft.constant(layer, bias, &out);
            }
            7 if draft.layers.len() < 5 => {
                let relu = self.percent(80);
                draft.deepen(layer, relu);
            }
            8 if draft.layers.len() < 5 && draft.outputs() < 3 => draft.pair_outputs(),
            _ => draft.scale(layer, unit, &factor),
        }
    }

    /// A few rewritings and a disguise.
    pub fn rewritten(&mut self, draft: &Draft) -> Draft {
        let mut other = draft.clone();
        for _ in 0..1 + self.below(3) {
            self.rewrite(&mut other);
        }
        if self.percent(60) {
            self.disguise(&mut other);
        }
        other
    }

    /// A point with short numbers.
    pub fn point(&mut self, inputs: usize, size: i64) -> Vec<Rational> {
        (0..inputs)
            .map(|_| &Rational::dyadic(self.rng.random_range(-64..=64), -5) * &Rational::from(size))
            .collect()
    }
}

/// The exact value of a finite double.
pub fn exact(x: f64) -> Rational {
    Rational::from_f64(x).unwrap_or(Rational::ZERO)
}
