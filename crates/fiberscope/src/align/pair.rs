//! What it costs to put a neuron of `B`, scaled, where `A` has one.

use fiberscope_core::Matrix;
use rayon::prelude::*;

use super::Scaling;
use super::products::Products;

/// The inner products of a neuron or channel of `A` and one of `B`.
pub(super) struct Pair {
    in_a: f64,
    in_b: f64,
    in_both: f64,
    out_a: f64,
    out_b: f64,
    out_both: f64,
}

impl Pair {
    /// The cost with a factor `c`, and `1 / c`.
    fn cost_with(&self, c: f64, inverse: f64) -> f64 {
        self.in_a
            + self.out_a
            + c * (c * self.in_b - 2.0 * self.in_both)
            + inverse * (inverse * self.out_b - 2.0 * self.out_both)
    }

    pub(super) fn cost(&self, c: f64) -> f64 {
        self.cost_with(c, c.recip())
    }

    /// All that the cost is made of.
    pub(super) fn size(&self) -> f64 {
        self.in_a + self.in_b + self.out_a + self.out_b
    }

    /// The least cost and its factor. The factor that balances the norms against those of `A`,
    /// `c^2 = (norm a_in / norm b_in) (norm b_out / norm a_out)`, is where the search for the best one
    /// begins.
    pub(super) fn best(&self, scaling: Scaling) -> (f64, f64) {
        if scaling == Scaling::None {
            return (self.cost_with(1.0, 1.0), 1.0);
        }
        let with_outputs = self.out_a > 0.0 && self.out_b > 0.0;
        let ratio = if with_outputs {
            (self.in_a / self.in_b) * (self.out_b / self.out_a)
        } else {
            (self.in_a / self.in_b).powi(2)
        };
        // The balanced factor is the fourth root; from 1e-100 to 1e100.
        let logarithm = ratio.log2() / 4.0;
        let usable = logarithm.abs() < 332.0;
        let mut best = (self.cost_with(1.0, 1.0), 1.0);
        let mut consider = |c: f64, inverse: f64| {
            let cost = self.cost_with(c, inverse);
            if cost < best.0 {
                best = (cost, c);
            }
        };
        match scaling {
            Scaling::Auto | Scaling::PowersOfTwo if usable => {
                let below = logarithm.floor() as i64;
                (below - 1..=below + 2).for_each(|k| consider(power_of_two(k), power_of_two(-k)));
            }
            Scaling::Doubles if usable => {
                let balanced = logarithm.exp2();
                let refined = self.refine(balanced);
                [balanced, refined].into_iter().for_each(|c| consider(c, c.recip()));
            }
            _ => {}
        }
        best
    }

    /// A few steps of Newton's method for the stationary points of the cost in `s = log c`.
    fn refine(&self, mut c: f64) -> f64 {
        for _ in 0..8 {
            let (rising, falling) = (c * c * self.in_b, self.out_b / (c * c));
            let (first, second) = (c * self.in_both, self.out_both / c);
            let slope = 2.0 * (rising - first + second - falling);
            let curvature = 4.0 * (rising + falling) - 2.0 * (first + second);
            if curvature <= 0.0 {
                break;
            }
            c *= (-slope / curvature).clamp(-1.0, 1.0).exp();
        }
        if c.is_finite() && c > 0.0 { c } else { 1.0 }
    }
}

/// `2^k`, for exponents that doubles have.
fn power_of_two(k: i64) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// The costs of all pairs of a class, by what comes in and, if it is given, by what goes out.
pub(super) struct Costs<'p> {
    pub(super) incoming: &'p Products,
    pub(super) outgoing: Option<&'p Products>,
    pub(super) scaling: Scaling,
}

impl Costs<'_> {
    pub(super) fn pair(&self, i: usize, j: usize) -> Pair {
        let out =
            |of: fn(&Products, usize, usize) -> f64| self.outgoing.map_or(0.0, |products| of(products, i, j));
        Pair {
            in_a: self.incoming.a[i],
            in_b: self.incoming.b[j],
            in_both: self.incoming.both[(i, j)],
            out_a: out(|products, i, _| products.a[i]),
            out_b: out(|products, _, j| products.b[j]),
            out_both: out(|products, i, j| products.both[(i, j)]),
        }
    }

    /// The least cost of every pair.
    pub(super) fn table(&self) -> Matrix {
        let n = self.incoming.a.len();
        let mut table = Matrix::from_fn(n, n, |_, _| 0.0);
        table.entries_mut().par_chunks_mut(n.max(1)).enumerate().for_each(|(i, row)| {
            row.iter_mut().enumerate().for_each(|(j, cost)| *cost = self.pair(i, j).best(self.scaling).0);
        });
        table
    }
}

/// Whether every channel of `A` has its cheapest partner at its own place already, unscaled, whatever the products of its
/// outgoing weights with those of others are: by the inequality of Cauchy and Schwarz they are at most those of their
/// sizes. The sizes are the squares for `A` and for `B`, and the products of those at the same place.
pub(super) fn is_best_as_it_is(incoming: &Products, sizes: &[Vec<f64>; 3], scaling: Scaling) -> bool {
    let [of_a, of_b, of_both] = sizes;
    let pair = |i: usize, j: usize, out_both: f64| Pair {
        in_a: incoming.a[i],
        in_b: incoming.b[j],
        in_both: incoming.both[(i, j)],
        out_a: of_a[i],
        out_b: of_b[j],
        out_both,
    };
    (0..of_a.len()).into_par_iter().all(|i| {
        let own = pair(i, i, of_both[i]);
        let (cost, factor) = own.best(scaling);
        factor == 1.0
            && (0..of_b.len())
                .filter(|&j| j != i)
                .all(|j| pair(i, j, (of_a[i] * of_b[j]).sqrt()).best(scaling).0 >= cost)
    })
}
