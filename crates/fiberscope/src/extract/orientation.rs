//! The sign recovery as a question of its own: which way the neurons of a layer look whose rows are known up
//! to sign, from queries.

use super::boundaries::{BoundaryError, KnownLayer, check_layers, turned};
use super::fit::last_layer;
use super::inquiry::{Halt, Inquiry, measure_noise};
use super::prefix::{Prefix, Rows};
use super::recover::limit;
use super::signs::signs;
use super::stage::inside;
use super::{ExtractError, ExtractOptions, ExtractStep, Oracle};

/// The signs that queries told.
#[derive(Clone, Debug)]
pub struct Orientation {
    /// The known layers, the last one turned as far as signs were found.
    pub known: Vec<KnownLayer>,
    /// The factor of every row of the last layer, as it was given: 1, -1, or unknown.
    pub signs: Vec<Option<f64>>,
    /// Whether the function is affine in the neurons of this layer on all points asked: it is the last hidden
    /// one.
    pub last: bool,
    /// All queries.
    pub queries: u64,
    /// Why queries or time ran out, if they did.
    pub stopped: Option<String>,
}

/// Why there are no signs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum OrientError {
    #[error(transparent)]
    Layers(#[from] BoundaryError),
    #[error(transparent)]
    Oracle(#[from] ExtractError),
}

/// Finds the signs of the last of the known layers, whose rows are known up to positive and negative factors.
///
/// ```
/// use fiberscope::extract::{ExtractOptions, KnownLayer, NetworkOracle, orient_layer};
/// use fiberscope::{Activation, Layer, Matrix, Network};
///
/// let rows = Matrix::from_rows(&[[1.0, 2.0], [-1.0, 0.5]]).unwrap();
/// let hidden = Layer::new(rows, vec![0.3, -0.2], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, -3.0]]).unwrap(), vec![0.1], Activation::Identity);
/// let secret = Network::new(vec![hidden, output]).unwrap();
/// // The second row is given with the wrong sign.
/// let turned = Matrix::from_rows(&[[1.0, 2.0], [1.0, -0.5]]).unwrap();
/// let known = KnownLayer { weight: turned, bias: vec![0.3, 0.2], oriented: false };
/// let found = orient_layer(&mut NetworkOracle::new(secret), &[known], &ExtractOptions::new()).unwrap();
/// assert_eq!(found.signs, [Some(1.0), Some(-1.0)]);
/// ```
pub fn orient_layer(
    oracle: &mut dyn Oracle,
    known: &[KnownLayer],
    options: &ExtractOptions,
) -> Result<Orientation, OrientError> {
    check_layers(oracle.inputs(), known)?;
    let Some((layer, before)) = known.split_last().filter(|(last, _)| !last.oriented) else {
        return Err(BoundaryError::Oriented.into());
    };
    let mut inquiry = Inquiry::new(oracle, options)?;
    let inside = inside(&inquiry, known);
    let (rows, rest) = inside.split_last().expect("there is a last layer");
    let prefix = Prefix::of(inquiry.inputs, rest);
    debug_assert_eq!(rest.len(), before.len());
    let (signs, last, stopped) = match find(&mut inquiry, &prefix, rows) {
        Ok((signs, last)) => (signs, last, None),
        Err(Halt::Error(error)) => return Err(OrientError::Oracle(error)),
        Err(Halt::Limit(reason)) => (vec![None; rows.len()], false, Some(reason)),
    };
    let mut known = known.to_vec();
    if let Some(last) = known.last_mut() {
        *last = turned(layer, &signs);
    }
    Ok(Orientation { known, signs, last, queries: inquiry.count(), stopped })
}

/// The signs, and whether the layer is the last hidden one.
fn find(inquiry: &mut Inquiry<'_>, prefix: &Prefix, rows: &Rows) -> Result<(Vec<Option<f64>>, bool), Halt> {
    measure_noise(inquiry)?;
    inquiry.begin(prefix.layers.len(), ExtractStep::Signs);
    let count = 3 * (rows.len() + prefix.width()) + 50;
    let questions: Vec<Vec<f64>> = (0..count).map(|_| inquiry.point_of_domain()).collect();
    inquiry.ask(&questions)?;
    let fit = last_layer(inquiry, prefix, rows).filter(|fit| fit.residual < limit(inquiry));
    if let Some(found) = fit.and_then(|fit| fit.signs) {
        return Ok((found.into_iter().map(Some).collect(), true));
    }
    Ok((signs(inquiry, prefix, rows)?, false))
}
