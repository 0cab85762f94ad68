//! The pieces of a fiber by an enumeration that shares no code with the library.

use fiberscope::{ExactNetwork, Rational};

/// A row of a matrix.
pub type Row = Vec<Rational>;

/// The rank, by elimination over the rationals.
pub fn rank(mut rows: Vec<Row>) -> usize {
    let (mut done, cols) = (0, rows.first().map_or(0, Vec::len));
    for col in 0..cols {
        let Some(pivot) = (done..rows.len()).find(|&i| !rows[i][col].is_zero()) else { continue };
        rows.swap(done, pivot);
        for i in done + 1..rows.len() {
            let factor = &rows[i][col] / &rows[done][col];
            let terms: Row = rows[done].iter().map(|x| &factor * x).collect();
            rows[i].iter_mut().zip(&terms).for_each(|(x, term)| *x -= term);
        }
        done += 1;
    }
    done
}

/// Whether some `y` has `y M_j > 0` for all columns `M_j != 0`: Fourier and Motzkin's elimination of the
/// entries of `y`.
fn has_positive_functional(matrix: &[Row]) -> bool {
    let columns = (0..matrix[0].len()).map(|j| matrix.iter().map(|row| row[j].clone()).collect::<Row>());
    let mut inequalities: Vec<Row> = columns.filter(|column| column.iter().any(|x| !x.is_zero())).collect();
    for at in 0..matrix.len() {
        let (mut kept, mut up, mut down) = (Vec::new(), Vec::new(), Vec::new());
        for row in inequalities {
            match row[at].signum() {
                0 => kept.push(row),
                1 => up.push(row),
                _ => down.push(row),
            }
        }
        for x in &up {
            for y in &down {
                let sum = x.iter().zip(y).map(|(a, b)| &(a * &-&y[at]) + &(b * &x[at]));
                kept.push(sum.collect());
            }
        }
        inequalities = kept;
    }
    // What is left reads 0 > 0.
    inequalities.is_empty()
}

/// A piece of the enumeration: the rows of the turned neurons name the orientation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    pub linear: usize,
    pub dead: Option<usize>,
    pub generic: bool,
    pub dimension: Option<usize>,
}

/// The pieces by brute force, from the second and third layer: for every set of turned neurons (of the given
/// ones that are nonlinear), `M = A + sum of what they contribute`.
pub fn brute(network: &ExactNetwork) -> Vec<(Vec<usize>, Expected)> {
    let [_, second, third] = network.layers() else { panic!() };
    let (d, n, m) = (second.input_width(), second.width(), third.width());
    let signs =
        |unit: usize| second.weight().row(unit).iter().chain([&second.bias()[unit]]).map(Rational::signum);
    let nonlinear: Vec<usize> =
        (0..n).filter(|&unit| signs(unit).any(|s| s > 0) && signs(unit).any(|s| s < 0)).collect();
    let linear: Vec<usize> = (0..n).filter(|&unit| signs(unit).all(|s| s >= 0)).collect();
    // The product of the layers that keeps these neurons, with signs.
    let term = |units: &[(usize, i64)]| -> Vec<Row> {
        let entry = |o: usize, j: usize, &(k, sign): &(usize, i64)| {
            &(&third.weight()[(o, k)] * &second.weight()[(k, j)]) * &Rational::from(sign)
        };
        (0..m).map(|o| (0..d).map(|j| units.iter().map(|unit| entry(o, j, unit)).sum()).collect()).collect()
    };
    let others = n - nonlinear.len();
    // Turning a neuron (w, V) into (-w, V) leaves V w x to the linear ones.
    let turned = |code: usize| -> Vec<usize> {
        (0..nonlinear.len()).filter(|k| code >> k & 1 == 1).map(|k| nonlinear[k]).collect()
    };
    let matrix = |code: usize| {
        let units = linear.iter().copied().chain(turned(code));
        term(&units.map(|unit| (unit, 1)).collect::<Vec<_>>())
    };
    let count = 1usize << nonlinear.len();
    let ranks: Vec<usize> = (0..count).map(|code| rank(matrix(code))).collect();
    let full = m.min(d);
    // The masks that keep all linear neurons of a piece, and those that keep none, with any visible ones.
    let largest = |found: usize, kept: usize| found == full.min(kept);
    let generic = |code: usize, linear: usize| {
        (0..count).all(|kept: usize| {
            let size = kept.count_ones() as usize;
            let sign = |k: usize| if code >> k & 1 == 1 { -1 } else { 1 };
            let units = (0..nonlinear.len()).filter(|k| kept >> k & 1 == 1).map(|k| (nonlinear[k], sign(k)));
            largest(ranks[code ^ kept], linear + size)
                && largest(rank(term(&units.collect::<Vec<_>>())), size)
        })
    };
    let mut pieces = Vec::new();
    for (code, &rho) in ranks.iter().enumerate() {
        let numbers: Vec<usize> =
            if rho < full || rho > others { vec![rho] } else { (rho..=others).collect() };
        for linear in numbers {
            let points = linear <= others
                && (linear == 0 || linear >= d || linear > m || has_positive_functional(&matrix(code)));
            let r = linear.min(m).min(d);
            let dimension = linear * (m + d) - r * (m + d - r);
            pieces.push((
                turned(code),
                Expected {
                    linear,
                    dead: others.checked_sub(linear),
                    generic: generic(code, linear),
                    dimension: points.then(|| dimension + (others - linear) * (m + d)),
                },
            ));
        }
    }
    pieces
}
