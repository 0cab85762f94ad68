//! Solving the equation of a class: rows for the linear neurons and the free groups, and their weights.

use fiberscope_algebra::never;
use fiberscope_algebra::program::{Pointedness, pointedness};
use fiberscope_algebra::rational::dot;
use fiberscope_algebra::rational::{coordinates, independent_of, kernel};
use fiberscope_core::{Matrix, Rational};

use super::super::layer::Ground;
use super::{Class, GeneralFiber, TooMuchWork};

/// `N_i` per visible hyperplane, and the rows with their weights.
pub(super) struct Solution {
    pub turned: Vec<Vec<Rational>>,
    pub linear: Vec<(Vec<Rational>, Vec<Rational>)>,
    pub free: Vec<(Vec<Rational>, Vec<Rational>)>,
}

impl GeneralFiber {
    /// What solves the equation of the module.
    pub(super) fn solve(&self, class: &Class) -> Result<Option<Solution>, TooMuchWork> {
        let hyperplanes = &self.representation.hyperplanes;
        let m = self.representation.constant.len();
        let mut base = Matrix::from_rows(&self.representation.linear).expect("one row per output");
        let mixed: Vec<usize> =
            (0..hyperplanes.len()).filter(|&i| class.visible[i].0 > 0 && class.visible[i].1 > 0).collect();
        let mut turned = vec![vec![Rational::ZERO; m]; hyperplanes.len()];
        for (i, hyperplane) in hyperplanes.iter().enumerate().filter(|(i, _)| class.visible[*i].0 == 0) {
            turned[i] = hyperplane.weight.clone();
            for (o, a) in hyperplane.weight.iter().enumerate() {
                base.row_mut(o).iter_mut().zip(&hyperplane.normal).for_each(|(x, u)| *x += &(a * u));
            }
        }
        let span =
            independent_of(&[], &mixed.iter().map(|&i| hyperplanes[i].normal.clone()).collect::<Vec<_>>());
        let span_of: Vec<usize> = span.iter().map(|&k| mixed[k]).collect();
        let span: Vec<Vec<Rational>> = span_of.iter().map(|&i| hyperplanes[i].normal.clone()).collect();
        let groups = class.cancelling.iter().filter(|group| group.1 > 0).count();
        let Some((rows, arbitrary)) = self.rows(&base, &span, class.linear, groups)? else { return Ok(None) };
        // Coordinates in an independent subset of [nonnegative rows, arbitrary rows, U].
        let all: Vec<Vec<Rational>> = rows.iter().chain(&arbitrary).chain(&span).cloned().collect();
        let chosen = independent_of(&[], &all);
        let basis: Vec<Vec<Rational>> = chosen.iter().map(|&k| all[k].clone()).collect();
        let solved = match Matrix::from_rows(&basis) {
            Some(basis) if !chosen.is_empty() => coordinates(&basis, &base, &never).ok_or(TooMuchWork)?,
            _ => Matrix::from_fn(m, 0, |_, _| Rational::ZERO),
        };
        let coefficient = |k: usize| -> Vec<Rational> {
            let at = chosen.iter().position(|&c| c == k);
            (0..m).map(|o| at.map_or(Rational::ZERO, |at| solved[(o, at)].clone())).collect()
        };
        let linear = rows.iter().enumerate().map(|(k, row)| (row.clone(), coefficient(k))).collect();
        let free =
            arbitrary.iter().enumerate().map(|(k, row)| (row.clone(), coefficient(rows.len() + k))).collect();
        for (k, &i) in span_of.iter().enumerate() {
            turned[i] = coefficient(rows.len() + arbitrary.len() + k).iter().map(|y| -y).collect();
        }
        Ok(Some(Solution { turned, linear, free }))
    }

    /// `linear` nonnegative rows and at most `groups` other rows that, together with `span`, span the rows of
    /// `base`.
    #[allow(clippy::type_complexity, reason = "two lists of rows")]
    fn rows(
        &self,
        base: &Matrix<Rational>,
        span: &[Vec<Rational>],
        linear: usize,
        groups: usize,
    ) -> Result<Option<(Vec<Vec<Rational>>, Vec<Vec<Rational>>)>, TooMuchWork> {
        let candidates: Vec<Vec<Rational>> = base.iter_rows().map(<[Rational]>::to_vec).collect();
        let basis: Vec<Vec<Rational>> =
            independent_of(span, &candidates).into_iter().map(|k| candidates[k].clone()).collect();
        let filler = |count: usize| {
            let entry = if self.ground == Ground::Orthant { Rational::ONE } else { Rational::ZERO };
            vec![vec![entry; self.inputs]; count]
        };
        let rho = basis.len();
        if rho <= groups {
            return Ok(Some((filler(linear), basis)));
        }
        let needed = rho - groups;
        if self.ground == Ground::Space || linear < needed {
            return Ok(None);
        }
        if linear > needed {
            let shift = |row: &[Rational]| row.iter().map(|x| -x).max().unwrap_or_default();
            let large = basis[..needed]
                .iter()
                .map(|row| shift(row))
                .max()
                .unwrap_or_default()
                .max(Rational::ZERO)
                .round_up(4);
            let large = &large + &Rational::ONE;
            let raised = |row: &Vec<Rational>| row.iter().map(|x| x + &large).collect::<Vec<_>>();
            let mut rows: Vec<Vec<Rational>> = basis[..needed].iter().map(raised).collect();
            rows.push(vec![large.clone(); self.inputs]);
            rows.extend(filler(linear - needed - 1));
            return Ok(Some((rows, basis[needed..].to_vec())));
        }
        let Some(rows) = nonnegative_rows(&basis, span, needed)? else { return Ok(None) };
        let rest =
            independent_of(&[span, &rows].concat(), &basis).into_iter().map(|k| basis[k].clone()).collect();
        Ok(Some((rows, rest)))
    }
}

/// `count` nonnegative rows of the span of both lists that are independent modulo `span`, if there are as
/// many.
fn nonnegative_rows(
    basis: &[Vec<Rational>],
    span: &[Vec<Rational>],
    count: usize,
) -> Result<Option<Vec<Vec<Rational>>>, TooMuchWork> {
    let mut rows = [basis, span].concat();
    let inside = loop {
        let Some(matrix) = Matrix::from_rows(&rows).filter(|matrix| matrix.rows() > 0) else {
            return Ok(None);
        };
        match pointedness(&matrix, &never).ok_or(TooMuchWork)? {
            Pointedness::Pointed { functional } => {
                break (0..matrix.cols()).map(|j| dot(&functional, matrix.column(j))).collect::<Vec<_>>();
            }
            // Every nonnegative row vanishes where the multipliers do not.
            Pointedness::NotPointed { combination } => {
                let zero: Vec<usize> =
                    (0..combination.len()).filter(|&j| !combination[j].is_zero()).collect();
                rows = vanishing(&matrix, &zero)?;
            }
        }
    };
    let chosen: Vec<usize> = independent_of(span, &rows).into_iter().take(count).collect();
    if chosen.len() < count {
        return Ok(None);
    }
    // Large multiples of the inner row make the chosen rows nonnegative; all but finitely many keep them
    // independent.
    Ok((0..).map(|k: i64| Rational::dyadic(1, k.min(1 << 16))).find_map(|extra| {
        let lifted: Vec<Vec<Rational>> = chosen
            .iter()
            .enumerate()
            .map(|(place, &k)| {
                let needed = (0..inside.len())
                    .filter(|&j| rows[k][j].is_negative())
                    .map(|j| -(&rows[k][j] / &inside[j]))
                    .max();
                let factor = &needed.unwrap_or_default() + &(&extra * &Rational::from(place as i64 + 1));
                rows[k].iter().zip(&inside).map(|(x, y)| x + &(&factor * y)).collect()
            })
            .collect();
        (independent_of(span, &lifted).len() == count).then_some(lifted)
    }))
}

/// A basis of the vectors in the span of the rows that are zero in the given columns.
fn vanishing(matrix: &Matrix<Rational>, columns: &[usize]) -> Result<Vec<Vec<Rational>>, TooMuchWork> {
    // y M_j = 0 for the columns: the kernel of the transposed selection.
    let kernel = kernel(&matrix.select_columns(columns).transpose()).ok_or(TooMuchWork)?;
    let row = |y: &Vec<Rational>| (0..matrix.cols()).map(|j| dot(y, matrix.column(j))).collect();
    Ok(kernel.iter().map(row).collect())
}
