//! The graph that a network is written as.
//!
//! A dense layer is a `Gemm`. A layer that is stored by its entries is written part by part: with the shapes that
//! the file gave its neurons, every block from a part of the layer before to a part of this one is a convolution
//! ([`kernel::find`]), picks few numbers for each neuron (what is carried past a layer, differences for maxima), or
//! is a matrix after all. Read again, the graph gives the same layers.

use std::ops::Range;

use fiberscope_core::{Activation, Layer, Network, SparseMatrix, Weights};

use super::build::{Attribute, Builder};
use super::kernel::{self, Kernel};
use super::pieces::{Element, Numbers, Piece, bytes, entries, integer, key, text, varint};
use crate::Names;

/// Rows with at most so many entries in a block are written as sums of picked numbers.
const MOST_PICKED: usize = 4;

/// A block of at most so many entries may be written as a matrix, zeros and all, for the sake of its bits.
const LARGEST_WRITTEN_OUT: usize = 1 << 20;

/// The parts of a graph, in order.
pub(super) fn pieces<'n>(network: &'n Network, names: Option<&Names>, element: Element) -> Vec<Piece<'n>> {
    let mut sketch = Sketch { nodes: Builder::default(), constants: Vec::new(), element, count: 0 };
    let labels = layer_names(network, names);
    let flat = vec![network.input_width()];
    let is_image = network.layers()[0].weights().is_sparse();
    let input = names.filter(|_| is_image).map_or(flat, |names| names.input().to_vec());
    let mut before = vec![input.clone()];
    let mut value = Held { name: "input".to_owned(), shape: input.clone() };
    let depth = network.depth();
    for (l, layer) in network.layers().iter().enumerate() {
        let parts: Vec<Vec<usize>> = match names {
            Some(names) => names.layers()[l].iter().map(|part| part.shape.clone()).collect(),
            None => vec![vec![layer.width()]],
        };
        let output = match (l + 1 == depth, layer.activation()) {
            (true, Activation::Identity) => "output".to_owned(),
            _ => format!("{}.affine", labels[l]),
        };
        value = match layer.weights() {
            Weights::Dense(_) => sketch.dense(layer, &labels[l], value, output),
            Weights::Sparse(matrix) => {
                let bends = l == 0 || network.layers()[l - 1].activation() == Activation::Relu;
                let shapes = Shapes { before: &before, parts: &parts, bends };
                sketch.sparse(layer, matrix, &labels[l], value, &shapes, output)
            }
        };
        if layer.activation() == Activation::Relu {
            let name = format!("{}.relu", labels[l]);
            sketch.nodes.node("Relu", &name, &[&value.name], &name, &[]);
            value.name = name;
        }
        before = parts;
    }
    let mut head = sketch.nodes.into_nodes();
    text(&mut head, 2, "network");
    let mut tail = Vec::new();
    bytes(&mut tail, 11, &value_info("input", &input, element));
    bytes(&mut tail, 12, &value_info("output", &value.shape, element));
    let constants = sketch.constants;
    std::iter::once(Piece::bytes(head)).chain(constants).chain([Piece::bytes(tail)]).collect()
}

/// A value of the graph: its name, and its shape without the batch.
struct Held {
    name: String,
    shape: Vec<usize>,
}

impl Held {
    fn is_flat(&self) -> bool {
        self.shape.len() == 1
    }
}

/// The shapes of the parts of two layers.
struct Shapes<'s> {
    before: &'s [Vec<usize>],
    parts: &'s [Vec<usize>],
    /// Whether the layer before is one of ReLUs, or the input. Behind an affine layer, multiples of its numbers would be
    /// folded into it when the file is read, and rounded.
    bends: bool,
}

struct Sketch<'n> {
    nodes: Builder,
    constants: Vec<Piece<'n>>,
    element: Element,
    count: usize,
}

impl<'n> Sketch<'n> {
    fn dense(&mut self, layer: &'n Layer, name: &str, value: Held, output: String) -> Held {
        let value = self.flat(value);
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let (rows, cols) = (layer.width(), layer.input_width());
        self.constant(&weight, &[rows, cols], Numbers::Rows(layer.weights()));
        self.constant(&bias, &[rows], Numbers::List(layer.bias()));
        let inputs = [value.name.as_str(), &weight, &bias];
        self.nodes.node("Gemm", name, &inputs, &output, &[Attribute::Integer("transB", 1)]);
        Held { name: output, shape: vec![rows] }
    }

    fn sparse(
        &mut self,
        layer: &'n Layer,
        matrix: &'n SparseMatrix,
        name: &str,
        value: Held,
        shapes: &Shapes,
        output: String,
    ) -> Held {
        if let ([from], [to]) = (shapes.before, shapes.parts)
            && let Some(bias) = per_channel(layer.bias(), to[0])
        {
            let whole = (0..matrix.rows(), 0..matrix.cols());
            if let Some(kernel) = kernel::find(matrix, whole.clone(), from, to) {
                let value = self.shaped(value, from);
                return self.convolution(name, &value.name, kernel, Some(bias), to, output);
            }
            // Files of TensorFlow have the channels last.
            if let [places @ .., channels] = from.as_slice()
                && let order = channels_first(places.iter().product(), *channels)
                && let first = [&[*channels], places].concat()
                && let Some(kernel) = kernel::find(&matrix.select_columns(&order), whole, &first, to)
            {
                let value = self.shaped(value, from);
                let (turned, rank) = (self.fresh(), from.len() as i64);
                let axes: Vec<i64> = [0, rank].into_iter().chain(1..rank).collect();
                let inputs = [value.name.as_str()];
                self.nodes.node(
                    "Transpose",
                    &turned,
                    &inputs,
                    &turned,
                    &[Attribute::Integers("perm", &axes)],
                );
                return self.convolution(name, &turned, kernel, Some(bias), to, output);
            }
        }
        let value = self.flat(value);
        let columns = ranges(shapes.before);
        let mut slices: Vec<Option<String>> = vec![None; columns.len()];
        let mut made = Vec::with_capacity(shapes.parts.len());
        for (at, rows) in ranges(shapes.parts).into_iter().enumerate() {
            let mut terms: Vec<String> = Vec::new();
            for (from, cols) in columns.iter().enumerate() {
                let most = most_entries(matrix, &rows, cols);
                if most == 0 && (from + 1 < columns.len() || !terms.is_empty()) {
                    continue;
                }
                let own = format!("{name}.{}.{}", at + 1, from + 1);
                let slice = match &slices[from] {
                    Some(slice) => slice.clone(),
                    None if columns.len() == 1 => value.name.clone(),
                    None => self.slice(&value.name, cols),
                };
                slices[from] = Some(slice.clone());
                let block = (rows.clone(), cols.clone());
                let (before, to) = (&shapes.before[from], &shapes.parts[at]);
                let is_small = rows.len().saturating_mul(cols.len()) <= LARGEST_WRITTEN_OUT;
                let picks = most <= MOST_PICKED && (shapes.bends || !is_small || has_powers(matrix, &block));
                terms.push(match kernel::find(matrix, block.clone(), before, to) {
                    Some(kernel) if !picks => {
                        let image = self.shaped(Held { name: slice, shape: vec![cols.len()] }, before);
                        let made = format!("{own}.image");
                        let image = self.convolution(&own, &image.name, kernel, None, to, made);
                        self.flat(image).name
                    }
                    _ if picks => self.picked(matrix, &block, &slice, most.max(1)),
                    _ => self.product(matrix, &block, &own, &slice),
                });
            }
            // The node that makes the whole layer gives its neurons their name.
            made.push(self.sum(terms, (shapes.parts.len() == 1).then_some(name)));
        }
        let value = self.concatenated(made, name);
        let bias = format!("{name}.bias");
        self.constant(&bias, &[layer.width()], Numbers::List(layer.bias()));
        self.nodes.node("Add", &bias, &[&value, &bias], &output, &[]);
        Held { name: output, shape: vec![layer.width()] }
    }

    fn convolution(
        &mut self,
        name: &str,
        value: &str,
        kernel: Kernel,
        bias: Option<Vec<f64>>,
        to: &[usize],
        output: String,
    ) -> Held {
        let (weight, bias_name) = (format!("{name}.weight"), format!("{name}.bias"));
        let size: Vec<i64> = kernel.dims[2..].iter().map(|&size| size as i64).collect();
        self.constant(&weight, &kernel.dims, Numbers::Own(kernel.numbers));
        let mut inputs = vec![value, weight.as_str()];
        if let Some(bias) = bias {
            self.constant(&bias_name, &[to[0]], Numbers::Own(bias));
            inputs.push(&bias_name);
        }
        let attributes = [
            Attribute::Integers("kernel_shape", &size),
            Attribute::Integers("strides", &kernel.strides),
            Attribute::Integers("dilations", &kernel.dilations),
            Attribute::Integers("pads", &kernel.pads),
            Attribute::Integer("group", kernel.groups as i64),
        ];
        self.nodes.node("Conv", name, &inputs, &output, &attributes);
        Held { name: output, shape: to.to_vec() }
    }

    /// Sums of multiples of single numbers, as many for each row.
    fn picked(
        &mut self,
        matrix: &SparseMatrix,
        (rows, cols): &(Range<usize>, Range<usize>),
        value: &str,
        most: usize,
    ) -> String {
        let mut terms = Vec::with_capacity(most);
        for t in 0..most {
            let entry = |i: usize| entries(matrix, i, cols).nth(t).unwrap_or((0, 0.0));
            let places: Vec<i64> = rows.clone().map(|i| entry(i).0 as i64).collect();
            let factors: Vec<f64> = rows.clone().map(|i| entry(i).1).collect();
            let index = self.integers(&[places.len()], &places);
            let picked = self.fresh();
            self.nodes.node("Gather", &picked, &[value, &index], &picked, &[Attribute::Integer("axis", 1)]);
            let mut term = picked;
            if factors.iter().any(|&factor| factor != 1.0) {
                let (scale, scaled) = (self.fresh(), self.fresh());
                self.constant(&scale, &[factors.len()], Numbers::Own(factors));
                self.nodes.node("Mul", &scaled, &[&term, &scale], &scaled, &[]);
                term = scaled;
            }
            terms.push(term);
        }
        self.sum(terms, None)
    }

    /// A matrix, zeros written out.
    fn product(
        &mut self,
        matrix: &'n SparseMatrix,
        (rows, cols): &(Range<usize>, Range<usize>),
        name: &str,
        value: &str,
    ) -> String {
        let numbers = Numbers::Block(matrix, rows.clone(), cols.clone());
        let (weight, made) = (format!("{name}.weight"), self.fresh());
        self.constant(&weight, &[rows.len(), cols.len()], numbers);
        self.nodes.node("Gemm", name, &[value, &weight], &made, &[Attribute::Integer("transB", 1)]);
        made
    }

    fn slice(&mut self, value: &str, cols: &Range<usize>) -> String {
        let ends = [cols.start, cols.end].map(|end| self.integers(&[1], &[end as i64]));
        let (axis, made) = (self.integers(&[1], &[1]), self.fresh());
        self.nodes.node("Slice", &made, &[value, &ends[0], &ends[1], &axis], &made, &[]);
        made
    }

    /// The sum of values; the last node gets a name of its own, if there is one.
    fn sum(&mut self, values: Vec<String>, name: Option<&str>) -> String {
        let mut values = values.into_iter();
        let mut all = values.next().unwrap_or_default();
        while let Some(value) = values.next() {
            let made = self.fresh();
            let name = name.filter(|_| values.len() == 0).unwrap_or(&made);
            self.nodes.node("Add", name, &[&all, &value], &made, &[]);
            all = made;
        }
        all
    }

    fn concatenated(&mut self, values: Vec<String>, name: &str) -> String {
        if let [only] = values.as_slice() {
            return only.clone();
        }
        let made = self.fresh();
        let inputs: Vec<&str> = values.iter().map(String::as_str).collect();
        self.nodes.node("Concat", name, &inputs, &made, &[Attribute::Integer("axis", 1)]);
        made
    }

    /// The value as one row of numbers.
    fn flat(&mut self, value: Held) -> Held {
        if value.is_flat() {
            return value;
        }
        let name = self.fresh();
        self.nodes.node("Flatten", &name, &[&value.name], &name, &[Attribute::Integer("axis", 1)]);
        Held { name, shape: vec![value.shape.iter().product()] }
    }

    /// The value in this shape.
    fn shaped(&mut self, value: Held, shape: &[usize]) -> Held {
        if value.shape == shape {
            return value;
        }
        let target: Vec<i64> = [0].into_iter().chain(shape.iter().map(|&dim| dim as i64)).collect();
        // A leading 0 copies the batch; the value is a row before.
        let value = self.flat(value);
        let (target, name) = (self.integers(&[target.len()], &target), self.fresh());
        self.nodes.node("Reshape", &name, &[&value.name, &target], &name, &[]);
        Held { name, shape: shape.to_vec() }
    }

    fn constant(&mut self, name: &str, dims: &[usize], numbers: Numbers<'n>) {
        self.constants.push(Piece::tensor(name, dims, numbers, self.element));
    }

    /// A constant of integers; its name.
    fn integers(&mut self, dims: &[usize], numbers: &[i64]) -> String {
        const INT64: u64 = 7;
        let name = self.fresh();
        let mut tensor = Vec::new();
        dims.iter().for_each(|&dim| integer(&mut tensor, 1, dim as u64));
        integer(&mut tensor, 2, INT64);
        text(&mut tensor, 8, &name);
        key(&mut tensor, 9, 2);
        varint(&mut tensor, 8 * numbers.len() as u64);
        numbers.iter().for_each(|number| tensor.extend_from_slice(&number.to_le_bytes()));
        let mut head = Vec::new();
        bytes(&mut head, 5, &tensor);
        self.constants.push(Piece::bytes(head));
        name
    }

    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("value{}", self.count)
    }
}

/// The places of parts that stand one behind the other.
fn ranges(parts: &[Vec<usize>]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut range = |part: &Vec<usize>| {
        let own = start..start + part.iter().product::<usize>();
        start = own.end;
        own
    };
    parts.iter().map(&mut range).collect()
}

/// Whether all entries of a block are powers of two, by which numbers are multiplied exactly.
fn has_powers(matrix: &SparseMatrix, (rows, cols): &(Range<usize>, Range<usize>)) -> bool {
    let mantissa = |entry: f64| entry.to_bits() << 12;
    rows.clone().all(|i| entries(matrix, i, cols).all(|(_, entry)| mantissa(entry) == 0))
}

fn most_entries(matrix: &SparseMatrix, rows: &Range<usize>, cols: &Range<usize>) -> usize {
    rows.clone().map(|i| entries(matrix, i, cols).count()).max().unwrap_or(0)
}

/// For every number of an image with its channels first, where it stands with its channels last.
fn channels_first(places: usize, channels: usize) -> Vec<usize> {
    (0..channels).flat_map(|c| (0..places).map(move |place| place * channels + c)).collect()
}

/// One number for each channel, if the numbers of a channel are the same.
fn per_channel(numbers: &[f64], channels: usize) -> Option<Vec<f64>> {
    let size = numbers.len() / channels;
    let one = |own: &[f64]| own.iter().all(|x| x.to_bits() == own[0].to_bits()).then_some(own[0]);
    numbers.chunks(size).map(one).collect()
}

/// A name for every layer, no two the same.
fn layer_names(network: &Network, names: Option<&Names>) -> Vec<String> {
    let numbered = |l: usize| format!("layer{}", l + 1);
    let given: Vec<Option<&str>> =
        (0..network.depth()).map(|l| names.and_then(|names| names.layer(l))).collect();
    let taken = |name: &str| {
        matches!(name, "input" | "output") || name.starts_with("layer") || name.starts_with("value")
    };
    let is_free = |name: &str| given.iter().flatten().filter(|other| **other == name).count() == 1;
    let mut made = Vec::with_capacity(given.len());
    for (l, name) in given.iter().enumerate() {
        made.push(match name {
            // `layer2` may be the number of another layer.
            Some(name) if is_free(name) && (!taken(name) || name.contains('.')) => (*name).to_owned(),
            _ => numbered(l),
        });
    }
    made
}

fn value_info(name: &str, shape: &[usize], element: Element) -> Vec<u8> {
    let mut dims = Vec::new();
    let mut batch = Vec::new();
    text(&mut batch, 2, "batch");
    bytes(&mut dims, 1, &batch);
    for &dim in shape {
        let mut own = Vec::new();
        integer(&mut own, 1, dim as u64);
        bytes(&mut dims, 1, &own);
    }
    let mut tensor = Vec::new();
    integer(&mut tensor, 1, element.data_type);
    bytes(&mut tensor, 2, &dims);
    let mut kind = Vec::new();
    bytes(&mut kind, 1, &tensor);
    let mut info = Vec::new();
    text(&mut info, 1, name);
    bytes(&mut info, 2, &kind);
    info
}
