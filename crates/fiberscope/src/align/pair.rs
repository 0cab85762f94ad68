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

    /// The least cost of every pair, written over what is there.
    pub(super) fn fill(&self, table: &mut Matrix) {
        let n = self.incoming.a.len();
        if (table.rows(), table.cols()) != (n, n) {
            *table = Matrix::from_fn(n, n, |_, _| 0.0);
        }
        let nothing = vec![0.0; n];
        let [out_a, out_b] = match self.outgoing {
            Some(products) => [&products.a, &products.b],
            None => [&nothing; 2],
        };
        let rows = Rows::new([&self.incoming.a, out_a], [&self.incoming.b, out_b], self.scaling);
        table.entries_mut().par_chunks_mut(n.max(1)).enumerate().for_each(|(i, row)| {
            let out_both = self.outgoing.map_or(&nothing[..], |products| products.both.row(i));
            rows.fill(i, self.incoming.both.row(i), out_both, row);
        });
    }
}

/// Whether every channel of `A` has its cheapest partner at its own place already, unscaled, whatever the products of its
/// outgoing weights with those of others are: by the inequality of Cauchy and Schwarz they are at most those of their
/// sizes. The sizes are the squares for `A` and for `B`, and the products of those at the same place.
pub(super) fn is_best_as_it_is(incoming: &Products, sizes: &[Vec<f64>; 3], scaling: Scaling) -> bool {
    let [of_a, of_b, of_both] = sizes;
    let rows = Rows::new([&incoming.a, of_a], [&incoming.b, of_b], scaling);
    let roots: Vec<f64> = of_b.iter().map(|square| square.sqrt()).collect();
    let room = || [(); 2].map(|()| vec![0.0; of_b.len()]);
    let is_best = |[out_both, costs]: &mut [Vec<f64>; 2], i: usize| {
        let own = Pair {
            in_a: incoming.a[i],
            in_b: incoming.b[i],
            in_both: incoming.both[(i, i)],
            out_a: of_a[i],
            out_b: of_b[i],
            out_both: of_both[i],
        };
        let (cost, factor) = own.best(scaling);
        let root = of_a[i].sqrt();
        out_both.iter_mut().zip(&roots).for_each(|(bound, other)| *bound = root * other);
        rows.fill(i, incoming.both.row(i), out_both, costs);
        costs[i] = f64::INFINITY;
        factor == 1.0 && costs.iter().all(|other| *other >= cost)
    };
    (0..of_a.len()).into_par_iter().map_init(room, is_best).all(|best| best)
}

/// The least costs of one channel of `A` with all those of `B`, many side by side.
struct Rows<'a> {
    scaling: Scaling,
    a: [&'a [f64]; 2],
    b: [&'a [f64]; 2],
    /// For powers of two: the balanced factor of a pair is two to the difference of these logarithms.
    logarithms: Option<[Vec<f64>; 2]>,
}

impl<'a> Rows<'a> {
    /// The squares of what comes in and of what goes out, for `A` and for `B`.
    fn new(a: [&'a [f64]; 2], b: [&'a [f64]; 2], scaling: Scaling) -> Self {
        let ends = || a[1].iter().chain(b[1]);
        let balance = match () {
            () if ends().all(|out| *out > 0.0) => Some(4.0),
            () if ends().all(|out| *out == 0.0) => Some(2.0),
            () => None,
        };
        let logarithm = |sizes: [&[f64]; 2], balance: f64| {
            let of =
                |(row, out): (&f64, &f64)| (row / if balance == 4.0 { *out } else { 1.0 }).log2() / balance;
            sizes[0].iter().zip(sizes[1]).map(of).collect()
        };
        let powers = matches!(scaling, Scaling::Auto | Scaling::PowersOfTwo);
        let logarithms =
            balance.filter(|_| powers).map(|balance| [a, b].map(|sizes| logarithm(sizes, balance)));
        Rows { scaling, a, b, logarithms }
    }

    /// The costs of channel `i`, given the products of what comes in and of what goes out.
    fn fill(&self, i: usize, in_both: &[f64], out_both: &[f64], costs: &mut [f64]) {
        if self.scaling == Scaling::None || self.logarithms.is_some() {
            let [in_b, out_b] = self.b;
            let logarithms = self.logarithms.as_ref().map(|[of_a, of_b]| (of_a[i], &of_b[..]));
            let constant = self.a[0][i] + self.a[1][i];
            pulp::Arch::new().dispatch(Row { constant, in_both, out_both, in_b, out_b, logarithms, costs });
            return;
        }
        for (j, cost) in costs.iter_mut().enumerate() {
            let ([in_a, out_a], [in_b, out_b]) = (self.a.map(|of| of[i]), self.b.map(|of| of[j]));
            let pair = Pair { in_a, in_b, in_both: in_both[j], out_a, out_b, out_both: out_both[j] };
            *cost = pair.best(self.scaling).0;
        }
    }
}

/// The costs of one channel of `A`, without factors or with powers of two.
struct Row<'a> {
    constant: f64,
    in_both: &'a [f64],
    out_both: &'a [f64],
    in_b: &'a [f64],
    out_b: &'a [f64],
    logarithms: Option<(f64, &'a [f64])>,
    costs: &'a mut [f64],
}

impl pulp::WithSimd for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Row { constant, in_both, out_both, in_b, out_b, logarithms, costs } = self;
        let products = in_both.iter().zip(out_both).zip(in_b.iter().zip(out_b));
        match logarithms {
            None => {
                for (cost, ((x, y), (u, v))) in costs.iter_mut().zip(products) {
                    *cost = constant + (u - 2.0 * x) + (v - 2.0 * y);
                }
            }
            Some((of_a, of_b)) => {
                for ((cost, ((x, y), (u, v))), of_b) in costs.iter_mut().zip(products).zip(of_b) {
                    *cost = constant + least_with_powers([*x, *y], [*u, *v], of_a - of_b);
                }
            }
        }
    }
}

/// What [`Pair::best`] finds among powers of two, less what belongs to `A` alone.
#[inline(always)]
fn least_with_powers(both: [f64; 2], of_b: [f64; 2], logarithm: f64) -> f64 {
    /// Added to a small integer, it puts its bits last.
    const LAST: f64 = (1u64 << 52) as f64 + 1023.0;
    let cost = |c: f64, inverse: f64| {
        c * (c * of_b[0] - 2.0 * both[0]) + inverse * (inverse * of_b[1] - 2.0 * both[1])
    };
    let usable = logarithm.abs() < 332.0;
    let below = if usable { logarithm.floor() } else { 0.0 };
    let power = |exponent: f64| f64::from_bits((exponent + LAST).to_bits() << 52);
    let (c, inverse) = (power(below), power(-below));
    let mut least = cost(1.0, 1.0);
    for step in [0.5, 1.0, 2.0, 4.0] {
        let found = cost(c * step, inverse * (1.0 / step));
        least = if usable & (found < least) { found } else { least };
    }
    least
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn rows_of_costs_are_those_of_the_pairs() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for case in 0..60 {
            let n = case % 21 + 1;
            let mut products = || {
                let mut sizes =
                    || (0..n).map(|_| 2f64.powf(rng.random_range(-9.0..9.0))).collect::<Vec<f64>>();
                let (mut a, b) = (sizes(), sizes());
                if case % 5 == 4 {
                    // Nothing goes out, or comes in.
                    a[0] = 0.0;
                }
                let both = Matrix::from_fn(n, n, |i, j| (a[i] * b[j]).sqrt() * rng.random_range(-1.0..1.0));
                Products { a, b, both }
            };
            let (incoming, outgoing) = (products(), products());
            for scaling in [Scaling::None, Scaling::PowersOfTwo, Scaling::Auto, Scaling::Doubles] {
                for outgoing in [None, Some(&outgoing)] {
                    let costs = Costs { incoming: &incoming, outgoing, scaling };
                    let mut table = Matrix::from_fn(1, 1, |_, _| 0.0);
                    costs.fill(&mut table);
                    for i in 0..n {
                        for j in 0..n {
                            let pair = costs.pair(i, j);
                            let gap = (table[(i, j)] - pair.best(scaling).0).abs();
                            assert!(gap <= 1e-12 * pair.size(), "{scaling:?} {i} {j}: {gap}");
                        }
                    }
                }
            }
        }
    }
}
