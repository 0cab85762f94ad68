//! Sliding windows: which input each output reads at which place of the kernel.

use std::ops::Range;

use super::proto::Node;
use crate::FormatError;

/// Axes in front are filled up with size 1.
pub(super) const AXES: usize = 3;

/// Sizes beyond this are no honest attribute, and products of two of them fit.
const LARGEST: i64 = 1 << 31;

/// One axis of a sliding window. Every number is at most [`LARGEST`].
#[derive(Clone, Copy)]
struct Axis {
    input: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    begin: usize,
    end: usize,
    output: usize,
}

impl Axis {
    const POINT: Axis = Axis { input: 1, kernel: 1, stride: 1, dilation: 1, begin: 0, end: 0, output: 1 };

    /// The kernel places whose input exists at output `o`.
    fn taps(&self, o: usize) -> Range<usize> {
        let start = o * self.stride;
        let first = self.begin.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.begin + self.input).saturating_sub(start).div_ceil(self.dilation);
        first..end.min(self.kernel)
    }

    /// How many kernel places lie on the input or its padding at output `o`.
    fn inside(&self, o: usize) -> usize {
        let room = (self.begin + self.input + self.end).saturating_sub(o * self.stride);
        room.div_ceil(self.dilation).min(self.kernel)
    }

    fn input(&self, o: usize, k: usize) -> usize {
        o * self.stride + k * self.dilation - self.begin
    }
}

/// The geometry of a sliding window.
pub(super) struct Window {
    axes: [Axis; AXES],
    output: Vec<usize>,
}

impl Window {
    pub(super) fn new(node: &Node, image: &[usize], kernel: &[usize]) -> Result<Self, FormatError> {
        let rank = image.len();
        let list = |name: &str, length: usize, default: usize| list(node, name, length, default);
        if kernel.len() != rank
            || list("kernel_shape", rank, 0)?.iter().zip(kernel).any(|(&a, &b)| a != 0 && a != b)
        {
            return Err(node.malformed(format!("its kernel does not fit an image of {rank} axes")));
        }
        let (strides, dilations) = (list("strides", rank, 1)?, list("dilations", rank, 1)?);
        let pads = list("pads", 2 * rank, 0)?;
        let padding = padding(node)?;
        let mut axes = [Axis::POINT; AXES];
        for (at, axis) in axes[AXES - rank..].iter_mut().enumerate() {
            let (stride, dilation) = (strides[at], dilations[at]);
            *axis = Axis { input: image[at], kernel: kernel[at], stride, dilation, ..Axis::POINT };
            let fits = [image[at], kernel[at], stride, dilation]
                .iter()
                .all(|&size| (1..=LARGEST as usize).contains(&size));
            if !fits || !axis.pad(padding, pads[at], pads[at + rank]) {
                return Err(node.malformed(format!("its kernel, strides or pads do not fit axis {}", at + 1)));
            }
        }
        if let Padding::Same { upper } = padding {
            let leaves = axes[AXES - rank..].iter().position(|axis| axis.leaves_a_margin(upper));
            if let Some(at) = leaves {
                return Err(node.unsupported(format!(
                    "its windows leave a margin of axis {}, which auto_pad cuts off in onnxruntime and nowhere in ONNX's formulas; give pads instead",
                    at + 1
                )));
            }
        }
        let output = axes[AXES - rank..].iter().map(|axis| axis.output).collect();
        Ok(Window { axes, output })
    }

    /// The windows of `MaxPool` and `AveragePool`.
    pub(super) fn pooling(node: &Node, image: &[usize]) -> Result<Self, FormatError> {
        let size = node.integers("kernel_shape")?.unwrap_or_default();
        let mut window = Window::new(node, image, &sizes(node, "kernel_shape", &size)?)?;
        if matches!(padding(node)?, Padding::Same { .. }) && window.axes.iter().any(|axis| axis.dilation > 1)
        {
            let what = "auto_pad with dilations, which ONNX's formulas and onnxruntime pad differently; give pads instead";
            return Err(node.unsupported(what));
        }
        if node.integer("ceil_mode", 0)? != 0 {
            let given = matches!(padding(node)?, Padding::Given);
            for (at, axis) in window.axes[AXES - image.len()..].iter_mut().enumerate() {
                axis.reach_over();
                // The formulas of ONNX add no window here, onnxruntime does.
                if !given && axis.output != window.output[at] {
                    let what = format!(
                        "its last window along axis {} reaches over the end, which auto_pad leaves open (ceil_mode)",
                        at + 1
                    );
                    return Err(node.unsupported(what));
                }
                window.output[at] = axis.output;
            }
        }
        Ok(window)
    }

    /// The windows of `ConvTranspose`: those of the convolution from its result to `image`. The size of the result may be
    /// given, or be the image's times the stride (`auto_pad`); then what is too much is cut off at both ends.
    pub(super) fn transposed(node: &Node, image: &[usize], kernel: &[usize]) -> Result<Self, FormatError> {
        let rank = image.len();
        let list = |name: &str, length: usize, default: usize| list(node, name, length, default);
        let (strides, dilations) = (list("strides", rank, 1)?, list("dilations", rank, 1)?);
        let (pads, more) = (list("pads", 2 * rank, 0)?, list("output_padding", rank, 0)?);
        let wanted = node.attribute("output_shape")?.map(|_| list("output_shape", rank, 0)).transpose()?;
        let padding = padding(node)?;
        let mut axes = [Axis::POINT; AXES];
        for (at, axis) in axes[AXES - rank..].iter_mut().enumerate() {
            let (stride, dilation, size) = (strides[at], dilations[at], image[at]);
            let wrong = || node.malformed(format!("its kernel, strides or pads do not fit axis {}", at + 1));
            let parts = [size, kernel[at], stride, dilation];
            if !parts.iter().all(|part| (1..=LARGEST as usize).contains(part)) {
                return Err(wrong());
            }
            let whole = stride * (size - 1) + more[at] + (kernel[at] - 1) * dilation + 1;
            let upper = matches!(padding, Padding::Same { upper: true });
            let cut = |size: usize| {
                let total = whole.saturating_sub(size);
                let begin = if upper { total / 2 } else { total.div_ceil(2) };
                (begin, total - begin)
            };
            let (begin, end) = match (&wanted, padding) {
                (Some(wanted), _) => cut(wanted[at]),
                (None, Padding::Same { .. }) => cut(size * stride),
                (None, Padding::None) => (0, 0),
                (None, Padding::Given) => (pads[at], pads[at + rank]),
            };
            let input = whole.checked_sub(begin + end).filter(|&input| input > 0).ok_or_else(wrong)?;
            if let Some(wanted) = wanted.as_ref().filter(|wanted| wanted[at] != input) {
                return Err(node.malformed(format!(
                    "output_shape is {} along axis {}; expected at most {whole}, up to where its windows reach",
                    wanted[at],
                    at + 1
                )));
            }
            *axis = Axis { input, kernel: kernel[at], stride, dilation, begin, end, output: size };
        }
        let output = axes[AXES - rank..].iter().map(|axis| axis.output).collect();
        Ok(Window { axes, output })
    }

    /// One window that is the whole image.
    pub(super) fn global(image: &[usize]) -> Self {
        let mut axes = [Axis::POINT; AXES];
        for (axis, &input) in axes[AXES - image.len()..].iter_mut().zip(image) {
            (axis.input, axis.kernel) = (input, input);
        }
        Window { axes, output: vec![1; image.len()] }
    }

    pub(super) fn input_size(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.input))
    }

    pub(super) fn kernel_size(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.kernel))
    }

    pub(super) fn output_size(&self) -> usize {
        self.axes.iter().fold(1, |product, axis| product.saturating_mul(axis.output))
    }

    /// The size of the input along each axis.
    pub(super) fn input_dims(&self) -> Vec<usize> {
        self.axes[AXES - self.output.len()..].iter().map(|axis| axis.input).collect()
    }

    pub(super) fn output_dims(&self) -> &[usize] {
        &self.output
    }

    /// For every output, how many places of the kernel lie on the image or its padding: all of them, but where
    /// a window reaches over the end.
    pub(super) fn places(&self) -> Vec<usize> {
        let [x, y, z] = &self.axes;
        let outputs = grid(0..x.output, 0..y.output, 0..z.output);
        outputs.map(|(ox, oy, oz)| x.inside(ox) * y.inside(oy) * z.inside(oz)).collect()
    }

    /// Calls `each` with output, kernel place and input (all flattened) for everything that is read.
    pub(super) fn each_tap(&self, mut each: impl FnMut(usize, usize, usize)) {
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

/// What `auto_pad` says.
fn padding(node: &Node) -> Result<Padding, FormatError> {
    Ok(match node.attribute("auto_pad")?.map(|attribute| attribute.string()).transpose()? {
        None | Some(b"NOTSET" | b"") => Padding::Given,
        Some(b"VALID") => Padding::None,
        Some(b"SAME_UPPER") => Padding::Same { upper: true },
        Some(b"SAME_LOWER") => Padding::Same { upper: false },
        Some(_) => return Err(node.malformed("auto_pad is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER")),
    })
}

impl Axis {
    /// Adds a window that reaches over the end, if it begins inside.
    fn reach_over(&mut self) {
        let reach = (self.kernel - 1) * self.dilation + 1;
        let room = (self.input + self.begin + self.end).saturating_sub(reach);
        self.output = room.div_ceil(self.stride) + 1;
        if (self.output - 1) * self.stride >= self.input + self.begin {
            self.output -= 1;
        }
    }

    /// Whether the windows of `SAME` leave so many entries out that onnxruntime, whose padding may be negative, begins behind
    /// the first one.
    fn leaves_a_margin(&self, upper: bool) -> bool {
        let reach = (self.output - 1) * self.stride + (self.kernel - 1) * self.dilation + 1;
        let left = self.input.saturating_sub(reach);
        if upper { left >= 2 } else { left >= 3 }
    }

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
        (self.begin, self.end) = (begin, total - begin);
        self.output = (self.input + total).checked_sub(reach).map_or(0, |room| room / self.stride + 1);
        self.output > 0
    }
}

/// A list of sizes, one for each axis (or end of an axis).
fn list(node: &Node, name: &str, length: usize, default: usize) -> Result<Vec<usize>, FormatError> {
    match node.integers(name)? {
        Some(values) if values.len() == length => sizes(node, name, &values),
        Some(values) => {
            Err(node.malformed(format!("{name} has {} entries; expected {length}", values.len())))
        }
        None => Ok(vec![default; length]),
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
            let mut axis = Axis { input, kernel, stride, dilation, ..Axis::POINT };
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
