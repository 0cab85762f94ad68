//! One neuron that was found twice.

use super::deeper::is_twin;
use super::first::Row;
use super::inquiry::Inquiry;
use super::recover::Recovery;

/// Coordinates in which a measured row may differ from a guessed one of the same neuron.
const MOST_GUESSED: usize = 3;

impl Recovery {
    /// Drops rows that noise made of one neuron twice, and rows some of whose weights were guessed if the
    /// same neuron was measured later; says whether there were any.
    pub fn drop_twins(&mut self, inquiry: &Inquiry<'_>, index: usize) -> bool {
        let tolerance = (1e6 * inquiry.eta).clamp(1e-5, 1e-2);
        let rows = std::mem::take(&mut self.rows[index]);
        let before = rows.len();
        let mut kept: Vec<Row> = Vec::with_capacity(before);
        for row in rows {
            if is_twin(&kept, &row, tolerance) {
                continue;
            }
            kept.retain(|old| !is_nearly(old, &row, tolerance));
            kept.push(row);
        }
        let dropped = kept.len() < before;
        self.rows[index] = kept;
        if dropped {
            self.forget_deeper(index);
        }
        dropped
    }
}

/// Whether two rows are the same but for a few weights, up to scale.
fn is_nearly((v, c): &Row, (w, b): &Row, tolerance: f64) -> bool {
    let most = MOST_GUESSED.min(w.len() / 3);
    let close = |x: f64, y: f64| (x - y).abs() <= tolerance * (x.abs() + y.abs());
    // The scale from one coordinate that both have; a guess may be any other.
    (0..w.len()).filter(|&k| v[k] != 0.0).any(|k| {
        let scale = w[k] / v[k];
        close(scale * c, *b) && v.iter().zip(w).filter(|(x, y)| !close(scale * **x, **y)).count() <= most
    })
}
