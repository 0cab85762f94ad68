//! An oracle whose answers are logged, and given from the log where they are known.
//!
//! An extraction asks the same queries whenever it gets the same answers. So a run that is resumed replays:
//! its queries are compared with those of the log bit by bit, row by row, and answered from it until the log
//! ends. Then the last query of the log is asked once more, to make sure that this is the same oracle.

use fiberscope::extract::{Oracle, OracleError};
use fiberscope_core::Matrix;

use fiberscope_io::queries::{Log, LogError, Record};

/// An oracle with a log.
pub struct Recorder<'a> {
    oracle: Box<dyn Oracle + 'a>,
    log: Option<Log>,
    /// The most queries asked at once.
    batch: usize,
    /// The batch of the log that is being replayed, and its next row.
    known: Option<(Record, usize)>,
    /// The last row that came from the log, until it is checked.
    last: Option<(Vec<f64>, Vec<f64>)>,
    asked: u64,
    replayed: u64,
}

impl<'a> Recorder<'a> {
    /// The oracle with a log, asked at most `batch` queries at once.
    pub fn new(oracle: Box<dyn Oracle + 'a>, log: Option<Log>, batch: usize) -> Self {
        Recorder { oracle, log, batch: batch.max(1), known: None, last: None, asked: 0, replayed: 0 }
    }

    /// How many queries the oracle was asked.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// How many queries were answered from the log.
    pub fn replayed(&self) -> u64 {
        self.replayed
    }

    /// The answer of the log to this query; `None` if the log has ended.
    fn replay(&mut self, x: &[f64]) -> Result<Option<Vec<f64>>, OracleError> {
        let Some(log) = &mut self.log else { return Ok(None) };
        while self.known.as_ref().is_none_or(|(record, row)| *row == record.points.rows()) {
            match log.next_batch().map_err(in_words)? {
                Some(record) => self.known = Some((record, 0)),
                None => return Ok(None),
            }
        }
        let Some((record, row)) = &mut self.known else { return Ok(None) };
        let same = record.points.row(*row).iter().zip(x).all(|(a, b)| a.to_bits() == b.to_bits());
        if !same {
            return Err(OracleError(format!(
                "{}: query {} of this run is another one than in the log, which was written by version {} of \
                 fiberscope or with other options",
                log.path().display(),
                self.replayed + 1,
                log.written_by
            )));
        }
        let answer = record.answers.row(*row).to_vec();
        *row += 1;
        self.replayed += 1;
        self.last = Some((x.to_vec(), answer.clone()));
        Ok(Some(answer))
    }

    /// Asks the last query of the log again.
    fn check_oracle(&mut self) -> Result<(), OracleError> {
        let (Some((x, logged)), Some(log)) = (self.last.take(), &self.log) else { return Ok(()) };
        let point = Matrix::from_entries(1, x.len(), x).expect("one row");
        let found = self.oracle.query(&point)?;
        self.asked += 1;
        // The last digits may depend on the batch in which a query is asked.
        let near =
            |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * (a.abs() + b.abs()) || a.to_bits() == b.to_bits();
        if found.cols() == logged.len() && found.entries().iter().zip(&logged).all(near) {
            return Ok(());
        }
        Err(OracleError(format!(
            "{}: the log of another oracle, or of one that is not deterministic: to its last query the oracle now \
             answers {:?}, the log has {logged:?}",
            log.path().display(),
            found.entries()
        )))
    }

    /// Asks the oracle and logs what it says.
    fn ask(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let answers = self.oracle.query(points)?;
        self.asked += points.rows() as u64;
        // The extraction says what is wrong with a table of the wrong size; it cannot be logged.
        let fits = (answers.rows(), answers.cols()) == (points.rows(), self.oracle.outputs());
        if let Some(log) = self.log.as_mut().filter(|_| fits) {
            log.append(points, &answers).map_err(in_words)?;
        }
        Ok(answers)
    }
}

impl Oracle for Recorder<'_> {
    fn inputs(&self) -> usize {
        self.oracle.inputs()
    }

    fn outputs(&self) -> usize {
        self.oracle.outputs()
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let mut answers = Vec::with_capacity(points.rows() * self.outputs());
        let mut row = 0;
        while row < points.rows() {
            let Some(answer) = self.replay(points.row(row))? else { break };
            answers.extend(answer);
            row += 1;
        }
        if row < points.rows() {
            self.check_oracle()?;
        }
        while row < points.rows() {
            let rows: Vec<usize> = (row..points.rows().min(row + self.batch)).collect();
            let found = self.ask(&points.select_rows(&rows))?;
            if (found.rows(), found.cols()) != (rows.len(), self.outputs()) {
                return Ok(found);
            }
            answers.extend(found.into_entries());
            row += rows.len();
        }
        Ok(Matrix::from_entries(points.rows(), self.outputs(), answers).expect("every row has its answer"))
    }
}

fn in_words(error: LogError) -> OracleError {
    OracleError(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use fiberscope_io::queries::Run;
    use std::path::Path;

    /// `x -> factor |x|`, which stops answering after so many queries.
    struct Absolute {
        factor: f64,
        left: usize,
    }

    impl Oracle for Absolute {
        fn inputs(&self) -> usize {
            2
        }

        fn outputs(&self) -> usize {
            1
        }

        fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
            self.left =
                self.left.checked_sub(points.rows()).ok_or_else(|| OracleError("no more answers".into()))?;
            Ok(Matrix::from_fn(points.rows(), 1, |i, _| self.factor * points.row(i)[0].abs()))
        }
    }

    fn recorder(path: &Path, factor: f64, left: usize) -> Recorder<'static> {
        let run = Run { inputs: 2, outputs: 1, seed: 0, domain: (-1.0, 1.0), widths: None, noise: None };
        Recorder::new(Box::new(Absolute { factor, left }), Some(Log::open(path, &run).unwrap()), 4)
    }

    fn points(from: usize, count: usize) -> Matrix {
        Matrix::from_fn(count, 2, |i, j| (from + i) as f64 + 0.1 * j as f64)
    }

    #[test]
    fn what_was_answered_is_not_asked_again_whatever_the_batches() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut first = recorder(&path, 2.0, 13);
        first.query(&points(0, 10)).unwrap();
        assert_eq!(first.query(&points(10, 10)).unwrap_err(), OracleError("no more answers".into()));
        drop(first);
        let mut again = recorder(&path, 2.0, 8);
        let answers = again.query(&points(0, 7)).unwrap();
        assert_eq!(answers.entries(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_eq!((again.asked(), again.replayed()), (0, 7));
        let answers = again.query(&points(7, 10)).unwrap();
        assert_eq!(answers.entries()[9], 32.0);
        // Ten of the log; then its last query once more, and seven new ones.
        assert_eq!((again.asked(), again.replayed()), (8, 10));
        drop(again);
        let mut third = recorder(&path, 2.0, 0);
        third.query(&points(0, 17)).unwrap();
        assert_eq!((third.asked(), third.replayed()), (0, 17));
    }

    #[test]
    fn another_query_and_another_oracle_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        recorder(&path, 2.0, 100).query(&points(0, 5)).unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = recorder(&path, 2.0, 100).query(&points(1, 5)).unwrap_err().to_string();
        assert!(error.contains("query 1 of this run is another one"), "{error}");
        let error = recorder(&path, 3.0, 100).query(&points(0, 6)).unwrap_err().to_string();
        assert!(error.contains("answers [12.0], the log has [8.0]"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
