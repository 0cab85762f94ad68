//! Oracles that answer the class, and nothing else.

use fiberscope_core::Matrix;

use super::super::{Oracle, OracleError};

/// The class that outputs stand for: the first of the largest ones; with a single output whether it is positive.
///
/// ```
/// use fiberscope::extract::class_of;
///
/// assert_eq!([class_of(&[0.1, 0.7, 0.2]), class_of(&[-3.0]), class_of(&[2.5])], [1, 0, 1]);
/// ```
pub fn class_of(outputs: &[f64]) -> usize {
    match outputs {
        [score] => usize::from(*score > 0.0),
        _ => (1..outputs.len()).fold(0, |best, k| if outputs[k] > outputs[best] { k } else { best }),
    }
}

/// An oracle that tells of the answers of another one only the class, as a number.
pub struct LabelOracle<O> {
    inner: O,
}

impl<O: Oracle> LabelOracle<O> {
    /// The classes of this oracle.
    pub fn new(inner: O) -> Self {
        LabelOracle { inner }
    }
}

impl<O: Oracle> Oracle for LabelOracle<O> {
    fn inputs(&self) -> usize {
        self.inner.inputs()
    }

    fn outputs(&self) -> usize {
        1
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let answers = self.inner.query(points)?;
        if answers.entries().iter().any(|v| v.is_nan()) {
            return Err(OracleError("an output is no number, so there is no class".into()));
        }
        Ok(Matrix::from_fn(answers.rows(), 1, |i, _| class_of(answers.row(i)) as f64))
    }
}
