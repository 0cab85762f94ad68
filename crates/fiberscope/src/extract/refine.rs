//! Rows made precise by many points of their boundaries.
//!
//! A point `x` of the predicted boundary is located again by a long look across it; every such point is one
//! equation `w . h(x) + b = 0`. The smallest change of the row that satisfies all of them within noise is
//! taken; weights of features that are on at no such point stay as they are.

use fiberscope_algebra::dense::{along, direction, dot, norm, peak};

use super::algebra::least_squares;
use super::first::Row;
use super::inquiry::{Halt, Inquiry};
use super::prefix::{Prefix, Rows};
use super::probe::{Boundary, Place, meeting, room};

/// Points beyond one per weight.
const MORE_POINTS: usize = 6;

/// Shares whose ratio is larger than this are unlike.
const UNLIKE: f64 = 3.0;

/// One equation of a row: the features at a point of its boundary, and how exactly the point is known.
struct Equation {
    hidden: Vec<f64>,
    error: f64,
    /// How far the point is from where the row says.
    shift: f64,
}

/// Makes every row of a layer as precise as its boundary can be located; says at which share of the places
/// where the row puts its boundary one was seen.
pub(super) fn refine_rows(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    rows: &mut [Row],
) -> Result<Vec<f64>, Halt> {
    let Some(all) = Rows::new(rows) else { return Ok(Vec::new()) };
    let mut shares = Vec::with_capacity(rows.len());
    for (own, row) in rows.iter_mut().enumerate() {
        let (equations, share) = equations(inquiry, prefix, &all, own)?;
        if let Some(better) = solve(row, equations) {
            *row = better;
        }
        shares.push(share);
    }
    Ok(shares)
}

/// Rows that may belong to neurons further on. Those of one layer are seen through the same neurons behind
/// them, so at about the same share of their boundaries; a boundary further on that was taken for a
/// hyperplane of this layer is seen in one cell only, or, where it is the border of a region in which nothing
/// is seen, everywhere.
pub(super) fn strangers(shares: &[f64]) -> Vec<bool> {
    let mut sorted = shares.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    shares.iter().map(|&share| share < median / UNLIKE || share > UNLIKE * median).collect()
}

fn equations(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    all: &Rows,
    own: usize,
) -> Result<(Vec<Equation>, f64), Halt> {
    let boundary = Boundary::whole(all.weight.row(own).to_vec(), all.bias[own]);
    let wanted = prefix.width() + MORE_POINTS;
    let mut found: Vec<Equation> = Vec::new();
    let (mut looked, mut met) = (0u32, 0u32);
    for _ in 0..4 * wanted {
        if found.len() >= wanted {
            drop_outliers(&mut found);
        }
        if found.len() >= wanted {
            break;
        }
        let reach = inquiry.uniform(0.5, 4.0);
        let start = inquiry.point(reach);
        let Some(x) = boundary.reach(inquiry, prefix, &start, Place::default()) else { continue };
        let local = prefix.local(&x);
        let gradient = boundary.gradient(&local);
        let Some(m) = direction(&gradient) else { continue };
        let a = (0.4 * room(&local, all, own, &m)).min(0.1 * inquiry.radius);
        if a < 1e-4 * inquiry.radius {
            continue;
        }
        let seen = meeting(inquiry, &x, &m, a)?;
        looked += 1;
        let Some(t) = seen.t.filter(|t| t.abs() < 1e-3 * a) else { continue };
        met += 1;
        let hidden = prefix.hidden(&along(&x, t, &m));
        found.push(Equation { hidden, error: seen.error * norm(&gradient), shift: t.abs() });
    }
    drop_outliers(&mut found);
    Ok((found, f64::from(met) / f64::from(looked.max(1))))
}

/// The row is nearly right, so where its boundary seems far off, another one was in the way.
fn drop_outliers(equations: &mut Vec<Equation>) {
    let mut shifts: Vec<f64> = equations.iter().map(|e| e.shift).collect();
    shifts.sort_by(f64::total_cmp);
    let most = 20.0 * shifts.get(shifts.len() / 2).copied().unwrap_or(0.0) + 1e-12;
    equations.retain(|e| e.shift <= most);
}

/// The row that satisfies the equations best; its largest weight is held fixed, and outliers are left out.
fn solve((w, b): &Row, mut equations: Vec<Equation>) -> Option<Row> {
    let largest = peak(w);
    let held = w.iter().position(|v| v.abs() == largest)?;
    let (mut w, mut b) = (w.clone(), *b);
    for round in 0..2 {
        if equations.len() < 3 {
            return None;
        }
        let matrix: Vec<Vec<f64>> = equations
            .iter()
            .map(|e| {
                let mut row: Vec<f64> = e.hidden.iter().map(|h| h / e.error).collect();
                row[held] = 1.0 / e.error;
                row
            })
            .collect();
        let right: Vec<f64> = equations.iter().map(|e| -(dot(&w, &e.hidden) + b) / e.error).collect();
        let step = least_squares(&matrix, &right, 1e-9)?;
        b += step[held];
        w.iter_mut().enumerate().filter(|(k, _)| *k != held).for_each(|(k, v)| *v += step[k]);
        if round == 0 {
            let off = |e: &Equation| (dot(&w, &e.hidden) + b).abs() / e.error;
            let mut sizes: Vec<f64> = equations.iter().map(off).collect();
            sizes.sort_by(f64::total_cmp);
            let most = 12.0 * sizes[sizes.len() / 2] + 1.0;
            equations.retain(|e| off(e) <= most);
        }
    }
    let length = norm(&w);
    let all_finite = b.is_finite() && length.is_finite() && length > 0.0;
    all_finite.then(|| (w.iter().map(|v| v / length).collect(), b / length))
}

#[cfg(test)]
mod tests {
    use super::strangers;

    #[test]
    fn rows_seen_unlike_the_others_are_strangers() {
        let check = |shares: &[f64], expected: &[usize]| {
            let found: Vec<usize> = (0..shares.len()).filter(|&i| strangers(shares)[i]).collect();
            assert_eq!(found, expected, "{shares:?}");
        };
        check(&[], &[]);
        check(&[0.9, 0.5, 1.0, 0.7], &[]);
        check(&[0.9, 0.0, 1.0, 0.7], &[1]);
        check(&[0.2, 0.15, 1.0, 0.3, 0.2], &[2]);
    }
}
