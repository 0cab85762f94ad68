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
    /// The logarithm, to base 2, of the factor that balances the norms.
    balance: f64,
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

    /// The least cost and its factor. The search for it begins at the factor that balances the norms ([`Balance`]).
    pub(super) fn best(&self, scaling: Scaling) -> (f64, f64) {
        if scaling == Scaling::None {
            return (self.cost_with(1.0, 1.0), 1.0);
        }
        // From 1e-100 to 1e100.
        let usable = self.balance.abs() < 332.0;
        let mut best = (self.cost_with(1.0, 1.0), 1.0);
        let mut consider = |c: f64, inverse: f64| {
            let cost = self.cost_with(c, inverse);
            if cost < best.0 {
                best = (cost, c);
            }
        };
        match scaling {
            Scaling::Auto | Scaling::PowersOfTwo if usable => {
                let toward_zero = self.balance as i64;
                let below = toward_zero - i64::from((toward_zero as f64) > self.balance);
                (below - 1..=below + 2).for_each(|k| consider(power_of_two(k), power_of_two(-k)));
            }
            Scaling::Doubles if usable => {
                let balanced = self.balance.exp2();
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

/// Logarithms, to base 2, of the norms of the channels of one network: of what comes in, and of what goes out if that is
/// not zero. The factor `c` that balances the norms of `b` against those of `a` has
/// `c^2 = (norm a_in / norm b_in) (norm b_out / norm a_out)`.
struct Balance {
    incoming: Vec<f64>,
    outgoing: Vec<Option<f64>>,
}

impl Balance {
    /// That of channels with these squares of norms.
    fn new(incoming: &[f64], outgoing: Option<&[f64]>) -> Self {
        let logarithm = |&square: &f64| square.log2() / 2.0;
        let of_outgoing = |i: usize| outgoing.map(|out| &out[i]).filter(|out| **out > 0.0).map(logarithm);
        Balance {
            incoming: incoming.iter().map(logarithm).collect(),
            outgoing: (0..incoming.len()).map(of_outgoing).collect(),
        }
    }

    /// The logarithm of the factor for channel `i` of `a` and channel `j` of `b`.
    fn between(a: &Balance, i: usize, b: &Balance, j: usize) -> f64 {
        let incoming = a.incoming[i] - b.incoming[j];
        match (a.outgoing[i], b.outgoing[j]) {
            (Some(of_a), Some(of_b)) => (incoming + of_b - of_a) / 2.0,
            _ => incoming,
        }
    }
}

/// The costs of all pairs of a class, by what comes in and, if it is given, by what goes out.
pub(super) struct Costs<'p> {
    incoming: &'p Products,
    outgoing: Option<&'p Products>,
    scaling: Scaling,
    balance: [Balance; 2],
}

impl<'p> Costs<'p> {
    pub(super) fn new(incoming: &'p Products, outgoing: Option<&'p Products>, scaling: Scaling) -> Self {
        let balance = [
            Balance::new(&incoming.a, outgoing.map(|out| &out.a[..])),
            Balance::new(&incoming.b, outgoing.map(|out| &out.b[..])),
        ];
        Costs { incoming, outgoing, scaling, balance }
    }

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
            balance: Balance::between(&self.balance[0], i, &self.balance[1], j),
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
    let [balance_a, balance_b] = [(&incoming.a, of_a), (&incoming.b, of_b)]
        .map(|(incoming, outgoing)| Balance::new(incoming, Some(outgoing)));
    let pair = |i: usize, j: usize, out_both: f64| Pair {
        in_a: incoming.a[i],
        in_b: incoming.b[j],
        in_both: incoming.both[(i, j)],
        out_a: of_a[i],
        out_b: of_b[j],
        out_both,
        balance: Balance::between(&balance_a, i, &balance_b, j),
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
