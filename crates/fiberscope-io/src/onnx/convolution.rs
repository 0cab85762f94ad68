//! `Conv`, `ConvTranspose` and average pooling, written out as matrices.
//!
//! On a value of shape `1 x C x I` (one to three spatial axes) output `o` of an axis reads the inputs
//! `o * stride + k * dilation - begin` for kernel places `k`, as far as these exist. With all shapes
//! known that is a sparse matrix from `C * I` to `M * O` numbers, which the network holds densely.

use fiberscope_core::{Matrix, Rational};

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
        let mut weight = self.zeros(node, outputs, outside, channels, inside)?;
        let group_outputs = outputs / groups;
        for (at, entries) in kernel.chunks_exact(window.kernel_size()).enumerate() {
            let (output, input) = (at / per_group, at % per_group);
            let channel = output / group_outputs * per_group + input;
            window.each_tap(|o, k, i| weight[(output * outside + o, channel * inside + i)] = entries[k]);
        }
        let dims = [&[1, outputs], window.output_dims()].concat();
        self.multiply(node, weight, dims)?;
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
        let mut weight = self.zeros(node, outputs, outside, channels, inside)?;
        let group_inputs = channels / groups;
        for (at, entries) in kernel.chunks_exact(window.kernel_size()).enumerate() {
            let (channel, within) = (at / per_group, at % per_group);
            let output = channel / group_inputs * per_group + within;
            window.each_tap(|i, k, o| weight[(output * outside + o, channel * inside + i)] = entries[k]);
        }
        let dims = [vec![1, outputs], window.input_dims()].concat();
        self.multiply(node, weight, dims)?;
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
        self.budget.entries(node, outputs, outside)?;
        self.add(node, bias.into_iter().flat_map(|b| std::iter::repeat_n(b, outside)).collect())
    }

    /// `AveragePool` and `GlobalAveragePool`: sums over windows, then division by the window's size.
    pub(super) fn average_pool(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let channels = self.image_channels(node)?;
        let image = self.hand.dims[2..].to_vec();
        let window = if node.operator == "GlobalAveragePool" {
            Window::global(&image)
        } else {
            if node.integer("ceil_mode", 0)? != 0 {
                return Err(node.unsupported("its windows reach over the border (ceil_mode = 1)"));
            }
            Window::pooling(node, &image)?
        };
        let (inside, outside) = (window.input_size(), window.output_size());
        let mut weight = self.zeros(node, channels, outside, channels, inside)?;
        let mut counts = vec![0i64; outside];
        window.each_tap(|o, _, i| {
            counts[o] += 1;
            for channel in 0..channels {
                weight[(channel * outside + o, channel * inside + i)] = 1.0;
            }
        });
        if node.integer("count_include_pad", 0)? != 0 {
            let size = i64::try_from(window.kernel_size()).ok().filter(|&size| size < i64::MAX);
            counts.fill(size.ok_or_else(|| node.malformed("its kernel is too large"))?);
        }
        let inverses: Option<Vec<_>> = counts.iter().map(|&count| Rational::from(count).recip()).collect();
        let inverses = inverses.ok_or_else(|| node.malformed("a window lies outside the image"))?;
        let dims = [&[1, channels], window.output_dims()].concat();
        self.multiply(node, weight, dims)?;
        self.budget.entries(node, channels, outside)?;
        let factors: Vec<_> = (0..channels).flat_map(|_| inverses.iter().cloned()).collect();
        self.scale(node, &factors)
    }

    /// The number of channels of a value that is one image.
    pub(super) fn image_channels(&self, node: &Node) -> Result<usize, FormatError> {
        match self.hand.dims.as_slice() {
            &[1, channels, _, ..] if self.hand.dims.len() <= AXES + 2 => Ok(channels),
            dims => {
                let expected = format!("expected an input of shape 1 x channels x 1 to {AXES} axes");
                Err(node.unsupported(format!("{expected}, found {}", shape::show(dims))))
            }
        }
    }

    fn zeros(
        &mut self,
        node: &Node,
        outputs: usize,
        outside: usize,
        inputs: usize,
        inside: usize,
    ) -> Result<Matrix, FormatError> {
        let (rows, cols) = (outputs.saturating_mul(outside), inputs.saturating_mul(inside));
        self.budget.entries(node, rows, cols)?;
        Ok(Matrix::from_fn(rows, cols, |_, _| 0.0))
    }
}
