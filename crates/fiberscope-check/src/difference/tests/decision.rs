//! The law of the rows for classes: no exact value of a weighted sum lies beyond them, in doubles or exactly.

use super::*;
use crate::difference::leaves::round_down;

/// A margin, and weights of a few classes other than this one.
fn question(dice: &mut Dice, class: usize, outputs: usize) -> (Rational, Vec<(u32, u64)>) {
    let margin = match dice.below(4) {
        0 => Rational::ZERO,
        1 => "1/3".parse().unwrap(),
        2 => exact(1e-300),
        _ => exact(dice.unit().abs() * 1e3),
    };
    let mut weights = Vec::new();
    for l in (0..outputs).filter(|&l| l != class) {
        if dice.below(2) == 0 {
            let most = [2, 8192, MAX_WEIGHT / 8][dice.below(3) as usize];
            weights.push((l as u32, 1 + dice.below(most)));
        }
    }
    (margin, weights)
}

#[test]
fn no_exact_value_lies_beyond_a_row_of_classes() {
    let mut asked = 0;
    for seed in 0..900 {
        let mut dice = Dice(seed);
        let Case { a, b, lo, hi } = case(&mut dice);
        let outputs = a.output_width();
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        if outputs < 2 || !bounder.run(&lo, &hi) {
            continue;
        }
        let networks = [a, b];
        let mut exactly = ExactBounder::new(&networks);
        let with_exact = seed % 3 == 0;
        if with_exact {
            exactly.run((&lo, &hi), &[], &mut bounder, &|| false).unwrap();
        }
        let class = dice.below(outputs as u64) as usize;
        let rival = (class + 1 + dice.below(outputs as u64 - 1) as usize) % outputs;
        let (margin, mut weights) = question(&mut dice, class, outputs);
        if dice.below(3) == 0 {
            weights = own_lead(rival).to_vec();
        }
        let near = round_down(&margin);
        let held = bounder.rival(class, rival, &weights, near);
        let lead = bounder.lead(class, rival, near);
        let exact_bounds = with_exact.then(|| {
            let both = (class, rival);
            let held = exactly.rival(both, &weights, &margin, &mut bounder, &|| false).unwrap();
            (held, exactly.lead(both, &margin, &mut bounder, &|| false).unwrap())
        });
        for _ in 0..4 {
            let x = point(&mut dice, &lo, &hi);
            let [of_a, of_b] = [&networks[0], &networks[1]].map(|network| truth(network, &x).pop().unwrap());
            let beyond = |l: usize| &(&of_a[class] - &of_a[l]) - &margin;
            let steps = Rational::from(WEIGHT_STEPS as i64);
            let sum: Rational = weights
                .iter()
                .map(|&(l, weight)| &(&Rational::from(weight as i64) / &steps) * &beyond(l as usize))
                .sum();
            let value = &(&of_b[rival] - &of_b[class]) + &sum;
            assert!(held == f64::INFINITY || value <= exact(held), "{seed}: {value} {held}");
            assert!(lead == f64::INFINITY || beyond(rival) <= exact(lead), "{seed}: lead {lead}");
            if let Some((held, lead)) = &exact_bounds {
                assert!(value <= *held && beyond(rival) <= *lead, "{seed}, exactly");
            }
            asked += 1;
        }
    }
    assert!(asked > 2000, "{asked}");
}

/// The weights of a row are exact however large they may be, and its constant is on the safe side.
#[test]
fn the_largest_weights_are_exact() {
    let a = relu_network(&[(&[&[1.0], &[0.0]], &[0.0, 0.25])]);
    let b = relu_network(&[(&[&[1.0], &[0.125]], &[0.0, 0.25])]);
    let pair = Pair::new(&a, &b).unwrap();
    let mut bounder = Bounder::new(&pair);
    assert!(bounder.run(&[-1.0], &[0.25]));
    // On [-1, 1/4] A_1 = x is at most A_2 = 1/4: with any margin the sum is negative.
    for (weight, margin) in [(1, 1.0), (MAX_WEIGHT, 1e-3), (MAX_WEIGHT, 1e300)] {
        assert!(bounder.rival(0, 1, &[(1, weight)], margin).is_finite());
    }
    assert!(bounder.rival(0, 1, &[(1, MAX_WEIGHT)], 1e-3) < 0.0);
    // B_2 - B_1 = x / 8 + 1/4 - x is 1/32 there at x = 1/4, and 9/8 at x = -1.
    let alone = bounder.rival(0, 1, &[], 0.0);
    assert!((1.125..1.126).contains(&alone), "{alone}");
}
