//! Differences on the rows of a table, computed in doubles.

use crate::number::significant;
use anyhow::{Context, ensure};
use fiberscope_core::{Matrix, Network};
use serde_json::{Value, json};

/// The quantiles that are told.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// What two networks do on the rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The number of rows.
    pub rows: usize,
    /// How many of them lie in the box, if there is one.
    pub inside: Option<usize>,
    /// The largest difference of an output, row by row.
    pub differences: Vec<f64>,
    /// The row with the largest difference, from 0, and that difference.
    pub largest: (usize, f64),
    /// The mean of the largest differences of an output, row by row.
    pub mean: f64,
    /// Quantiles of these differences: which, and the value.
    pub quantiles: Vec<(f64, f64)>,
    /// On how many rows both networks decide alike: the largest output is the same one, or a single output
    /// has the same sign.
    pub agree: usize,
}

/// The rows of a table as points; columns behind the inputs are left out.
pub fn rows(table: &Matrix, inputs: usize) -> anyhow::Result<Vec<Vec<f64>>> {
    ensure!(table.cols() >= inputs, "expected a column for each of {inputs} inputs, found {}", table.cols());
    let rows: Vec<Vec<f64>> = table.iter_rows().map(|row| row[..inputs].to_vec()).collect();
    ensure!(!rows.is_empty(), "expected at least one row");
    for (i, row) in rows.iter().enumerate() {
        ensure!(row.iter().all(|x| x.is_finite()), "row {}: expected finite numbers", i + 1);
    }
    Ok(rows)
}

/// The differences of two networks on points.
pub fn on_data(
    a: &Network,
    b: &Network,
    points: &[Vec<f64>],
    sides: Option<&[(f64, f64)]>,
) -> anyhow::Result<Rows> {
    let table = Matrix::from_rows(points).context("expected rows of one length")?;
    let (of_a, of_b) = (a.evaluate_batch(&table)?, b.evaluate_batch(&table)?);
    let apart =
        |(x, y): (&[f64], &[f64])| x.iter().zip(y).fold(0.0f64, |most, (x, y)| most.max((x - y).abs()));
    let differences: Vec<f64> = of_a.iter_rows().zip(of_b.iter_rows()).map(apart).collect();
    let largest = (0..differences.len()).max_by(|&i, &j| {
        // The first of the largest ones.
        differences[i].total_cmp(&differences[j]).then(j.cmp(&i))
    });
    let largest = largest.context("expected at least one row")?;
    let mut sorted = differences.clone();
    sorted.sort_by(f64::total_cmp);
    // The least value that so large a part of the rows does not exceed.
    let quantile =
        |part: f64| sorted[((part * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
    let inside =
        |x: &[f64], sides: &[(f64, f64)]| x.iter().zip(sides).all(|(x, (lo, hi))| lo <= x && x <= hi);
    Ok(Rows {
        rows: points.len(),
        inside: sides.map(|sides| points.iter().filter(|x| inside(x, sides)).count()),
        largest: (largest, differences[largest]),
        mean: differences.iter().sum::<f64>() / differences.len() as f64,
        quantiles: QUANTILES.map(|part| (part, quantile(part))).to_vec(),
        agree: of_a.iter_rows().zip(of_b.iter_rows()).filter(|(x, y)| decision(x) == decision(y)).count(),
        differences,
    })
}

/// The first of the largest outputs; of a single output, whether it is positive.
fn decision(outputs: &[f64]) -> usize {
    match outputs {
        [only] => usize::from(*only > 0.0),
        _ => (0..outputs.len()).fold(0, |best, k| if outputs[k] > outputs[best] { k } else { best }),
    }
}

impl Rows {
    /// The keys of `data` in the JSON of `fiberscope diff`.
    pub fn value(&self) -> Value {
        let quantiles: Vec<Value> =
            self.quantiles.iter().map(|(part, value)| json!({"part": part, "value": value})).collect();
        json!({
            "rows": self.rows,
            "inside": self.inside,
            "max": self.largest.1,
            "max_row": self.largest.0 + 1,
            "mean": self.mean,
            "quantiles": quantiles,
            "agree": self.agree,
            "agreement": self.agree as f64 / self.rows as f64,
        })
    }

    /// The same as text.
    pub fn text(&self) -> String {
        let show = |x: f64| significant(x, 4);
        let quantiles: Vec<String> = self
            .quantiles
            .iter()
            .map(|(part, value)| format!("{} % {}", 100.0 * part, show(*value)))
            .collect();
        let inside = match self.inside {
            Some(inside) if inside < self.rows => format!(" ({inside} of them in the box)"),
            _ => String::new(),
        };
        format!(
            "on {} rows of data{inside}, in doubles: largest difference {} (row {}), mean {}; quantiles {}\n\
             the decision is the same on {} of {} rows\n",
            self.rows,
            show(self.largest.1),
            self.largest.0 + 1,
            show(self.mean),
            quantiles.join(", "),
            self.agree,
            self.rows
        )
    }
}
