//! `Conv`, `ConvTranspose` and average pooling, written out as matrices.
//!
//! On a value of shape `1 x C x I` (one to three spatial axes) output `o` of an axis reads the inputs
//! `o * stride + k * dilation - begin` for kernel places `k`, as far as these exist. With all shapes
//! known that is a sparse matrix from `C * I` to `M * O` numbers, which the network stores by its entries.

use fiberscope_core::{Rational, SparseMatrix};

use super::budget::Budget;
use super::lowering::{Lowering, Site};
use super::proto::Node;
use super::shape;
use super::window::{AXES, Window};
use crate::FormatError;

impl<'a> Lowering<'_, 'a> {
    /// A convolution in groups of channels.
    pub(super) fn convolution(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let (kernel_dims, kernel) = self.floats(site, 1)?;
        let channels = self.image_channels(node)?;
        if kernel_dims.len() != self.hand.dims.len() || kernel_dims.contains(&0) {
            let (found, value) = (shape::show(&kernel_dims), shape::show(&self.hand.dims));
            return Err(node.malformed(format!("its kernel has shape {found}, the value before it {value}")));
        }
        let (outputs, per_group, size) = (kernel_dims[0], kernel_dims[1], &kernel_dims[2..]);
        let groups = usize::try_from(node.integer("group", 1)?).ok().filter(|&groups| groups > 0);
        let groups =
            groups.filter(|&g| per_group.checked_mul(g) == Some(channels) && outputs.is_multiple_of(g));
        let Some(groups) = groups else {
            let found = format!("{outputs} outputs with {per_group} of {channels} channels");
            return Err(node.malformed(format!("its kernel ({found}) does not fit its groups")));
        };
        let window = Window::new(node, &self.hand.dims[2..], size)?;
        let (inside, outside) = (window.input_size(), window.output_size());
        let taps = Taps::new(&mut self.budget, node, outside, &window, false)?;
        let entries = outputs.saturating_mul(taps.count().saturating_mul(per_group));
        let mut weight = self.room(node, outputs.saturating_mul(outside), channels * inside, entries)?;
        let size = window.kernel_size();
        let group_outputs = outputs / groups;
        for output in 0..outputs {
            let first = output / group_outputs * per_group;
            for o in 0..outside {
                let row = (0..per_group).flat_map(|input| {
                    let entries = &kernel[(output * per_group + input) * size..];
                    taps.of(o).map(move |(i, k)| ((first + input) * inside + i, entries[k]))
                });
                weight.push_row(row);
            }
        }
        self.multiply_samples(node, weight, &[&[outputs], window.output_dims()].concat())?;
        self.channel_bias(site, outputs, outside)
    }

    /// The transpose of a convolution: input and output of the window change places.
    pub(super) fn transposed_convolution(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let (kernel_dims, kernel) = self.floats(site, 1)?;
        let channels = self.image_channels(node)?;
        let groups = usize::try_from(node.integer("group", 1)?).ok().filter(|&groups| groups > 0);
        let fits = kernel_dims.len() == self.hand.dims.len()
            && !kernel_dims.contains(&0)
            && kernel_dims[0] == channels;
        let groups = groups.filter(|&groups| fits && channels.is_multiple_of(groups));
        let Some(groups) = groups else {
            let (found, value) = (shape::show(&kernel_dims), shape::show(&self.hand.dims));
            return Err(node.malformed(format!("its kernel has shape {found}, the value before it {value}")));
        };
        let (per_group, size) = (kernel_dims[1], &kernel_dims[2..]);
        let outputs = per_group.saturating_mul(groups);
        let window = Window::transposed(node, &self.hand.dims[2..], size)?;
        let (inside, outside) = (window.output_size(), window.input_size());
        let group_inputs = channels / groups;
        let taps = Taps::new(&mut self.budget, node, outside, &window, true)?;
        let entries = outputs.saturating_mul(taps.count().saturating_mul(group_inputs));
        let mut weight = self.room(node, outputs.saturating_mul(outside), channels * inside, entries)?;
        let size = window.kernel_size();
        for output in 0..outputs {
            let (first, within) = (output / per_group * group_inputs, output % per_group);
            for o in 0..outside {
                let row = (first..first + group_inputs).flat_map(|channel| {
                    let entries = &kernel[(channel * per_group + within) * size..];
                    taps.of(o).map(move |(i, k)| (channel * inside + i, entries[k]))
                });
                weight.push_row(row);
            }
        }
        self.multiply_samples(node, weight, &[vec![outputs], window.input_dims()].concat())?;
        self.channel_bias(site, outputs, outside)
    }

    /// The optional bias of a convolution, one number per channel.
    fn channel_bias(&mut self, site: &Site<'a>, outputs: usize, outside: usize) -> Result<(), FormatError> {
        let node = &site.node;
        if site.input(2).is_none() {
            return Ok(());
        }
        let (bias_dims, bias) = self.floats(site, 2)?;
        if bias_dims != [outputs] {
            let found = shape::show(&bias_dims);
            return Err(node.malformed(format!("its bias has shape {found}; expected {outputs}")));
        }
        let samples = self.hand.dims[0];
        self.budget.entries(node, outputs.saturating_mul(samples), outside)?;
        let one: Vec<f64> = bias.into_iter().flat_map(|b| std::iter::repeat_n(b, outside)).collect();
        self.add(node, one.repeat(samples))
    }

    /// `AveragePool` and `GlobalAveragePool`: sums over windows, then division by the window's size.
    pub(super) fn average_pool(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let channels = self.image_channels(node)?;
        let image = self.hand.dims[2..].to_vec();
        let window = match node.operator {
            "GlobalAveragePool" => Window::global(&image),
            _ => Window::pooling(node, &image)?,
        };
        let (inside, outside) = (window.input_size(), window.output_size());
        let taps = Taps::new(&mut self.budget, node, outside, &window, false)?;
        let entries = channels.saturating_mul(taps.count());
        let mut weight = self.room(node, channels.saturating_mul(outside), channels * inside, entries)?;
        for channel in 0..channels {
            for o in 0..outside {
                weight.push_row(taps.of(o).map(|(i, _)| (channel * inside + i, 1.0)));
            }
        }
        let mut counts: Vec<i64> = (0..outside).map(|o| taps.of(o).count() as i64).collect();
        if node.integer("count_include_pad", 0)? != 0 {
            counts = window.places().into_iter().map(|places| places as i64).collect();
        }
        let inverses: Option<Vec<_>> = counts.iter().map(|&count| Rational::from(count).recip()).collect();
        let inverses = inverses.ok_or_else(|| node.malformed("a window lies outside the image"))?;
        self.multiply_samples(node, weight, &[&[channels], window.output_dims()].concat())?;
        let images = channels.saturating_mul(self.hand.dims[0]);
        self.budget.entries(node, images, outside)?;
        let factors: Vec<_> = (0..images).flat_map(|_| inverses.iter().cloned()).collect();
        self.scale(node, &factors)
    }

    /// An empty matrix with room for so many rows and entries, which are paid for.
    fn room(
        &mut self,
        node: &Node,
        rows: usize,
        cols: usize,
        entries: usize,
    ) -> Result<SparseMatrix, FormatError> {
        self.budget.matrix(node, (rows, cols), entries)?;
        Ok(SparseMatrix::with_capacity(cols, rows, entries))
    }

    /// Follows the value at hand, samples of one size, by a matrix that acts on each of them.
    fn multiply_samples(
        &mut self,
        node: &Node,
        weight: SparseMatrix,
        dims: &[usize],
    ) -> Result<(), FormatError> {
        let samples = self.hand.dims[0];
        let dims = [&[samples], dims].concat();
        if samples == 1 {
            return self.multiply(node, weight, dims);
        }
        let (rows, cols) = (weight.rows(), weight.cols());
        let entries = weight.entries().len().saturating_mul(samples);
        let mut all = self.room(node, rows.saturating_mul(samples), cols.saturating_mul(samples), entries)?;
        for (sample, i) in (0..samples).flat_map(|sample| (0..rows).map(move |i| (sample, i))) {
            let (columns, entries) = weight.row(i);
            let columns = columns.iter().map(|&column| sample * cols + column as usize);
            all.push_row(columns.zip(entries.iter().copied()));
        }
        self.multiply(node, all, dims)
    }

    /// The number of channels of a value that is a list of images.
    pub(super) fn image_channels(&self, node: &Node) -> Result<usize, FormatError> {
        match self.hand.dims.as_slice() {
            &[_, channels, _, ..] if self.hand.dims.len() <= AXES + 2 => Ok(channels),
            dims => {
                let expected = format!("expected an input of shape samples x channels x 1 to {AXES} axes");
                Err(node.unsupported(format!("{expected}, found {}", shape::show(dims))))
            }
        }
    }
}

/// For every output of a window the inputs that it reads, increasing, with their places in the kernel.
struct Taps {
    /// Output `o` has those from `ends[o - 1]` to `ends[o]`.
    ends: Vec<usize>,
    taps: Vec<(u32, u32)>,
}

impl Taps {
    /// The taps of a window with so many outputs; of its transpose, inputs and outputs change places.
    fn new(
        budget: &mut Budget,
        node: &Node,
        outputs: usize,
        window: &Window,
        transposed: bool,
    ) -> Result<Self, FormatError> {
        let most = window.output_size().saturating_mul(window.kernel_size());
        budget.entries(node, most.saturating_add(outputs), 3)?;
        let sizes = [window.input_size(), window.output_size(), window.kernel_size()];
        if sizes.iter().any(|&size| u32::try_from(size).is_err()) {
            return Err(node.unsupported("its image or its kernel has 2^32 places or more"));
        }
        let short = |at: usize| at as u32;
        let mut found: Vec<(u32, u32, u32)> = Vec::with_capacity(most);
        window.each_tap(|o, k, i| {
            let (o, i) = if transposed { (i, o) } else { (o, i) };
            found.push((short(o), short(i), short(k)));
        });
        found.sort_unstable();
        let mut ends = vec![0; outputs];
        found.iter().for_each(|&(o, ..)| ends[o as usize] += 1);
        (1..outputs).for_each(|o| ends[o] += ends[o - 1]);
        Ok(Taps { ends, taps: found.into_iter().map(|(_, i, k)| (i, k)).collect() })
    }

    fn count(&self) -> usize {
        self.taps.len()
    }

    fn of(&self, o: usize) -> impl Iterator<Item = (usize, usize)> + Clone + '_ {
        let taps = &self.taps[if o == 0 { 0 } else { self.ends[o - 1] }..self.ends[o]];
        taps.iter().map(|&(i, k)| (i as usize, k as usize))
    }
}
