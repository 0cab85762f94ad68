//! Linear programs against elimination of variables and enumeration of vertices.
use fiberscope_algebra::dense::value_at;
use fiberscope_algebra::elimination::solve;
use fiberscope_algebra::never;
use fiberscope_algebra::program::{
    BoxedPolytope, Cone, Interior, Optimum, Pointedness, Polytope, Side, interior, is_proved, pointedness,
};
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Matrix, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// `a x + b >= 0`, or `> 0` if it is strict; the constant last.
#[derive(Clone)]
struct Inequality {
    row: Vec<Rational>,
    strict: bool,
}

/// Whether inequalities have a common solution: the method of Fourier and Motzkin, one variable after the
/// other.
fn is_feasible(mut system: Vec<Inequality>, variables: usize) -> bool {
    for v in 0..variables {
        let (with, rest): (Vec<_>, Vec<_>) = system.into_iter().partition(|i| !i.row[v].is_zero());
        let (lower, upper): (Vec<_>, Vec<_>) = with.into_iter().partition(|i| i.row[v].is_positive());
        system = rest;
        for low in &lower {
            for high in &upper {
                let (s, t) = (-&high.row[v], low.row[v].clone());
                let row = low.row.iter().zip(&high.row).map(|(x, y)| &(x * &s) + &(y * &t)).collect();
                system.push(Inequality { row, strict: low.strict || high.strict });
            }
        }
    }
    system
        .iter()
        .all(|i| if i.strict { i.row[variables].is_positive() } else { !i.row[variables].is_negative() })
}

fn vector(length: usize, rng: &mut ChaCha8Rng) -> Vec<Rational> {
    // Small numbers make ties, parallel rows and degenerate vertices common.
    (0..length).map(|_| Rational::from(rng.random_range(-2..=2))).collect()
}

#[test]
fn strict_inequalities_have_a_point_or_multipliers() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut counts = [0, 0];
    for _ in 0..300 {
        let (d, m) = (rng.random_range(1..=3), rng.random_range(1..=6));
        let rows: Vec<Vec<Rational>> = (0..m).map(|_| vector(d + 1, &mut rng)).collect();
        let strict = rows.iter().map(|row| Inequality { row: row.clone(), strict: true }).collect();
        let found = match interior(d, &rows, || false) {
            Interior::Point(x) => {
                let one = [Rational::ONE];
                assert!(rows.iter().all(|row| dot(row, x.iter().chain(&one)).is_positive()));
                true
            }
            Interior::Empty(m) => {
                let sum = |j: usize| rows.iter().zip(&m).map(|(row, m)| &row[j] * m).sum::<Rational>();
                assert!((0..d).all(|j| sum(j).is_zero()) && !sum(d).is_positive());
                assert!(m.iter().all(|m| !m.is_negative()) && m.iter().any(Rational::is_positive));
                false
            }
            Interior::Unknown => panic!("stopped"),
        };
        assert_eq!(found, is_feasible(strict, d));
        counts[usize::from(found)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    assert_eq!(interior(1, &[vec![-Rational::ONE, Rational::ZERO]], || true), Interior::Unknown);
}

#[test]
fn a_row_is_superfluous_iff_no_point_of_the_cone_is_beyond() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut counts = [0, 0];
    for _ in 0..300 {
        let (d, m) = (rng.random_range(1..=3), rng.random_range(1..=5));
        let rows: Vec<Vec<Rational>> = (0..m).map(|_| vector(d, &mut rng)).collect();
        let keep: Vec<bool> = (0..m).map(|_| rng.random_bool(0.8)).collect();
        let c = vector(d, &mut rng);
        let constant = |row: Vec<Rational>| row.into_iter().chain([Rational::ZERO]).collect();
        let mut system: Vec<Inequality> = (rows.iter().zip(&keep))
            .filter(|(_, keep)| **keep)
            .map(|(row, _)| Inequality { row: constant(row.clone()), strict: false })
            .collect();
        system.push(Inequality { row: constant(c.iter().map(|x| -x).collect()), strict: true });
        let beyond = match Cone::new(d, rows.clone()).side(&c, &keep, &never).unwrap() {
            Side::Beyond(y) => {
                assert!(dot(&c, &y).is_negative());
                assert!(rows.iter().zip(&keep).all(|(row, keep)| !keep || !dot(row, &y).is_negative()));
                true
            }
            Side::Superfluous => false,
        };
        assert_eq!(beyond, is_feasible(system, d));
        counts[usize::from(beyond)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 30), "{counts:?}");
}

#[test]
fn a_cone_is_pointed_iff_a_functional_is_positive_on_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..300 {
        let (m, d) = (rng.random_range(1..=3), rng.random_range(1..=6));
        let columns: Vec<Vec<Rational>> = (0..d).map(|_| vector(m, &mut rng)).collect();
        let matrix = Matrix::from_fn(m, d, |i, j| columns[j][i].clone());
        let strict = columns.iter().filter(|column| column.iter().any(|x| !x.is_zero())).map(|column| {
            Inequality { row: column.iter().cloned().chain([Rational::ZERO]).collect(), strict: true }
        });
        let answer = pointedness(&matrix, &never).unwrap();
        assert!(answer.proves(&matrix));
        assert_eq!(matches!(answer, Pointedness::Pointed { .. }), is_feasible(strict.collect(), m));
    }
    let line = Matrix::from_rows(&[[Rational::ONE, -Rational::ONE]]).unwrap();
    assert_eq!(pointedness(&line, &|| true), None);
}

/// The least value of `c` at a vertex of the polytope, by all bases.
fn least_vertex(c: &[f64], rows: &[Vec<f64>]) -> Option<f64> {
    let d = c.len() - 1;
    let exact = |row: &[f64]| row.iter().map(|&x| Rational::from_f64(x).unwrap()).collect::<Vec<_>>();
    let rows: Vec<Vec<Rational>> = rows.iter().map(|row| exact(row)).collect();
    let c = exact(c);
    let at = |row: &[Rational], x: &[Rational]| dot(row, x.iter().chain(&[Rational::ONE]));
    let mut least: Option<Rational> = None;
    for mask in (0..1usize << rows.len()).filter(|mask| mask.count_ones() as usize == d) {
        let basis = (0..rows.len()).filter(|i| mask >> i & 1 == 1);
        let equation = |i: usize| rows[i][..d].iter().cloned().chain([-&rows[i][d]]).collect::<Vec<_>>();
        let Some(x) = solve(basis.map(equation).collect()) else { continue };
        if rows.iter().all(|row| !at(row, &x).is_negative()) {
            let value = at(&c, &x);
            least = Some(least.map_or(value.clone(), |least| least.min(value)));
        }
    }
    least.map(|least| least.to_f64())
}

fn side(d: usize, j: usize, sign: f64, constant: f64) -> Vec<f64> {
    (0..d).map(|k| if k == j { sign } else { 0.0 }).chain([constant]).collect()
}

/// Rows that a point inside satisfies, so that the polytope in the box `[-2, 3]^d` is not empty.
fn polytope(d: usize, m: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    (0..m)
        .map(|_| {
            let row: Vec<f64> = (0..d).map(|_| f64::from(rng.random_range(-3..=3))).collect();
            row.into_iter().chain([f64::from(rng.random_range(1..=4))]).collect()
        })
        .collect()
}

#[test]
fn the_least_value_in_a_box_is_at_a_vertex_and_bounds_are_proved() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut proved = 0;
    for _ in 0..200 {
        let (d, m) = (rng.random_range(1..=3), rng.random_range(0..=4));
        let rows = polytope(d, m, &mut rng);
        let mut all = rows.clone();
        (0..d).for_each(|j| all.extend([side(d, j, 1.0, 2.0), side(d, j, -1.0, 3.0)]));
        let c: Vec<f64> = (0..=d).map(|_| f64::from(rng.random_range(-4..=4))).collect();
        let expected = least_vertex(&c, &all).unwrap();
        let (lower, upper) = (vec![-2.0; d], vec![3.0; d]);
        let least =
            BoxedPolytope::new(rows.clone(), lower.clone(), upper.clone()).least(&c, &vec![true; m]).unwrap();
        assert!(least.bound <= expected + 1e-12 && expected - least.bound < 1e-9);
        assert!((least.value - expected).abs() < 1e-9);
        let exact = |row: &Vec<f64>| row.iter().map(|&x| Rational::from_f64(x).unwrap()).collect::<Vec<_>>();
        let rows: Vec<Vec<Rational>> = rows.iter().map(exact).collect();
        let is_positive = is_proved(&exact(&c), &rows, &least.multipliers, &lower, &upper);
        assert!(!is_positive || expected >= 0.0);
        proved += usize::from(is_positive);
        // Every row forgotten: the box alone.
        let alone = BoxedPolytope::new(polytope(d, m, &mut rng), lower, upper).least(&c, &vec![false; m]);
        assert_eq!(alone.unwrap().multipliers, []);
    }
    assert!(proved > 10, "{proved}");
}

#[test]
fn the_largest_value_has_equal_multipliers() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..200 {
        let (d, m) = (rng.random_range(1..=3), rng.random_range(0..=4));
        let mut rows: Vec<Vec<f64>> = Vec::new();
        (0..d).for_each(|j| rows.extend([side(d, j, 1.0, 2.0), side(d, j, -1.0, 3.0)]));
        let basis: Vec<u32> = (0..d as u32).map(|j| 2 * j).collect();
        let mut polytope_now = Polytope::new(d, rows.concat(), &basis).unwrap();
        // Rows that cut off vertices are added one after the other, each from a vertex that satisfies it.
        for row in polytope(d, m, &mut rng) {
            let _ = polytope_now.maximize(&row, 1.0, || false);
            assert!(value_at(&row, polytope_now.vertex()) > 0.0);
            polytope_now.push(row.iter().copied());
            rows.push(row);
        }
        let form: Vec<f64> = (0..=d).map(|_| f64::from(rng.random_range(-4..=4))).collect();
        for sign in [1.0, -1.0] {
            let Optimum::Vertex { value, multipliers } = polytope_now.maximize(&form, sign, || false) else {
                panic!("failed")
            };
            let negative: Vec<f64> = form.iter().map(|x| -sign * x).collect();
            assert!((value + least_vertex(&negative, &rows).unwrap()).abs() < 1e-9);
            // Duality: sign * form + sum m_i a_i = 0 in the gradient, and the constants add up to the value.
            for j in 0..=d {
                let sum: f64 = multipliers.iter().map(|&(i, m)| m * rows[i][j]).sum::<f64>() + sign * form[j];
                assert!((sum - if j == d { value } else { 0.0 }).abs() < 1e-9);
            }
            assert!(multipliers.iter().all(|m| m.1 >= 0.0));
        }
    }
}
