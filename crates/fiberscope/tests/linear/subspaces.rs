//! The subspaces against their definition over a prime field: null spaces, intersections and images computed
//! by elimination modulo a prime, for networks of small integers.

use fiberscope::core::Matrix;
use fiberscope::linear::{
    Family, FlowBases, LinearNetwork, Neighbourhood, Subspaces, Tolerance, sample_integer,
};

use super::{barcodes, data, network};

const P: i64 = 2_147_483_647;

/// Rows over the field of `P` elements.
type Rows = Vec<Vec<i64>>;

fn power(mut base: i64, mut exponent: i64) -> i64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % P;
        }
        base = base * base % P;
        exponent >>= 1;
    }
    result
}

/// The reduced echelon form without zero rows, and the pivots.
fn echelon(mut rows: Rows) -> (Rows, Vec<usize>) {
    let width = rows.first().map_or(0, Vec::len);
    let (mut rank, mut pivots) = (0, Vec::new());
    for column in 0..width {
        let Some(found) = (rank..rows.len()).find(|&r| rows[r][column] != 0) else { continue };
        rows.swap(rank, found);
        let inverse = power(rows[rank][column], P - 2);
        rows[rank].iter_mut().for_each(|x| *x = *x * inverse % P);
        let pivot = rows[rank].clone();
        for (r, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if r != rank && factor != 0 {
                row.iter_mut().zip(&pivot).for_each(|(x, p)| *x = (*x - factor * p % P + P) % P);
            }
        }
        pivots.push(column);
        rank += 1;
    }
    rows.truncate(rank);
    (rows, pivots)
}

fn rank(rows: &Rows) -> usize {
    echelon(rows.clone()).1.len()
}

/// A basis of the vectors `v` with `rows v = 0`.
fn null(rows: &Rows, width: usize) -> Rows {
    let (reduced, pivots) = echelon(rows.clone());
    let free = (0..width).filter(|c| !pivots.contains(c));
    let vector = |free: usize| {
        let mut v = vec![0; width];
        v[free] = 1;
        reduced.iter().zip(&pivots).for_each(|(row, &p)| v[p] = (P - row[free]) % P);
        v
    };
    free.map(vector).collect()
}

fn transpose(rows: &Rows, width: usize) -> Rows {
    (0..width).map(|c| rows.iter().map(|row| row[c]).collect()).collect()
}

/// The images of vectors under a matrix given by its rows.
fn map(rows: &Rows, vectors: &Rows) -> Rows {
    let dot = |a: &[i64], b: &[i64]| a.iter().zip(b).fold(0, |sum, (x, y)| (sum + x * y % P) % P);
    vectors.iter().map(|v| rows.iter().map(|row| dot(row, v)).collect()).collect()
}

/// A basis of the intersection of two spans.
fn intersection(u: &Rows, v: &Rows, width: usize) -> Rows {
    if u.is_empty() || v.is_empty() {
        return Vec::new();
    }
    // u^T x = v^T y: the null space of the columns (u, -v).
    let columns: Rows =
        u.iter().cloned().chain(v.iter().map(|w| w.iter().map(|x| (P - x) % P).collect())).collect();
    let relations = null(&transpose(&columns, width), columns.len());
    let combine = |relation: Vec<i64>| {
        let mut sum = vec![0; width];
        for (factor, vector) in relation.iter().zip(u) {
            sum.iter_mut().zip(vector).for_each(|(s, x)| *s = (*s + factor * x % P) % P);
        }
        sum
    };
    echelon(relations.into_iter().map(combine).collect()).0
}

fn same_span(u: &Rows, v: &Rows) -> bool {
    let both: Rows = u.iter().chain(v).cloned().collect();
    rank(u) == rank(v) && rank(&both) == rank(u)
}

/// The matrices over the field, and `W_{k~i}` by its rows.
struct Modular {
    widths: Vec<usize>,
    weights: Vec<Rows>,
}

impl Modular {
    fn new(network: &LinearNetwork) -> Self {
        let row = |row: &[f64]| row.iter().map(|&x| (x as i64).rem_euclid(P)).collect();
        let weights = network.weights().iter().map(|w| w.iter_rows().map(row).collect()).collect();
        Modular { widths: network.widths(), weights }
    }

    fn depth(&self) -> usize {
        self.weights.len()
    }

    fn identity(&self, layer: usize) -> Rows {
        let width = self.widths[layer];
        (0..width).map(|r| (0..width).map(|c| i64::from(r == c)).collect()).collect()
    }

    fn product(&self, k: usize, i: usize) -> Rows {
        let mut columns = self.identity(i);
        for weight in &self.weights[i..k] {
            columns = map(weight, &columns);
        }
        transpose(&columns, self.widths[k])
    }

    /// `A_kji` for `L >= k >= j - 1`, `j >= i`, from its definition.
    fn forward(&self, k: usize, j: usize, i: usize) -> Rows {
        let columns = echelon(transpose(&self.product(j, i), self.widths[i])).0;
        if k == self.depth() { columns } else { intersection(&self.null(k + 1, j), &columns, self.widths[j]) }
    }

    fn null(&self, k: usize, j: usize) -> Rows {
        null(&self.product(k, j), self.widths[j])
    }

    /// `B_kji` for `L >= k >= j >= i - 1`, from its definition.
    fn backward(&self, k: usize, j: usize, i: usize) -> Rows {
        let rows = echelon(self.product(k, j)).0;
        if i == 0 {
            return rows;
        }
        let null = null(&transpose(&self.product(j, i - 1), self.widths[i - 1]), self.widths[j]);
        intersection(&rows, &null, self.widths[j])
    }
}

fn integer_networks() -> Vec<LinearNetwork> {
    let golden = data()["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| network(&point["weights"]))
        .collect::<Vec<_>>();
    assert!(golden.len() > 5);
    let sampled = barcodes().into_iter().step_by(3).map(|barcode| sample_integer(&barcode, 5).unwrap());
    golden.into_iter().chain(sampled).collect()
}

#[test]
fn subspaces_have_the_dimensions_of_their_definition() {
    let mut seen = 0;
    for network in integer_networks() {
        let exact = Modular::new(&network);
        let flow = FlowBases::compute(&network, Tolerance::default()).unwrap();
        let subspaces = Subspaces::new(&flow);
        for (k, j, i) in subspaces.indices() {
            let [a, b] = [exact.forward(k, j, i), exact.backward(k, j, i)].map(|space| rank(&space));
            assert_eq!(
                subspaces.dimension(Family::Forward, k, j, i),
                a,
                "A_{k}{j}{i} of {:?}",
                network.widths()
            );
            assert_eq!(
                subspaces.dimension(Family::Backward, k, j, i),
                b,
                "B_{k}{j}{i} of {:?}",
                network.widths()
            );
            for family in [Family::Forward, Family::Backward] {
                let standard = subspaces.standard_prebasis(family, k, j, i);
                let flowing = subspaces.flow_prebasis(family, k, j, i);
                assert_eq!(
                    (standard.cols(), flowing.cols()),
                    (subspaces.multiplicity(k, i), subspaces.multiplicity(k, i))
                );
            }
            // What is new in a cell is what neither smaller cell has.
            let smaller: Rows = [
                if k > j { exact.forward(k - 1, j, i) } else { Vec::new() },
                if i > 0 { exact.forward(k, j, i - 1) } else { Vec::new() },
            ]
            .concat();
            assert_eq!(a - rank(&smaller), subspaces.multiplicity(k, i), "a_{k}{j}{i}");
            seen += 1;
        }
        let defects = subspaces.defects(&network).unwrap();
        assert!(defects.definition < 1e-8 && defects.lemma < 1e-8, "{defects:?}");
    }
    assert!(seen > 400, "{seen}");
}

#[test]
fn lemma_1_holds_on_its_whole_range() {
    let mut instances = 0;
    for network in integer_networks() {
        let exact = Modular::new(&network);
        let depth = exact.depth();
        for k in 0..=depth {
            for j in 0..=(k + 1).min(depth) {
                for x in 0..=j {
                    for i in 0..=x {
                        let image = map(&exact.product(j, x), &exact.forward(k, x, i));
                        assert!(same_span(&exact.forward(k, j, i), &image), "A_{k}{j}{i} from {x}");
                        instances += 1;
                    }
                }
            }
            for y in 0..=k {
                for j in 0..=y {
                    for i in 0..=j + 1 {
                        let transposed = transpose(&exact.product(y, j), exact.widths[j]);
                        let image = map(&transposed, &exact.backward(k, y, i));
                        assert!(same_span(&exact.backward(k, j, i), &image), "B_{k}{j}{i} from {y}");
                        instances += 1;
                    }
                }
            }
        }
    }
    assert!(instances > 1000, "{instances}");
}

/// The flow bases of one network do not satisfy Lemma 1 for another one.
#[test]
fn defects_see_a_wrong_network() {
    let weights = |entry: f64| {
        let first = Matrix::from_rows(&[[1.0, 0.0], [0.0, entry]]).unwrap();
        LinearNetwork::from_weights(vec![first, Matrix::from_rows(&[[1.0, 0.0]]).unwrap()]).unwrap()
    };
    let flow = FlowBases::compute(&weights(0.0), Tolerance::default()).unwrap();
    let defects = Subspaces::new(&flow).defects(&weights(1.0)).unwrap();
    assert!(defects.lemma > 0.1 && defects.definition > 0.1, "{defects:?}");
}

#[test]
fn distances_to_smaller_ranks_enclose_the_true_ones() {
    let tolerance = Tolerance::default();
    let row = |x: f64, y: f64| Matrix::from_rows(&[[x, y]]).unwrap();
    let column = |x: f64, y: f64| Matrix::from_rows(&[[x], [y]]).unwrap();
    let gap = |weights: Vec<Matrix>, k: usize| {
        let around = Neighbourhood::of(&LinearNetwork::from_weights(weights).unwrap(), tolerance).unwrap();
        assert!(around.offset < 1e-12);
        *around.gaps.iter().find(|gap| (gap.k, gap.i) == (k, 0)).unwrap()
    };
    // A vector through one number: the product vanishes where one of the two does.
    let found = gap(vec![row(3.0, 4.0), Matrix::from_rows(&[[0.5]]).unwrap()], 2);
    assert!(found.lower > 0.0 && found.lower <= 0.5 && (found.upper - 0.5).abs() < 1e-12, "{found:?}");
    // An inner product a.b: with u = (a + b) / sqrt 2 and v = (a - b) / sqrt 2 it vanishes where |u| = |v|.
    for (a, b) in [((1.0, 0.2), (0.7, 0.1)), ((2.0, -1.0), (0.3, 0.4)), ((0.1, 0.0), (5.0, 3.0))] {
        let size = |sign: f64| f64::hypot(a.0 + sign * b.0, a.1 + sign * b.1) / 2f64.sqrt();
        let distance = (size(1.0) - size(-1.0)).abs() / 2f64.sqrt();
        let found = gap(vec![column(a.0, a.1), row(b.0, b.1)], 2);
        assert!(found.lower <= distance + 1e-12 && distance <= found.upper + 1e-12, "{found:?} {distance}");
        assert!(found.upper < 3.0 * distance, "{found:?} {distance}");
    }
    // One matrix: the smaller singular value, from trace and determinant of the Gram matrix.
    let matrix = Matrix::from_rows(&[[2.0, 1.0], [0.5, -1.5]]).unwrap();
    let (trace, determinant) = (4.0 + 1.0 + 0.25 + 2.25, (-3.0f64 - 0.5).powi(2));
    let least = ((trace - f64::sqrt(trace * trace - 4.0 * determinant)) / 2.0).sqrt();
    let found = gap(vec![matrix], 1);
    assert!((found.lower - least).abs() < 1e-12 && (found.upper - least).abs() < 1e-12, "{found:?} {least}");
}
