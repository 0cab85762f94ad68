//! Networks for Python.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use fiberscope_core::{Activation, Digest, Domain, Layer, Matrix, Network};
use fiberscope_io::{
    Assumed, Model, Names, Normalization, Part, Precision, ReadOptions, domain, json, load, onnx, save_named,
};
use fiberscope_report::reading::HowRead;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raise;
use crate::parts::{self, Written, ZooEntry};

/// The most numbers of a network's layers, zeros included, for questions that write them out.
const LARGEST_DENSE: usize = 1 << 26;

/// A network, what its file said of it, and its name.
#[pyclass(frozen, module = "fiberscope._native")]
pub struct Net {
    /// The network.
    pub network: Arc<Network>,
    /// The precision in which its parameters were stored.
    pub precision: Precision,
    /// What the reader did beyond copying numbers.
    pub notes: Vec<String>,
    /// Its name in results.
    #[pyo3(get)]
    pub name: String,
    /// What was assumed of it, if its file does not say what its layers do.
    pub assumed: Option<Assumed>,
    /// What its file calls the neurons.
    pub names: Option<Names>,
    /// The heads of its file, which are no part of it.
    pub set_aside: Vec<String>,
}

impl Net {
    /// A network that was computed, in double precision, as an object of Python.
    pub fn object(py: Python, network: Network, name: &str) -> PyResult<Py<Self>> {
        Py::new(py, Net::computed(network, name))
    }

    /// A network that was computed, in double precision.
    pub fn computed(network: Network, name: &str) -> Self {
        Net {
            network: Arc::new(network),
            precision: Precision::F64,
            notes: Vec::new(),
            name: name.to_owned(),
            assumed: None,
            names: None,
            set_aside: Vec::new(),
        }
    }

    /// A network that was computed from this one: what was assumed of this one's file, and what was left out, holds for it too.
    pub fn derived(&self, network: Network, name: &str) -> Self {
        let set_aside = self.set_aside.clone();
        Net { assumed: self.assumed, set_aside, ..Net::computed(network, &format!("{}, {name}", self.name)) }
    }

    /// The network, for a question that works on dense layers: one that would be too large so is refused.
    pub fn dense(&self, py: Python) -> PyResult<Arc<Network>> {
        self.network.require_dense(LARGEST_DENSE).map_err(|error| raise(py, &error.into()))?;
        Ok(Arc::clone(&self.network))
    }

    fn read(model: Model, name: String) -> Self {
        let Model { network, precision, notes, assumed, names, set_aside } = model;
        Net { network: Arc::new(network), precision, notes, name, assumed, names, set_aside }
    }

    /// What there is to say about the reading of its file.
    pub fn remarks(&self) -> Vec<String> {
        let mut read = HowRead::default();
        read.add(&self.name, self.assumed, &[]);
        self.notes.iter().cloned().chain(read.text().lines().map(str::to_owned)).collect()
    }
}

#[pymethods]
impl Net {
    /// The network of these layers.
    #[new]
    fn new(
        py: Python,
        layers: Vec<(PyReadonlyArray2<f64>, PyReadonlyArray1<f64>, String)>,
        precision: &str,
        name: String,
    ) -> PyResult<Self> {
        let layer = |(weight, bias, activation): &(PyReadonlyArray2<f64>, PyReadonlyArray1<f64>, String)| {
            let activation = Activation::from_name(activation).ok_or_else(|| {
                anyhow::anyhow!("activation {activation:?}: expected \"relu\" or \"identity\"")
            })?;
            Ok(Layer::new(matrix(weight), bias.as_array().to_vec(), activation))
        };
        let made = layers
            .iter()
            .map(layer)
            .collect::<anyhow::Result<Vec<_>>>()
            .and_then(|layers| Ok(Network::new(layers)?))
            .map_err(|error| raise(py, &error))?;
        Ok(Net { precision: by_name(precision), ..Net::computed(made, &name) })
    }

    /// Reads a file, or `zoo:NAME`.
    #[staticmethod]
    fn load(py: Python, argument: String, reading: Reading) -> PyResult<Self> {
        let options = reading.options();
        let model = py.detach(|| load(&argument, &options)).map_err(|error| raise(py, &error.into()))?;
        Ok(Net::read(model, argument))
    }

    /// Reads the bytes of an ONNX file or of network JSON.
    #[staticmethod]
    fn from_bytes(py: Python, bytes: &[u8], format: &str, name: String, reading: Reading) -> PyResult<Self> {
        let read = if format == "onnx" { onnx::read } else { json::read };
        let options = reading.options();
        let model = py.detach(|| read(bytes, &options)).map_err(|error| raise(py, &error.into()))?;
        Ok(Net::read(model, name))
    }

    /// The same network with another precision, further notes, and what was assumed of it (`None`: nothing).
    fn described(
        &self,
        py: Python,
        precision: &str,
        notes: Vec<String>,
        assumed: Option<(String, bool)>,
    ) -> PyResult<Self> {
        let assumed = assumed.map(|(name, stated)| assumption(&name, stated)).transpose();
        let assumed = assumed.map_err(|error| raise(py, &error))?;
        Ok(Net {
            network: Arc::clone(&self.network),
            precision: by_name(precision),
            notes: self.notes.iter().cloned().chain(notes).collect(),
            name: self.name.clone(),
            assumed,
            names: self.names.clone(),
            set_aside: self.set_aside.clone(),
        })
    }

    /// What is known of the network beside its parameters.
    fn state(&self) -> State {
        State {
            precision: self.precision.name().to_owned(),
            name: self.name.clone(),
            notes: self.notes.clone(),
            assumed: self.assumed().map(|(activation, stated)| (activation.to_owned(), stated)),
            names: self.layer_names().zip(self.names.as_ref().map(|names| names.input().to_vec())),
            set_aside: self.set_aside.clone(),
        }
    }

    /// The network of this JSON, with what was known of it.
    #[staticmethod]
    fn restored(py: Python, text: &[u8], state: State) -> PyResult<Self> {
        let read = || {
            let network = json::read(text, &ReadOptions::default())?.network;
            let State { precision, name, notes, assumed, names, set_aside } = state;
            let assumed = assumed.map(|(name, stated)| assumption(&name, stated)).transpose()?;
            let names = names.and_then(|(layers, input)| Names::listed(layers, &input, &network.widths()));
            let precision = by_name(&precision);
            anyhow::Ok(Net { network: Arc::new(network), precision, notes, name, assumed, names, set_aside })
        };
        read().map_err(|error| raise(py, &error))
    }

    /// The network as JSON.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        py.detach(|| json::write(&self.network, &mut bytes))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a file.
    fn save(&self, py: Python, path: PathBuf, precision: Option<&str>) -> PyResult<Written> {
        let precision = precision.map_or(self.precision.max(Precision::F32), by_name);
        let names = self.names.as_ref();
        let written = py
            .detach(|| save_named(&self.network, names, &path, precision))
            .map_err(|error| raise(py, &error.into()))?;
        let (rounded, largest_change) =
            written.loss.map_or((0, 0.0), |loss| (loss.changed, loss.largest_change));
        Ok(Written { precision: written.precision.name(), rounded, largest_change })
    }

    /// The layers as arrays, zeros included.
    fn layers(&self, py: Python) -> PyResult<Vec<parts::Layer>> {
        self.dense(py)?;
        let arrays = |layer: &Layer| {
            let weight = layer.weights().to_dense();
            let array = weight.entries().to_vec().into_pyarray(py).reshape([weight.rows(), weight.cols()]);
            parts::Layer {
                weight: array.expect("a matrix fills its shape").unbind(),
                bias: layer.bias().to_vec().into_pyarray(py).unbind(),
                activation: layer.activation().name(),
            }
        };
        Ok(self.network.layers().iter().map(arrays).collect())
    }

    /// The biases.
    fn biases<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<f64>>> {
        self.network.layers().iter().map(|layer| layer.bias().to_vec().into_pyarray(py)).collect()
    }

    /// The names of the activations.
    fn activations(&self) -> Vec<&'static str> {
        self.network.layers().iter().map(|layer| layer.activation().name()).collect()
    }

    /// The entries of the weights that are not zero, layer by layer: where each row ends, the columns, the numbers.
    #[allow(clippy::type_complexity, reason = "three arrays of one layer")]
    fn entries<'py>(
        &self,
        py: Python<'py>,
    ) -> Vec<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)> {
        let arrays = |layer: &Layer| {
            let (mut starts, mut columns, mut numbers) = (vec![0], Vec::new(), Vec::new());
            for row in layer.weights().iter_rows() {
                for (column, &number) in row {
                    columns.push(column as i64);
                    numbers.push(number);
                }
                starts.push(columns.len() as i64);
            }
            (starts.into_pyarray(py), columns.into_pyarray(py), numbers.into_pyarray(py))
        };
        self.network.layers().iter().map(arrays).collect()
    }

    /// `f` at every row.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = points.shape()[0];
        let entries = points.as_slice()?;
        let values =
            py.detach(|| self.network.evaluate_rows(entries)).map_err(|error| raise(py, &error.into()))?;
        values.into_pyarray(py).reshape([rows, self.network.output_width()])
    }

    /// The heads of its file, which are no part of it.
    #[getter]
    fn set_aside(&self) -> Vec<String> {
        self.set_aside.clone()
    }

    /// The widths, inputs first.
    #[getter]
    fn widths(&self) -> Vec<usize> {
        self.network.widths()
    }

    /// The number of parameters.
    #[getter]
    fn parameter_count(&self) -> usize {
        self.network.parameter_count()
    }

    /// The precision in which the parameters were stored.
    #[getter]
    fn precision(&self) -> &'static str {
        self.precision.name()
    }

    /// What the reader did beyond copying numbers, and what it assumed.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.remarks()
    }

    /// What the hidden layers were taken to do, and whether that was stated, if the file does not say it.
    #[getter]
    fn assumed(&self) -> Option<(&'static str, bool)> {
        self.assumed.map(|assumed| (assumed.activation.name(), assumed.stated))
    }

    /// What the file calls the neurons of every layer: names, shapes.
    #[getter]
    fn layer_names(&self) -> Option<Vec<Vec<NamedPart>>> {
        let part = |part: &Part| (part.name.as_deref().map(str::to_owned), part.shape.clone());
        let layer = |parts: &Vec<Part>| parts.iter().map(part).collect();
        self.names.as_ref().map(|names| names.layers().iter().map(layer).collect())
    }

    /// What the file calls a neuron, both counted from 0.
    fn neuron_name(&self, layer: usize, unit: usize) -> Option<String> {
        self.names.as_ref().and_then(|names| names.neuron(layer, unit))
    }

    /// The SHA-256 digest that certificates name the network by.
    #[getter]
    fn sha256(&self) -> String {
        Digest::of(&self.network).to_string()
    }
}

/// The name of neurons that belong together, and their shape.
type NamedPart = (Option<String>, Vec<usize>);

/// What is known of a network beside its parameters: what a pickle keeps.
#[derive(FromPyObject, IntoPyObject)]
pub struct State {
    #[pyo3(item)]
    precision: String,
    #[pyo3(item)]
    name: String,
    #[pyo3(item)]
    notes: Vec<String>,
    #[pyo3(item)]
    assumed: Option<(String, bool)>,
    /// The names of all layers, and the shape of the input.
    #[pyo3(item)]
    names: Option<(Vec<Vec<NamedPart>>, Vec<usize>)>,
    #[pyo3(item)]
    set_aside: Vec<String>,
}

fn assumption(name: &str, stated: bool) -> anyhow::Result<Assumed> {
    let activation = Activation::from_name(name).with_context(|| format!("activation {name:?}"))?;
    Ok(Assumed { activation, stated })
}

/// How a file is read.
#[derive(FromPyObject)]
pub struct Reading {
    fold: bool,
    activation: Option<String>,
    output: Option<String>,
    shapes: Vec<(String, Vec<usize>)>,
}

impl Reading {
    fn options(self) -> ReadOptions {
        let normalization = if self.fold { Normalization::Fold } else { Normalization::Ignore };
        let activation = self.activation.as_deref().and_then(Activation::from_name);
        let Reading { output, shapes, .. } = self;
        ReadOptions { normalization, activation, output, shapes, ..ReadOptions::default() }
    }
}

/// What was assumed of networks and which heads are no part of them: the lines that stand behind every answer about
/// them, and its keys `assumed_activation` and `set_aside` as JSON, if there are any.
#[pyfunction]
pub fn how_read(nets: Vec<PyRef<Net>>) -> Option<(String, String)> {
    let mut read = HowRead::default();
    for net in &nets {
        read.add(&net.name, net.assumed, &net.set_aside);
    }
    let mut value = serde_json::json!({});
    read.add_to(&mut value);
    let text = read.text();
    (!text.is_empty()).then(|| (text, value.to_string()))
}

/// The built-in networks.
#[pyfunction]
pub fn zoo() -> Vec<ZooEntry> {
    let entries = fiberscope_io::zoo::entries();
    entries
        .into_iter()
        .map(|entry| ZooEntry { name: entry.name.to_string(), shows: entry.shows.to_string() })
        .collect()
}

/// The points of a data file.
#[pyfunction]
pub fn load_data<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let data = py.detach(|| fiberscope_io::load_data(&path)).map_err(|error| raise(py, &error.into()))?;
    let shape = [data.points.rows(), data.points.cols()];
    data.points.into_entries().into_pyarray(py).reshape(shape)
}

/// An array as a matrix.
pub fn matrix(array: &PyReadonlyArray2<f64>) -> Matrix {
    let view = array.as_array();
    let (rows, cols) = view.dim();
    Matrix::from_entries(rows, cols, view.iter().copied().collect()).expect("an array fills its shape")
}

/// A box.
#[derive(FromPyObject)]
pub enum Place {
    /// `LO,HI` or the name of a file.
    #[pyo3(transparent)]
    Named(String),
    /// One pair for every input.
    #[pyo3(transparent)]
    Pair((f64, f64)),
    /// One pair per input.
    #[pyo3(transparent)]
    Sides(Vec<(f64, f64)>),
}

/// The domain of a network's inputs that a place names.
pub fn read_domain(place: Option<Place>, inputs: usize) -> anyhow::Result<Domain> {
    let bounds = match place {
        None => return Ok(Domain::Space),
        Some(Place::Named(text)) => domain::parse_box(&text, inputs)?.bounds,
        Some(Place::Pair(pair)) => vec![pair; inputs],
        Some(Place::Sides(sides)) => sides,
    };
    let domain = Domain::from_bounds(&bounds).context("box: expected finite numbers")?;
    domain.check(inputs)?;
    Ok(domain)
}

fn by_name(name: &str) -> Precision {
    let all = [Precision::Bf16, Precision::F16, Precision::F32];
    all.into_iter().find(|precision| precision.name() == name).unwrap_or(Precision::F64)
}
