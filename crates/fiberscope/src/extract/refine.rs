//! Rows made precise by many points of their boundaries.
//!
//! A point `x` of the predicted boundary is located again by a long look across it; every such point is one equation
//! `w . h(x) + b = 0`. The smallest change of the row that satisfies all of them within noise is taken; weights of
//! features that are on at no such point stay as they are.

use super::algebra::{along, direction, dot, least_squares, norm, peak};
use super::first::Row;
use super::inquiry::{Halt, Inquiry};
use super::prefix::{Prefix, Rows};
use super::probe::{Boundary, Place, meeting, room};

/// Points beyond one per weight.
const MORE_POINTS: usize = 6;

/// One equation of a row: the features at a point of its boundary, and how exactly the point is known.
struct Equation {
    hidden: Vec<f64>,
    error: f64,
    /// How far the point is from where the row says.
    shift: f64,
}

/// Makes every row of a layer as precise as its boundary can be located.
pub(super) fn refine_rows(inquiry: &mut Inquiry<'_>, prefix: &Prefix, rows: &mut [Row]) -> Result<(), Halt> {
    let Some(all) = Rows::new(rows) else { return Ok(()) };
    for (own, row) in rows.iter_mut().enumerate() {
        let equations = equations(inquiry, prefix, &all, own)?;
        if let Some(better) = solve(row, equations) {
            *row = better;
        }
    }
    Ok(())
}

fn equations(
    inquiry: &mut Inquiry<'_>,
    prefix: &Prefix,
    all: &Rows,
    own: usize,
) -> Result<Vec<Equation>, Halt> {
    let boundary = Boundary::whole(all.weight.row(own).to_vec(), all.bias[own]);
    let wanted = prefix.width() + MORE_POINTS;
    let mut found: Vec<Equation> = Vec::new();
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
        let Some(t) = seen.t.filter(|t| t.abs() < 1e-3 * a) else { continue };
        let hidden = prefix.hidden(&along(&x, t, &m));
        found.push(Equation { hidden, error: seen.error * norm(&gradient), shift: t.abs() });
    }
    drop_outliers(&mut found);
    Ok(found)
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
