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

    /// Half the width of the interval that holds the true mean with 95 % confidence, the values being normal;
    /// NaN of fewer than two values.
    pub fn half_width(&self) -> f64 {
        if self.count < 2 { f64::NAN } else { student(self.count - 1) * self.error }
    }

    /// The mean in units of its error: for differences of pairs, the paired t-value.
    pub fn t(&self) -> f64 {
        if self.mean == 0.0 { 0.0 } else { self.mean / self.error }
    }
}

/// The 97.5 % quantile of Student's distribution, by the degrees of freedom: a table, then the expansion of
/// Cornish and Fisher.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    if let Some(&quantile) = TABLE.get(freedom - 1) {
        return quantile;
    }
    let (z, n) = (1.959_963_985f64, freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / n.powi(2) + third / n.powi(3)
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
        assert!((estimate.half_width() - 3.182 * estimate.error).abs() < 1e-12);
        for (freedom, quantile) in [(11, 2.201), (14, 2.145), (20, 2.086), (30, 2.042), (120, 1.980)] {
            assert!((student(freedom) - quantile).abs() < 6e-4, "{freedom}");
        }
        assert!(Estimate::of([1.0]).half_width().is_nan());
        assert!(Estimate::of([]).mean.is_nan() && Estimate::of([1.0]).error.is_nan());
        assert!((correlation(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) - 1.0).abs() < 1e-15);
        assert!((correlation(&[(0.0, 1.0), (1.0, 0.0), (2.0, 1.0)])).abs() < 1e-15);
        assert!(correlation(&[(0.0, 1.0), (0.0, 2.0)]).is_nan());
    }
}
