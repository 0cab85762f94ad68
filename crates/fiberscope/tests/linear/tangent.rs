//! The explicit tangent and normal bases against the basis-free definitions.
//!
//! ```text
//! T = { (X_j W_j - W_j X_{j-1})_j : X_L W = W X_0 },
//! (null d mu)^perp = { (W_{L~j}^T Lambda W_{j-1~0}^T)_j }.
//! ```

use faer::Mat;
use fiberscope::core::Matrix;
use fiberscope::linear::{
    FlowBases, LinearNetwork, NormalKind, Stratum, TangentSpace, Tolerance, sample_stratum,
};

use super::barcodes;

fn dense(matrix: &Matrix) -> Mat<f64> {
    Mat::from_fn(matrix.rows(), matrix.cols(), |i, j| matrix[(i, j)])
}

fn stack(directions: impl Iterator<Item = Vec<Matrix>>, rows: usize) -> Mat<f64> {
    let columns: Vec<Vec<f64>> =
        directions.map(|parts| parts.iter().flat_map(|part| part.entries().to_vec()).collect()).collect();
    Mat::from_fn(rows, columns.len(), |i, j| columns[j][i])
}

fn rank(matrix: &Mat<f64>) -> usize {
    if matrix.nrows() == 0 || matrix.ncols() == 0 {
        return 0;
    }
    let values = matrix.singular_values().unwrap();
    values.iter().filter(|&&value| value > 1e-9 * values[0].max(1.0)).count()
}

fn side_by_side(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols() + b.ncols(), |i, j| {
        if j < a.ncols() { a[(i, j)] } else { b[(i, j - a.ncols())] }
    })
}

fn product(weights: &[Mat<f64>], width: usize) -> Mat<f64> {
    weights.iter().fold(Mat::identity(width, width), |product, weight| weight * &product)
}

/// The Jacobian of `mu`: one column per weight, `W_{L~j} E W_{j-1~0}` flattened.
fn jacobian(network: &LinearNetwork) -> Mat<f64> {
    let weights: Vec<Mat<f64>> = network.weights().iter().map(dense).collect();
    let widths = network.widths();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..weights.len() {
        let after = product(&weights[j + 1..], widths[j + 1]);
        let before = product(&weights[..j], widths[0]);
        for r in 0..widths[j + 1] {
            for c in 0..widths[j] {
                let entries = (0..after.nrows()).flat_map(|i| (0..before.ncols()).map(move |k| (i, k)));
                columns.push(entries.map(|(i, k)| after[(i, r)] * before[(c, k)]).collect());
            }
        }
    }
    Mat::from_fn(columns[0].len(), columns.len(), |i, j| columns[j][i])
}

/// The basis-free tangent space: solutions `X` of `X_L W = W X_0` by the null space of that equation, then
/// their velocities.
fn tangents_by_definition(network: &LinearNetwork) -> Mat<f64> {
    let weights: Vec<Mat<f64>> = network.weights().iter().map(dense).collect();
    let widths = network.widths();
    let depth = weights.len();
    let whole = product(&weights, widths[0]);
    let unknowns: usize = widths.iter().map(|d| d * d).sum();
    let unit = |at: usize| -> Vec<Mat<f64>> {
        let mut left = at;
        widths
            .iter()
            .map(|&d| {
                let inside = left < d * d;
                let matrix = Mat::from_fn(d, d, |i, j| if inside && i * d + j == left { 1.0 } else { 0.0 });
                left = left.wrapping_sub(d * d);
                if inside {
                    left = usize::MAX
                }
                matrix
            })
            .collect()
    };
    let (mut equations, mut velocities) = (Vec::new(), Vec::new());
    for at in 0..unknowns {
        let x = unit(at);
        let equation = &x[depth] * &whole - &whole * &x[0];
        equations.push(
            (0..equation.nrows())
                .flat_map(|i| (0..equation.ncols()).map(|j| equation[(i, j)]).collect::<Vec<_>>())
                .collect::<Vec<f64>>(),
        );
        velocities.push(
            (0..depth)
                .flat_map(|j| {
                    let part = &x[j + 1] * &weights[j] - &weights[j] * &x[j];
                    (0..part.nrows())
                        .flat_map(|i| (0..part.ncols()).map(|k| part[(i, k)]).collect::<Vec<_>>())
                        .collect::<Vec<_>>()
                })
                .collect::<Vec<f64>>(),
        );
    }
    let equations = Mat::from_fn(equations[0].len(), unknowns, |i, j| equations[j][i]);
    let velocities = Mat::from_fn(velocities[0].len(), unknowns, |i, j| velocities[j][i]);
    let svd = equations.svd().unwrap();
    let independent = rank(&equations);
    velocities * svd.V().subcols(independent, unknowns - independent)
}

#[test]
fn bases_have_the_right_spans() {
    for (seed, barcode) in barcodes().iter().enumerate() {
        let network = sample_stratum(barcode, 100 + seed as u64).unwrap();
        let flow = FlowBases::compute(&network, Tolerance::default()).unwrap();
        let space = TangentSpace::new(&flow);
        let stratum = Stratum::new(barcode.rank_list());
        let parameters = stratum.fiber().parameter_count() as usize;
        let dim = stratum.dimension() as usize;
        let tangents = stack(space.tangents(), parameters);
        let (mu, ranks) = (
            stack(space.normals(NormalKind::Product), parameters),
            stack(space.normals(NormalKind::Rank), parameters),
        );
        let normals = side_by_side(&mu, &ranks);
        assert_eq!((space.dimension(), tangents.ncols(), rank(&tangents)), (dim, dim, dim));
        assert_eq!((normals.ncols(), rank(&normals)), (parameters - dim, parameters - dim));
        assert_eq!(ranks.ncols() as u64, stratum.rank_increasing_degrees_of_freedom());
        assert!((tangents.transpose() * &normals).norm_max() < 1e-9);

        let jacobian = jacobian(&network);
        assert_eq!(parameters - rank(&jacobian), stratum.degrees_of_freedom() as usize);
        assert!((&jacobian * &tangents).norm_max() < 1e-9);
        assert_eq!(rank(&side_by_side(&mu, &jacobian.transpose().to_owned())), rank(&jacobian));
        let raising = stack(space.rank_increasing(), parameters);
        assert!((&jacobian * &raising).norm_max() < 1e-9);
        assert_eq!(rank(&side_by_side(&tangents, &raising)), stratum.degrees_of_freedom() as usize);

        let definition = tangents_by_definition(&network);
        assert_eq!(rank(&definition), dim);
        assert_eq!(rank(&side_by_side(&tangents, &definition)), dim);
        let orthonormal = TangentSpace::orthonormal(space.tangents());
        assert_eq!(orthonormal.cols(), dim);
    }
}
