//! Exhaustion over the field with two elements: every network of tiny widths, its rank list, and how many
//! networks with a fixed product have it.
//!
//! Over GF(q) a stratum over a fixed product has
//! `prod_j |GL(d_j)| / (q^{hom - sum omega^2} prod |GL(omega)|) / #{matrices of rank rho}` points.

use std::collections::BTreeMap;

use fiberscope::linear::{Barcode, RankList};

use super::{dag, data, number, numbers};

/// A matrix over GF(2): one word of bits per row.
type Bits = Vec<u32>;

#[test]
fn every_network_over_gf2_has_a_listed_rank_list_and_the_counts_agree() {
    for case in data()["cases"].as_array().unwrap() {
        let widths = numbers(&case["widths"]);
        let parameters: usize = widths.windows(2).map(|pair| pair[0] * pair[1]).sum();
        if parameters > 16 {
            continue;
        }
        let rank = number(&case["rank"]);
        let counts = exhaust(&widths, parameters, rank);
        let dag = dag(&widths, rank);
        let listed: Vec<Vec<usize>> = dag.strata().map(|stratum| stratum.ranks().flat().to_vec()).collect();
        assert_eq!(counts.keys().cloned().collect::<Vec<_>>(), listed, "{widths:?}");
        let products = matrices_of_rank(widths[widths.len() - 1], widths[0], rank);
        for (at, (ranks, count)) in counts.into_iter().enumerate() {
            let list = RankList::from_flat(&widths, ranks).unwrap();
            assert_eq!(count % products, 0);
            assert_eq!(u128::from(count / products), points(&list.barcode()), "{widths:?} {at}");
            if let Some(expected) = case["strata"][at]["gf2_points"].as_u64() {
                assert_eq!(count / products, expected);
            }
        }
    }
}

/// For every rank list with the given rank of the product, how many networks have it.
fn exhaust(widths: &[usize], parameters: usize, rank: usize) -> BTreeMap<Vec<usize>, u64> {
    let mut counts = BTreeMap::new();
    for code in 0u32..1 << parameters {
        let ranks = rank_list(widths, code);
        if ranks[(widths.len() - 1) * (widths.len() - 2) / 2] == rank {
            *counts.entry(ranks).or_insert(0) += 1;
        }
    }
    counts
}

fn rank_list(widths: &[usize], mut code: u32) -> Vec<usize> {
    let mut weights: Vec<Bits> = Vec::new();
    for pair in widths.windows(2) {
        let rows = (0..pair[1]).map(|_| {
            let row = code & ((1 << pair[0]) - 1);
            code >>= pair[0];
            row
        });
        weights.push(rows.collect());
    }
    let mut ranks = Vec::new();
    for k in 1..widths.len() {
        for i in 0..k {
            let product =
                weights[i + 1..k].iter().fold(weights[i].clone(), |product, next| multiply(next, &product));
            ranks.push(rank_of(product));
        }
    }
    ranks
}

fn multiply(left: &Bits, right: &Bits) -> Bits {
    let row = |&bits: &u32| {
        right.iter().enumerate().fold(0, |sum, (j, row)| if bits >> j & 1 == 1 { sum ^ row } else { sum })
    };
    left.iter().map(row).collect()
}

fn rank_of(rows: Bits) -> usize {
    let mut basis: Bits = Vec::new();
    for mut row in rows {
        for &other in &basis {
            row = row.min(row ^ other);
        }
        if row != 0 {
            basis.push(row);
        }
    }
    basis.len()
}

/// The order of `GL(n, 2)`.
fn order(n: usize) -> u128 {
    (0..n).map(|i| (1u128 << n) - (1 << i)).product()
}

fn matrices_of_rank(rows: usize, cols: usize, rank: usize) -> u64 {
    let numerator: u128 =
        (0..rank).map(|i| ((1u128 << rows) - (1 << i)) * ((1u128 << cols) - (1 << i))).product();
    u64::try_from(numerator / order(rank)).unwrap()
}

fn points(barcode: &Barcode) -> u128 {
    let widths = barcode.widths();
    let depth = barcode.depth();
    let pairs = barcode.bars().flat_map(|f| barcode.bars().map(move |e| (f, e)));
    let hom: usize = pairs.filter(|((f, _), (e, _))| f.hom(*e)).map(|((_, m), (_, n))| m * n).sum();
    let squares: usize = barcode.bars().map(|(_, count)| count * count).sum();
    let stabilizer: u128 = barcode.bars().map(|(_, count)| order(count)).product();
    let group: u128 = widths.iter().map(|&width| order(width)).product();
    let rank = barcode.rank_list().product_rank();
    group / (stabilizer << (hom - squares)) / u128::from(matrices_of_rank(widths[depth], widths[0], rank))
}
