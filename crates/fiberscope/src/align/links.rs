//! How the products of one class of channels depend on the places of another one.

use std::ops::Range;

use fiberscope_core::{Layer, Matrix};

/// What becomes of the products of a class when channels of another one change.
pub(super) enum Link {
    /// Nothing.
    None,
    /// They have to be computed again.
    All,
    /// Those of a part of the numbers change, which are these for `A` and were these for `B`.
    Part { place: Place, a: Matrix, old: Matrix },
}

/// The weights between the neurons of a class and the moved ones of another class: columns of its rows (`incoming`), or
/// rows of its columns.
pub(super) struct Place {
    pub(super) layer: usize,
    pub(super) moved: Vec<usize>,
    pub(super) own: Range<usize>,
    pub(super) incoming: bool,
}

impl Place {
    /// These weights: a row per own neuron if they are incoming, and a column otherwise.
    pub(super) fn part(&self, matrix: &Matrix) -> Matrix {
        let Place { moved, own, incoming, .. } = self;
        let mut entries = Vec::with_capacity(moved.len() * own.len());
        if *incoming {
            own.clone().for_each(|row| {
                let row = matrix.row(row);
                entries.extend(moved.iter().map(|&column| row[column]));
            });
            Matrix::from_entries(own.len(), moved.len(), entries).expect("a row per own neuron")
        } else {
            moved.iter().for_each(|&row| entries.extend_from_slice(&matrix.row(row)[own.clone()]));
            Matrix::from_entries(moved.len(), own.len(), entries).expect("a row per moved neuron")
        }
    }
}

/// Changes a layer without a copy.
pub(super) fn change(layer: &mut Layer, with: impl FnOnce(Layer) -> Layer) {
    let nothing = Layer::new(Matrix::from_fn(0, 0, |_, _| 0.0), Vec::new(), layer.activation());
    *layer = with(std::mem::replace(layer, nothing));
}
