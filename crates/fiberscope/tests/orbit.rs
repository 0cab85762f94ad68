//! Laws of the orbit of permutations and positive scalings: the matchers agree with each other and with
//! trying everything.
use crate::common;

use common::{permute, r, random_network, rng, scale};
use fiberscope::orbit::{
    LayerRelabelling, Relabelling, find, find_near, match_layers, propose, relabel, rows_tell,
};
use fiberscope::{Activation, Deadline, Domain, ExactNetwork, Layer, Matrix, Move, Network, Rational};
use rand::RngExt;

/// Where the rows tell the neurons apart there is one relabelling, and every matcher finds it.
#[test]
fn the_matchers_agree_on_twins() {
    for seed in 0..30 {
        let widths = [&[3, 5, 2][..], &[2, 6, 4, 1], &[4, 3, 3, 3, 2]][seed as usize % 3];
        let a = random_network(&mut rng(seed), widths).to_f64().unwrap().0;
        let twin = relabel(&a, seed);
        let (exact_a, exact_b) = (a.to_exact(), twin.network.to_exact());
        assert!(rows_tell(&a));
        let found = find(&exact_a, &exact_b).unwrap();
        assert!(found.turns(&exact_b, &exact_a));
        assert_eq!(propose(&a, &twin.network).unwrap(), found);
        let near = find_near(&a, &twin.network, &Deadline::NEVER).unwrap();
        assert_eq!((near.relabelling, near.relative), (found.clone(), Rational::ZERO));
        let matching = match_layers(&exact_a, &exact_b, &Deadline::NEVER).unwrap();
        assert_eq!((matching.moves, matching.prefix, matching.network), (found.moves(), a.depth(), exact_a));
        // The scales lead the other way.
        for layer in &found.layers {
            assert!(layer.factors.iter().zip(layer.scales()).all(|(x, y)| x * &y == Rational::ONE));
        }
    }
}

/// All permutations of `0..n`.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    match n {
        0 => vec![vec![]],
        _ => {
            let insert = |order: &Vec<usize>, at: usize| [&order[..at], &[n - 1], &order[at..]].concat();
            let shorter = permutations(n - 1);
            shorter.iter().flat_map(|order| (0..n).map(|at| insert(order, at)).collect::<Vec<_>>()).collect()
        }
    }
}

/// A layer of small integers, where rows on one ray, on one line and of zeros are frequent, as one hidden
/// layer.
fn small(rng: &mut impl rand::Rng) -> ExactNetwork {
    let mut number = || Rational::from(rng.random_range(-1..=1i64));
    let weight = Matrix::from_fn(3, 1, |_, _| number());
    let bias = (0..3).map(|_| number()).collect();
    let out = Matrix::from_fn(2, 3, |_, _| number());
    let output = Layer::new(out, vec![Rational::ZERO; 2], Activation::Identity);
    Network::new(vec![Layer::new(weight, bias, Activation::Relu), output]).unwrap()
}

/// The rows of one layer: a matching is found iff some permutation makes every row a positive multiple of its
/// partner.
#[test]
fn rows_are_matched_iff_a_permutation_matches_them() {
    let mut rng = rng(31);
    let mut counts = [0; 2];
    for case in 0..300 {
        let a = small(&mut rng);
        let b = if case % 2 == 0 { small(&mut rng) } else { permute(&mut rng, &a, 0) };
        let b = if case % 4 == 1 { scale(&mut rng, &b, 0) } else { b };
        let row = |network: &ExactNetwork, i: usize| {
            let layer = &network.layers()[0];
            [layer.weight()[(i, 0)].clone(), layer.bias()[i].clone()]
        };
        // Small integers on one ray, or both zero: equal signs and equal cross products.
        let on_ray = |x: &[Rational; 2], y: &[Rational; 2]| {
            &x[0] * &y[1] == &x[1] * &y[0] && x.iter().zip(y).all(|(x, y)| x.signum() == y.signum())
        };
        let matches = |order: &Vec<usize>| (0..3).all(|i| on_ray(&row(&a, i), &row(&b, order[i])));
        let expected = permutations(3).iter().any(matches);
        let matching = match_layers(&a, &b, &Deadline::NEVER).unwrap();
        assert_eq!(matching.prefix > 0, expected);
        assert!(!expected || matching.network.layers()[0] == a.layers()[0]);
        counts[usize::from(expected)] += 1;
        let rows: Vec<_> = (0..3).map(|i| row(&a, i)).collect();
        let apart = (0..3)
            .all(|i| rows[i].iter().any(|x| !x.is_zero()) && (0..i).all(|j| !on_ray(&rows[i], &rows[j])));
        assert_eq!(rows_tell(&a.to_f64().unwrap().0), apart);
    }
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
}

/// Numbers without a residue modulo the prime that proposes partners are matched all the same.
#[test]
fn multiples_of_the_prime_are_matched() {
    let a = random_network(&mut rng(32), &[2, 4, 3, 1]);
    for factor in ["2305843009213693951", "1/2305843009213693951"] {
        let mut b = permute(&mut rng(33), &a, 0);
        let factors = (0..4).map(|i| if i % 2 == 0 { r(factor) } else { Rational::ONE }).collect();
        Move::Scale { layer: 0, factors }.apply(&mut b, &Domain::Space).unwrap();
        assert!(find(&a, &b).is_some_and(|found| found.turns(&b, &a)));
        assert!(find(&b, &a).is_some_and(|found| found.turns(&a, &b)));
    }
}

#[test]
fn what_is_no_relabelling_turns_nothing() {
    let a = random_network(&mut rng(34), &[2, 3, 1]);
    let with = |order: &[usize], factors: &[&str]| Relabelling {
        layers: vec![LayerRelabelling {
            order: order.to_vec(),
            factors: factors.iter().map(|factor| r(factor)).collect(),
        }],
    };
    assert!(with(&[0, 1, 2], &["1"; 3]).turns(&a, &a));
    assert!(!with(&[0, 0, 2], &["1"; 3]).turns(&a, &a));
    assert!(!with(&[0, 1, 2], &["1", "-1", "1"]).turns(&a, &a));
    assert!(!with(&[1, 0, 2], &["1"; 3]).turns(&a, &a));
    assert!(!Relabelling::default().turns(&a, &a));
    assert!(with(&[0, 1, 2], &["1"; 3]).moves().is_empty());
}
