//! Linear networks against golden data, against each other and against slow oracles.

mod conserved;
mod gf2;
mod golden;
mod laws;
mod subspaces;
mod tangent;

use fiberscope::core::Matrix;
use fiberscope::linear::{Barcode, LinearNetwork, ProductFiber, StratumDag, StratumOptions};
use serde_json::Value;

/// The golden file.
fn data() -> Value {
    serde_json::from_str(include_str!("../data/linear.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn network(value: &Value) -> LinearNetwork {
    let matrix = |rows: &Value| {
        let row =
            |row: &Value| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
        Matrix::from_rows(&rows.as_array().unwrap().iter().map(row).collect::<Vec<_>>()).unwrap()
    };
    LinearNetwork::from_weights(value.as_array().unwrap().iter().map(matrix).collect()).unwrap()
}

fn dag(widths: &[usize], rank: usize) -> StratumDag {
    StratumDag::build(
        &ProductFiber::new(widths.to_vec(), rank).unwrap(),
        &StratumOptions::new().strata(1 << 20),
    )
    .unwrap()
}

/// Every barcode of some fibers of different shapes.
fn barcodes() -> Vec<Barcode> {
    let shapes = [
        (vec![2, 1, 1], 0),
        (vec![1, 1, 1, 1], 0),
        (vec![3, 2, 3], 1),
        (vec![2, 3, 2, 2], 1),
        (vec![1, 2, 2, 1], 1),
        (vec![2, 2, 2, 2], 0),
        (vec![3, 4], 2),
    ];
    let strata =
        shapes.into_iter().flat_map(|(widths, rank)| dag(&widths, rank).strata().collect::<Vec<_>>());
    strata.map(|stratum| stratum.barcode().clone()).collect()
}
