//! Means with standard errors, paired differences, correlations.

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean; NaN of no values.
    pub mean: f64,
    /// The standard error of the mean; NaN of fewer than two values.
    pub error: f64,
    /// The number of values.
    pub count: usize,
}

impl Estimate {
    /// The mean of values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let error = if values.len() < 2 { f64::NAN } else { (square / (count - 1.0) / count).sqrt() };
        Estimate { mean, error, count: values.len() }
    }

    /// The mean in units of its error: for differences of pairs, the paired t-value.
    pub fn t(&self) -> f64 {
        if self.mean == 0.0 { 0.0 } else { self.mean / self.error }
    }
}

/// Pearson's correlation; NaN if one of the variables is constant.
pub fn correlation(points: &[(f64, f64)]) -> f64 {
    let x = Estimate::of(points.iter().map(|p| p.0)).mean;
    let y = Estimate::of(points.iter().map(|p| p.1)).mean;
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
    let product = sum(&|p| (p.0 - x) * (p.1 - y));
    product / (sum(&|p| (p.0 - x).powi(2)) * sum(&|p| (p.1 - y).powi(2))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_values() {
        let estimate = Estimate::of([1.0, 2.0, 3.0, 4.0]);
        assert_eq!((estimate.mean, estimate.count), (2.5, 4));
        assert!((estimate.error - (5.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert!((estimate.t() - 2.5 / estimate.error).abs() < 1e-12);
        assert!(Estimate::of([]).mean.is_nan() && Estimate::of([1.0]).error.is_nan());
        assert!((correlation(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) - 1.0).abs() < 1e-15);
        assert!((correlation(&[(0.0, 1.0), (1.0, 0.0), (2.0, 1.0)])).abs() < 1e-15);
        assert!(correlation(&[(0.0, 1.0), (0.0, 2.0)]).is_nan());
    }
}
