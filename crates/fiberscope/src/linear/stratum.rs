//! One stratum: its dimension, the degrees of freedom of its points, its components and its moves.
//!
//! With `Ext` and `Hom` as in [`Bar`], sums over ordered pairs of bar types, and `p = rho (d_0 + d_L - rho)`:
//!
//! ```text
//! dim  = d_theta      - p - sum_{f,e} ext(f,e) omega_f omega_e
//!      = sum_j d_j^2  - p - sum_{f,e} hom(f,e) omega_f omega_e
//!      = d_theta      - p - sum_{i<k} (r_{k-1~i} - r_{k~i}) (r_{k~i+1} - r_{k~i})
//! dof  = dim null d mu(theta) = d_theta - sum_{i<=k+1} omega_{k0} omega_{Li}
//! rdof = dof - dim = sum over pairs with ext(f,e) = 1, not both h = 0 and l = L, of omega_f omega_e
//! ```
//!
//! `rdof = 0` iff the stratum is open in the fiber.

use dashu_int::UBig;

use super::local::{LocalBarcode, LocalMove};
use super::{Bar, Barcode, LinearError, MoveKind, ProductFiber, RankList};

/// A stratum of a fiber, named by its rank list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stratum {
    fiber: ProductFiber,
    ranks: RankList,
    barcode: Barcode,
}

/// A move to a stratum of larger ranks: `[h,k], [i,l] -> [h,l], [i,k]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpMove {
    /// The bar `[h, k]` on the left.
    pub source: Bar,
    /// The bar `[i, l]` on the right.
    pub target: Bar,
    /// Whether no stratum lies between.
    pub covering: bool,
}

impl UpMove {
    /// Connecting if the bars are adjacent, else swapping.
    pub fn kind(&self) -> MoveKind {
        if self.target.start == self.source.end + 1 { MoveKind::Connect } else { MoveKind::Swap }
    }

    /// The barcode after the move.
    pub fn apply(&self, barcode: &Barcode) -> Result<Barcode, LinearError> {
        let (f, e) = (self.source, self.target);
        if !f.ext(e) {
            return Err(LinearError::NoUpMove { source_bar: f, target: e });
        }
        let mut after = barcode.clone();
        take(&mut after, f)?;
        take(&mut after, e)?;
        put(&mut after, Bar::new(f.start, e.end));
        if self.kind() == MoveKind::Swap {
            put(&mut after, Bar::new(e.start, f.end));
        }
        Ok(after)
    }
}

/// A move to a stratum of smaller ranks, the inverse of an [`UpMove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownMove {
    /// The bar `[h, l]` that ends early afterwards.
    pub outer: Bar,
    /// The bar `[i, k]` inside it, or `None` to cut the outer bar.
    pub inner: Option<Bar>,
    /// The layer `k` after which the outer bar ends afterwards.
    pub after: usize,
    /// Whether no stratum lies between.
    pub covering: bool,
}

impl DownMove {
    /// The move that undoes this one, on the barcode below.
    pub fn inverse(&self) -> UpMove {
        let start = self.inner.map_or(self.after + 1, |inner| inner.start);
        UpMove {
            source: Bar::new(self.outer.start, self.after),
            target: Bar::new(start, self.outer.end),
            covering: self.covering,
        }
    }

    /// The barcode after the move.
    pub fn apply(&self, barcode: &Barcode) -> Result<Barcode, LinearError> {
        let mut after = barcode.clone();
        take(&mut after, self.outer)?;
        if let Some(inner) = self.inner {
            if self.outer.start >= inner.start || inner.end >= self.outer.end || inner.end != self.after {
                return Err(LinearError::NoDownMove { outer: self.outer, inner });
            }
            take(&mut after, inner)?;
        } else if !self.outer.contains(self.after) || self.after == self.outer.end {
            return Err(LinearError::NoCut { bar: self.outer, after: self.after });
        }
        let up = self.inverse();
        put(&mut after, up.source);
        put(&mut after, up.target);
        Ok(after)
    }
}

impl Stratum {
    /// The stratum with this rank list.
    pub fn new(ranks: RankList) -> Self {
        let fiber = ProductFiber::new(ranks.widths().to_vec(), ranks.product_rank())
            .expect("a rank list has positive widths and a product of rank at most each of them");
        let barcode = ranks.barcode();
        Stratum { fiber, ranks, barcode }
    }

    /// The fiber.
    pub fn fiber(&self) -> &ProductFiber {
        &self.fiber
    }

    /// The rank list.
    pub fn ranks(&self) -> &RankList {
        &self.ranks
    }

    /// The barcode.
    pub fn barcode(&self) -> &Barcode {
        &self.barcode
    }

    /// The dimension, by the formula with `Ext`.
    pub fn dimension(&self) -> u64 {
        let local = LocalBarcode::of(&self.barcode);
        let ext: u64 = local.extensions().map(|step| step.pairs).sum();
        self.fiber.parameter_count() - self.fiber.product_dimension() - ext
    }

    /// The dimension `dof` of the null space of the differential of `mu`: the span of all velocities
    /// with which a point of the stratum can move in the fiber.
    pub fn degrees_of_freedom(&self) -> u64 {
        self.fiber.parameter_count() - LocalBarcode::of(&self.barcode).differential_rank()
    }

    /// `rdof`, the number of pairs of bar copies on which a rank-increasing move that keeps the product is
    /// possible.
    pub fn rank_increasing_degrees_of_freedom(&self) -> u64 {
        let local = LocalBarcode::of(&self.barcode);
        local.extensions().filter(|step| local.keeps_product(step)).map(|step| step.pairs).sum()
    }

    /// `e`, if the stratum has `2^e` connected components.
    pub fn component_exponent(&self) -> u32 {
        LocalBarcode::of(&self.barcode).component_exponent(&mut Vec::new())
    }

    /// The number of connected components.
    pub fn components(&self) -> UBig {
        UBig::ONE << self.component_exponent() as usize
    }

    /// The dimension of the orbits of `GL(d_1) x ... x GL(d_{L-1})`, the changes of basis in hidden layers.
    pub fn hidden_orbit_dimension(&self) -> u64 {
        let depth = self.fiber.depth();
        let squares: u64 = self.fiber.widths()[1..depth].iter().map(|&d| (d * d) as u64).sum();
        let mut stabilizer = 0;
        for (f, count) in self.barcode.bars().filter(|(f, _)| f.start >= 1) {
            for (e, other) in self.barcode.bars().filter(|(e, _)| e.end < depth) {
                stabilizer += if f.hom(e) { (count * other) as u64 } else { 0 };
            }
        }
        squares - stabilizer
    }

    /// All moves up that stay in the fiber, by source, then target.
    pub fn up_moves(&self) -> Vec<UpMove> {
        let local = LocalBarcode::of(&self.barcode);
        let stays = local.extensions().filter(|step| local.keeps_product(step));
        stays
            .map(|step| UpMove { source: step.source, target: step.target, covering: local.covers(&step) })
            .collect()
    }

    /// All moves down that stay in the fiber, by outer bar, then by what is done to it.
    pub fn down_moves(&self) -> Vec<DownMove> {
        let depth = self.fiber.depth();
        let mut moves = Vec::new();
        for (outer, _) in self.barcode.bars().filter(|(bar, _)| (bar.start, bar.end) != (0, depth)) {
            let cuts = (outer.start..outer.end).map(|after| (None, after));
            let nested = self.barcode.bars().map(|(inner, _)| inner);
            let nested = nested.filter(|inner| outer.start < inner.start && inner.end < outer.end);
            for (inner, after) in cuts.chain(nested.map(|inner| (Some(inner), inner.end))) {
                let down = DownMove { outer, inner, after, covering: false };
                let below = down.apply(&self.barcode).expect("the bars are present and nested");
                let UpMove { source, target, .. } = down.inverse();
                let covering = LocalBarcode::of(&below).covers(&LocalMove { source, target, pairs: 1 });
                moves.push(DownMove { covering, ..down });
            }
        }
        moves
    }

    /// The name `S_{rk W_L ... rk W_1}` in [shewchuk2024geometry, Figure 2]; for more than two
    /// matrices several strata can share it.
    pub fn short_name(&self) -> String {
        let depth = self.fiber.depth();
        let ranks: Vec<_> = (1..=depth).rev().map(|j| self.ranks.get(j, j - 1).to_string()).collect();
        let wide = ranks.iter().any(|rank| rank.len() > 1);
        format!("S_{}", ranks.join(if wide { "," } else { "" }))
    }
}

fn take(barcode: &mut Barcode, bar: Bar) -> Result<(), LinearError> {
    let present = bar.start <= bar.end && bar.end <= barcode.depth() && barcode.get(bar) > 0;
    if !present {
        return Err(LinearError::NoSuchBar { bar });
    }
    barcode.set(bar, barcode.get(bar) - 1);
    Ok(())
}

fn put(barcode: &mut Barcode, bar: Bar) {
    barcode.set(bar, barcode.get(bar) + 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{StratumDag, StratumOptions};

    fn dimension_by_hom(stratum: &Stratum) -> u64 {
        let squares: u64 = stratum.fiber.widths().iter().map(|&d| (d * d) as u64).sum();
        let pairs = stratum.barcode.bars().flat_map(|f| stratum.barcode.bars().map(move |e| (f, e)));
        let hom: u64 =
            pairs.filter(|((f, _), (e, _))| f.hom(*e)).map(|((_, m), (_, n))| (m * n) as u64).sum();
        squares - stratum.fiber.product_dimension() - hom
    }

    fn dimension_by_ranks(stratum: &Stratum) -> u64 {
        let r = |k, i| stratum.ranks.get(k, i) as u64;
        let pairs = (1..=stratum.fiber.depth()).flat_map(|k| (0..k).map(move |i| (k, i)));
        let codimension: u64 = pairs.map(|(k, i)| (r(k - 1, i) - r(k, i)) * (r(k, i + 1) - r(k, i))).sum();
        stratum.fiber.parameter_count() - stratum.fiber.product_dimension() - codimension
    }

    #[test]
    fn three_formulas_for_the_dimension_and_two_for_rdof_agree() {
        for (widths, rank) in [
            (vec![3, 4, 2, 5], 1),
            (vec![2, 3, 4, 3, 2], 0),
            (vec![5, 3], 2),
            (vec![1; 7], 0),
            (vec![6, 2, 6], 0),
        ] {
            let dag =
                StratumDag::build(&ProductFiber::new(widths, rank).unwrap(), &StratumOptions::new()).unwrap();
            for stratum in dag.strata() {
                assert_eq!(stratum.dimension(), dimension_by_hom(&stratum));
                assert_eq!(stratum.dimension(), dimension_by_ranks(&stratum));
                let rdof = stratum.rank_increasing_degrees_of_freedom();
                assert_eq!(stratum.degrees_of_freedom(), stratum.dimension() + rdof);
                let flags: u64 = flag_dimension(&stratum);
                assert_eq!(stratum.dimension(), stratum.hidden_orbit_dimension() + flags);
            }
        }
    }

    /// Dimension of the flags in `null W` and between `col W` and the whole space.
    fn flag_dimension(stratum: &Stratum) -> u64 {
        let depth = stratum.fiber.depth();
        let count = |start, end| stratum.barcode.get(Bar::new(start, end)) as u64;
        let dying: u64 = (0..depth)
            .flat_map(|l| (0..l).map(move |k| (k, l)))
            .map(|(k, l)| count(0, k) * count(0, l))
            .sum();
        let born: u64 = (1..=depth)
            .flat_map(|i| (1..i).map(move |h| (h, i)))
            .map(|(h, i)| count(h, depth) * count(i, depth))
            .sum();
        dying + born
    }

    #[test]
    fn up_and_down_moves_are_inverse() {
        let dag = StratumDag::build(&ProductFiber::new(vec![2, 3, 3, 2], 1).unwrap(), &StratumOptions::new())
            .unwrap();
        let (mut ups, mut downs) = (0, 0);
        for stratum in dag.strata() {
            for up in stratum.up_moves() {
                let above = Stratum::new(up.apply(stratum.barcode()).unwrap().rank_list());
                assert!(stratum.ranks().is_below(above.ranks()));
                let back = above.down_moves().into_iter().find(|down| down.inverse() == up).unwrap();
                assert_eq!(&back.apply(above.barcode()).unwrap(), stratum.barcode());
                ups += 1;
            }
            downs += stratum.down_moves().len();
        }
        assert_eq!((ups, downs), (37, 37));
    }

    #[test]
    fn names_follow_the_figures() {
        let ranks = RankList::from_rows(&[2, 1, 1], &[vec![0], vec![0, 1]]).unwrap();
        assert_eq!(Stratum::new(ranks).short_name(), "S_10");
    }
}
