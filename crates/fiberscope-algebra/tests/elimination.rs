//! Laws of elimination, each against a slow and obvious version.
use dashu_int::IBig;
use fiberscope_algebra::elimination::{determinant, identity, inverse, rank, reduce, solve};
use fiberscope_algebra::modular::{
    Residue, independent_rows, rank_of_doubles, rank_of_residues, rank_of_sparse,
};
use fiberscope_algebra::rational::{
    coordinates, dot, independent_of, kernel, product, rank_at_most, solve_integers,
};
use fiberscope_algebra::{Echelon, Number, dense, never};
use fiberscope_core::{Matrix, Rational, Scalar};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Exact = Matrix<Rational>;

/// A matrix of small fractions of rank at most `inner`.
fn random(rows: usize, cols: usize, inner: usize, rng: &mut ChaCha8Rng) -> Exact {
    let mut part = |rows: usize, cols: usize| {
        Matrix::from_fn(rows, cols, |_, _| {
            &Rational::from(rng.random_range(-4..=4)) / &Rational::from(rng.random_range(1..=3))
        })
    };
    Scalar::product(&part(rows, inner), &part(inner, cols)).unwrap()
}

/// The determinant by its definition: a signed sum over all permutations.
fn leibniz(matrix: &Exact) -> Rational {
    fn sum(matrix: &Exact, row: usize, free: &mut Vec<usize>) -> Rational {
        if row == matrix.rows() {
            return Rational::ONE;
        }
        let mut total = Rational::ZERO;
        for place in 0..free.len() {
            let column = free.remove(place);
            let term = &matrix[(row, column)] * &sum(matrix, row + 1, free);
            free.insert(place, column);
            if place % 2 == 0 { total += &term } else { total -= &term }
        }
        total
    }
    sum(matrix, 0, &mut (0..matrix.cols()).collect())
}

/// All subsets of `0..n` with `k` elements.
fn subsets(n: usize, k: usize) -> Vec<Vec<usize>> {
    let chosen = |mask: usize| (0..n).filter(|i| mask >> i & 1 == 1).collect::<Vec<_>>();
    (0..1usize << n).filter(|mask| mask.count_ones() as usize == k).map(chosen).collect()
}

/// The rank by its definition: the largest order of a minor that is not zero.
fn rank_by_minors(matrix: &Exact) -> usize {
    let full = matrix.rows().min(matrix.cols());
    let is_regular = |k: usize| {
        subsets(matrix.rows(), k).iter().any(|rows| {
            let rows = matrix.select_rows(rows);
            subsets(matrix.cols(), k).iter().any(|cols| !leibniz(&rows.select_columns(cols)).is_zero())
        })
    };
    (0..=full).rev().find(|&k| is_regular(k)).unwrap()
}

fn residues(matrix: &Exact) -> Vec<u64> {
    matrix.entries().iter().map(|x| x.residue().unwrap()).collect()
}

#[test]
fn all_ranks_are_the_order_of_the_largest_minor() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for case in 0..80 {
        let (rows, cols) = (rng.random_range(1..5), rng.random_range(1..5));
        let matrix = random(rows, cols, case % 4 + 1, &mut rng);
        let expected = rank_by_minors(&matrix);
        assert_eq!(rank(&matrix), expected);
        assert_eq!(rank(&matrix.transpose()), expected);
        // The prime is larger than any minor of these numbers, so that modular ranks are ranks.
        assert_eq!(independent_rows(&matrix).len(), expected);
        assert_eq!(rank_of_residues(residues(&matrix), cols), expected);
        assert_eq!(rank(&matrix.map(|x| Residue::of(x).unwrap())), expected);
        for upper in expected..=rows.min(cols) {
            assert_eq!(rank_at_most(&matrix, upper), expected);
        }
        let sparse = |row: &[Rational]| row.iter().cloned().enumerate().collect::<Vec<_>>();
        assert_eq!(rank_of_sparse(&matrix.iter_rows().map(sparse).collect::<Vec<_>>()), expected);
        let chosen = independent_rows(&matrix);
        let list: Vec<Vec<Rational>> = matrix.iter_rows().map(<[Rational]>::to_vec).collect();
        assert_eq!(independent_of(&[], &list), chosen);
        assert!(independent_of(&list, &list).is_empty());
    }
}

#[test]
fn a_modular_rank_is_at_most_the_rank() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let prime = Rational::from(fiberscope_core::residue::PRIME as i64);
    for _ in 0..100 {
        let (rows, cols) = (rng.random_range(1..6), rng.random_range(1..6));
        // Multiples of the prime, where residues see nothing.
        let unlucky = Matrix::from_fn(rows, cols, |_, _| {
            let x = Rational::from(rng.random_range(-3..=3));
            if rng.random_bool(0.4) { &x * &prime } else { x }
        });
        let modular = independent_rows(&unlucky);
        assert!(modular.len() <= rank(&unlucky));
        assert_eq!(rank(&unlucky.select_rows(&modular)), modular.len());
    }
}

#[test]
fn doubles_have_the_rank_of_their_numbers() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for case in 0..60 {
        let (rows, cols, inner) = (rng.random_range(1..7), rng.random_range(1..7), case % 4 + 1);
        let mut small = |_: usize, _: usize| f64::from(rng.random_range(-8..=8));
        let (left, right) =
            (Matrix::from_fn(rows, inner, &mut small), Matrix::from_fn(inner, cols, &mut small));
        let product = dense::product(&left, &right);
        let scaled = Matrix::from_fn(rows, cols, |i, j| product[(i, j)] * 2f64.powi(10 * i as i32 - 30));
        let bounds = fiberscope_algebra::rank::rank(&scaled, &never);
        assert_eq!(bounds.lower, bounds.upper);
        assert_eq!(bounds.lower, rank_of_doubles(&scaled, &never));
        assert!(bounds.upper <= inner);
    }
}

/// `solve(A, A x) = x` for a kind of numbers; whether `A` is regular.
fn recovers<N: Number>(matrix: &Exact, x: &[Rational], to: impl Fn(&Rational) -> N) -> Option<Vec<N>> {
    let row = |row: &[Rational]| row.iter().chain([&dot(row, x)]).map(&to).collect();
    solve(matrix.iter_rows().map(row).collect())
}

#[test]
fn solutions_determinants_and_inverses_belong_together() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for case in 0..60 {
        let n = case % 5 + 1;
        let (a, b) = (random(n, n, 4, &mut rng), random(n, n, n, &mut rng));
        let x: Vec<Rational> = (0..n).map(|k| Rational::from(k as i64 - 2)).collect();
        let expected = leibniz(&a);
        assert_eq!(determinant(&a), expected);
        assert_eq!(determinant(&Scalar::product(&a, &b).unwrap()), &expected * &determinant(&b));
        let found = recovers(&a, &x, Rational::clone);
        if expected.is_zero() {
            assert_eq!((found, inverse(&a, &never)), (None, None));
            continue;
        }
        assert_eq!(found.unwrap(), x);
        let modular: Vec<Residue> = x.iter().map(|x| Residue::of(x).unwrap()).collect();
        assert_eq!(recovers(&a, &x, |x| Residue::of(x).unwrap()).unwrap(), modular);
        for (found, x) in recovers(&a, &x, Rational::to_f64).unwrap().iter().zip(&x) {
            assert!((found - x.to_f64()).abs() < 1e-9);
        }
        let row = |row: &[Rational]| row.iter().chain([&dot(row, &x)]).map(Rational::to_f64).collect();
        let jordan = dense::solve(a.iter_rows().map(row).collect(), 1e-12).unwrap();
        assert!(jordan.iter().zip(&x).all(|(found, x)| (found - x.to_f64()).abs() < 1e-9));
        let inverse = inverse(&a, &never).unwrap();
        assert_eq!(Scalar::product(&inverse, &a).unwrap(), identity(n));
        assert_eq!(product(&inverse, &a, &never).unwrap(), identity(n));
        assert_eq!(product(&inverse, &a, &|| true), None);
        let floats = dense::invert(a.map(Rational::to_f64).entries(), n, 1e-12).unwrap();
        for (x, y) in floats.iter().zip(inverse.entries()) {
            assert!((x - y.to_f64()).abs() < 1e-9 * (1.0 + x.abs()));
        }
    }
}

#[test]
fn kernels_and_coordinates_fill_the_space() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for case in 0..60 {
        let (rows, cols) = (rng.random_range(1..5), rng.random_range(1..6));
        let matrix = random(rows, cols, case % 3 + 1, &mut rng);
        let vectors = kernel(&matrix).unwrap();
        assert_eq!(vectors.len() + rank(&matrix), cols);
        assert!(vectors.iter().all(|v| matrix.iter_rows().all(|row| dot(row, v).is_zero())));
        assert_eq!(independent_of(&[], &vectors).len(), vectors.len());
        let basis = matrix.select_rows(&independent_rows(&matrix));
        let shares = coordinates(&basis, &matrix, &never).unwrap();
        assert_eq!(Scalar::product(&shares, &basis).unwrap(), matrix);
        assert_eq!(coordinates(&basis, &matrix, &|| true), None);
        // Nothing outside the span has coordinates.
        let unit = Matrix::from_fn(1, cols, |_, j| Rational::from(i64::from(j == cols - 1)));
        let outside = rank(&Matrix::from_fn(rows + 1, cols, |i, j| {
            if i < rows { matrix[(i, j)].clone() } else { unit[(0, j)].clone() }
        })) > rank(&matrix);
        assert_eq!(coordinates(&basis, &unit, &never).is_none(), outside);
    }
}

#[test]
fn reduced_echelon_forms_keep_the_row_space() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for case in 0..60 {
        let (rows, cols) = (rng.random_range(1..5), rng.random_range(1..6));
        let matrix = random(rows, cols, case % 3 + 1, &mut rng);
        let list: Vec<Vec<Rational>> = matrix.iter_rows().map(<[Rational]>::to_vec).collect();
        let mut reduced = list.clone();
        let leads = reduce(&mut reduced, cols, &never).unwrap();
        for (k, &lead) in leads.iter().enumerate() {
            let column: Vec<&Rational> = reduced.iter().map(|row| &row[lead]).collect();
            assert!(column.iter().enumerate().all(|(i, x)| **x == Rational::from(i64::from(i == k))));
        }
        assert!(reduced[leads.len()..].iter().flatten().all(Rational::is_zero));
        assert!(independent_of(&list, &reduced).is_empty() && independent_of(&reduced, &list).is_empty());
    }
}

#[test]
fn integers_are_solved_without_fractions() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut solved, mut refused) = (0, 0);
    for _ in 0..200 {
        let n = rng.random_range(0..4usize);
        let rows = n + rng.random_range(0..2);
        let a: Vec<Vec<i64>> =
            (0..rows).map(|_| (0..=n).map(|_| rng.random_range(-3..=3)).collect()).collect();
        let exact = |row: &Vec<i64>| row.iter().map(|&x| Rational::from(x)).collect::<Vec<_>>();
        let all: Vec<Vec<Rational>> = a.iter().map(exact).collect();
        let left: Vec<Vec<Rational>> = all.iter().map(|row| row[..n].to_vec()).collect();
        let echelon = |rows: &[Vec<Rational>]| {
            let mut echelon = Echelon::default();
            rows.iter().for_each(|row| _ = echelon.insert(row.clone()));
            echelon.rank()
        };
        let solvable = echelon(&left) == n && echelon(&all) == n;
        let integers = a.iter().map(|row| row.iter().map(|&x| IBig::from(x)).collect()).collect();
        match solve_integers(integers, n) {
            None => refused += usize::from(!solvable),
            Some((denominator, numerators)) => {
                for row in &a {
                    let sum: IBig = row[..n].iter().zip(&numerators).map(|(a, x)| x * IBig::from(*a)).sum();
                    assert_eq!(sum, &denominator * IBig::from(row[n]));
                }
                solved += usize::from(solvable && !denominator.is_zero());
            }
        }
    }
    assert_eq!(solved + refused, 200);
    assert!(solved > 20 && refused > 20, "{solved} {refused}");
}

#[test]
fn rows_without_residues_are_left_out() {
    let third: Rational = "1/3".parse().unwrap();
    let row = |x: i64, y: i64| vec![&Rational::from(x) * &third, Rational::from(y)];
    let rows = [row(0, 0), row(3, 1), row(6, 2), row(0, 5), row(1, 1)];
    assert_eq!(independent_rows(&Matrix::from_rows(&rows).unwrap()), [1, 3]);
    let over = Rational::from(fiberscope_core::residue::PRIME as i64).recip().unwrap();
    let rows = [vec![over, Rational::ONE], row(3, 1)];
    assert_eq!(independent_rows(&Matrix::from_rows(&rows).unwrap()), [1]);
}

#[test]
fn both_scalar_products_agree() {
    for n in [0, 1, 7, 8, 9, 40] {
        let a: Vec<f64> = (0..n).map(|k| f64::from(k) - 3.0).collect();
        let b: Vec<f64> = (0..n).map(|k| f64::from(k % 5)).collect();
        assert_eq!(dense::dot(&a, &b), dense::fast_dot(&a, &b));
    }
}

#[test]
fn regular_columns_are_regular() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for case in 0..60 {
        let (rows, cols) = (rng.random_range(1..4), rng.random_range(1..6));
        let matrix = random(rows, cols, case % 3 + 1, &mut rng);
        let columns = dense::regular_columns(&matrix.map(Rational::to_f64));
        // Doubles may take dependent rows for independent ones, not the other way round with numbers as small
        // as these.
        if rank(&matrix) == rows {
            assert!(!determinant(&matrix.select_columns(&columns.unwrap())).is_zero());
        }
    }
    assert_eq!(dense::regular_columns(&Matrix::from_rows(&[[1.0, 2.0], [0.0, 0.0]]).unwrap()), None);
}
