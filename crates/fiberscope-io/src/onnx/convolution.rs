//! `Conv` and average pooling, written out as matrices.
//!
//! On a value of shape `1 x C x I` (one to three spatial axes) output `o` of an axis reads the inputs
//! `o * stride + k * dilation - begin` for kernel places `k`, as far as these exist. With all shapes
//! known that is a sparse matrix from `C * I` to `M * O` numbers, which the network holds densely.

use std::ops::Range;

use fiberscope_core::{Matrix, Rational};

use super::lower::{Lowering, Site};
use super::proto::Node;
use super::shape;
use crate::FormatError;

/// Axes in front are filled up with size 1.
const AXES: usize = 3;

/// Sizes beyond this are no honest attribute, and products of two of them fit.
const LARGEST: i64 = 1 << 31;

impl<'a> Lowering<'_, 'a> {
    /// A convolution in groups of channels.
    pub(super) fn convolution(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let (kernel_dims, kernel) = self.floats(site, 1)?;
        let channels = self.image_channels(node)?;
        if kernel_dims.len() != self.dims.len() || kernel_dims.contains(&0) {
            let (found, value) = (shape::show(&kernel_dims), shape::show(&self.dims));
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
        let window = Window::new(node, &self.dims[2..], size)?;
        let (inside, outside) = (window.input_size(), window.output_size());
        let mut weight = self.zeros(node, outputs, outside, channels, inside)?;
        let group_outputs = outputs / groups;
        for (at, entries) in kernel.chunks_exact(window.kernel_size()).enumerate() {
            let (output, input) = (at / per_group, at % per_group);
            let channel = output / group_outputs * per_group + input;
            window.each_tap(|o, k, i| weight[(output * outside + o, channel * inside + i)] = entries[k]);
        }
        let dims = [&[1, outputs], window.output_dims()].concat();
        self.multiply(node, weight, dims.clone())?;
        if site.input(2).is_some() {
            let (bias_dims, bias) = self.floats(site, 2)?;
            if bias_dims != [outputs] {
                let found = shape::show(&bias_dims);
                return Err(node.malformed(format!("its bias has shape {found}; expected {outputs}")));
            }
            self.budget.entries(node, outputs, outside)?;
            self.add(node, bias.into_iter().flat_map(|b| std::iter::repeat_n(b, outside)).collect())?;
        }
        Ok(())
    }

    /// `AveragePool` and `GlobalAveragePool`: sums over windows, then division by the window's size.
    pub(super) fn average_pool(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let channels = self.image_channels(node)?;
        let image = self.dims[2..].to_vec();
        let window = if node.operator == "GlobalAveragePool" {
            Window::global(&image)
        } else {
            if node.integer("ceil_mode", 0)? != 0 {
                return Err(node.unsupported("its windows reach over the border (ceil_mode = 1)"));
            }
            let size = node.integers("kernel_shape")?.unwrap_or_default();
            Window::new(node, &image, &sizes(node, "kernel_shape", &size)?)?
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
    fn image_channels(&self, node: &Node) -> Result<usize, FormatError> {
        match self.dims.as_slice() {
            &[1, channels, _, ..] if self.dims.len() <= AXES + 2 => Ok(channels),
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

/// One axis of a sliding window. Every number is at most [`LARGEST`].
#[derive(Clone, Copy)]
struct Axis {
    input: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    begin: usize,
    output: usize,
}

impl Axis {
    const POINT: Axis = Axis { input: 1, kernel: 1, stride: 1, dilation: 1, begin: 0, output: 1 };

    /// The kernel places whose input exists at output `o`.
    fn taps(&self, o: usize) -> Range<usize> {
        let start = o * self.stride;
        let first = self.begin.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.begin + self.input).saturating_sub(start).div_ceil(self.dilation);
        first..end.min(self.kernel)
    }

    fn input(&self, o: usize, k: usize) -> usize {
        o * self.stride + k * self.dilation - self.begin
    }
}

/// The geometry of a sliding window.
struct Window {
    axes: [Axis; AXES],
    output: Vec<usize>,
}

impl Window {
    fn new(node: &Node, image: &[usize], kernel: &[usize]) -> Result<Self, FormatError> {
        let rank = image.len();
        let list = |name: &str, length: usize, default: usize| -> Result<Vec<usize>, FormatError> {
            match node.integers(name)? {
                Some(values) if values.len() == length => sizes(node, name, &values),
                Some(values) => {
                    Err(node.malformed(format!("{name} has {} entries; expected {length}", values.len())))
                }
                None => Ok(vec![default; length]),
            }
        };
        if kernel.len() != rank
            || list("kernel_shape", rank, 0)?.iter().zip(kernel).any(|(&a, &b)| a != 0 && a != b)
        {
            return Err(node.malformed(format!("its kernel does not fit an image of {rank} axes")));
        }
        let (strides, dilations) = (list("strides", rank, 1)?, list("dilations", rank, 1)?);
        let pads = list("pads", 2 * rank, 0)?;
        let padding = match node.attribute("auto_pad")?.map(|attribute| attribute.string()).transpose()? {
            None | Some(b"NOTSET" | b"") => Padding::Given,
            Some(b"VALID") => Padding::None,
            Some(b"SAME_UPPER") => Padding::Same { upper: true },
            Some(b"SAME_LOWER") => Padding::Same { upper: false },
            Some(_) => {
                return Err(node.malformed("auto_pad is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER"));
            }
        };
        let mut axes = [Axis::POINT; AXES];
        for (at, axis) in axes[AXES - rank..].iter_mut().enumerate() {
            let (stride, dilation) = (strides[at], dilations[at]);
            *axis = Axis { input: image[at], kernel: kernel[at], stride, dilation, begin: 0, output: 0 };
            let fits = [image[at], kernel[at], stride, dilation]
                .iter()
                .all(|&size| (1..=LARGEST as usize).contains(&size));
            if !fits || !axis.pad(padding, pads[at], pads[at + rank]) {
                return Err(node.malformed(format!("its kernel, strides or pads do not fit axis {}", at + 1)));
            }
        }
        let output = axes[AXES - rank..].iter().map(|axis| axis.output).collect();
        Ok(Window { axes, output })
    }

    /// One window that is the whole image.
    fn global(image: &[usize]) -> Self {
        let mut axes = [Axis::POINT; AXES];
        for (axis, &input) in axes[AXES - image.len()..].iter_mut().zip(image) {
            (axis.input, axis.kernel) = (input, input);
        }
        Window { axes, output: vec![1; image.len()] }
    }

    fn input_size(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.input))
    }

    fn kernel_size(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.kernel))
    }

    fn output_size(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.output))
    }

    fn output_dims(&self) -> &[usize] {
        &self.output
    }

    /// Calls `each` with output, kernel place and input (all flattened) for everything that is read.
    fn each_tap(&self, mut each: impl FnMut(usize, usize, usize)) {
        let [x, y, z] = &self.axes;
        for (ox, oy, oz) in grid(0..x.output, 0..y.output, 0..z.output) {
            let output = (ox * y.output + oy) * z.output + oz;
            for (kx, ky, kz) in grid(x.taps(ox), y.taps(oy), z.taps(oz)) {
                let place = (kx * y.kernel + ky) * z.kernel + kz;
                let input = (x.input(ox, kx) * y.input + y.input(oy, ky)) * z.input + z.input(oz, kz);
                each(output, place, input);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Padding {
    Given,
    None,
    Same { upper: bool },
}

impl Axis {
    /// Sets the padding and with it the number of outputs; `false` if there is none.
    fn pad(&mut self, padding: Padding, begin: usize, end: usize) -> bool {
        let reach = (self.kernel - 1) * self.dilation + 1;
        let (begin, total) = match padding {
            Padding::Given => (begin, begin + end),
            Padding::None => (0, 0),
            Padding::Same { upper } => {
                let output = self.input.div_ceil(self.stride);
                let total = ((output - 1) * self.stride + reach).saturating_sub(self.input);
                (if upper { total / 2 } else { total.div_ceil(2) }, total)
            }
        };
        self.begin = begin;
        self.output = (self.input + total).checked_sub(reach).map_or(0, |room| room / self.stride + 1);
        self.output > 0
    }
}

fn sizes(node: &Node, name: &str, values: &[i64]) -> Result<Vec<usize>, FormatError> {
    let convert =
        |&value: &i64| match value {
            0..=LARGEST => Ok(value as usize),
            _ => Err(node
                .unsupported(format!("{name} has an entry {value}; expected one between 0 and {LARGEST}"))),
        };
    values.iter().map(convert).collect()
}

fn grid(x: Range<usize>, y: Range<usize>, z: Range<usize>) -> impl Iterator<Item = (usize, usize, usize)> {
    x.flat_map(move |x| {
        let z = z.clone();
        y.clone().flat_map(move |y| z.clone().map(move |z| (x, y, z)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_are_the_places_whose_input_exists() {
        for (input, kernel, stride, dilation, begin, end) in
            [(5, 3, 1, 1, 1, 1), (7, 3, 2, 2, 3, 0), (2, 5, 3, 1, 4, 9), (1, 4, 1, 3, 9, 2)]
        {
            let mut axis = Axis { input, kernel, stride, dilation, begin: 0, output: 0 };
            assert!(axis.pad(Padding::Given, begin, end));
            assert_eq!(axis.output, (input + begin + end - (kernel - 1) * dilation - 1) / stride + 1);
            for o in 0..axis.output {
                let place = |k: usize| (o * stride + k * dilation).checked_sub(begin).filter(|&i| i < input);
                let expected: Vec<_> = (0..kernel).filter_map(|k| place(k).map(|i| (k, i))).collect();
                let found: Vec<_> = axis.taps(o).map(|k| (k, axis.input(o, k))).collect();
                assert_eq!(found, expected, "{input} {kernel} {stride} {dilation} {begin} {end} at {o}");
            }
        }
    }
}
