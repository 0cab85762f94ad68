//! What networks are made of and what is written of them, as frozen objects that `_native.pyi` types.

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

/// The parameters of a layer, and the name of its activation.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Layer {
    pub weight: Py<PyArray2<f64>>,
    pub bias: Py<PyArray1<f64>>,
    pub activation: &'static str,
}

/// A file that was written: its precision, how many parameters were rounded to it, and the largest change.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct Written {
    pub precision: &'static str,
    pub rounded: usize,
    pub largest_change: f64,
}

/// A built-in network.
#[pyclass(frozen, get_all, module = "fiberscope._native")]
pub struct ZooEntry {
    pub name: String,
    pub shows: String,
}
