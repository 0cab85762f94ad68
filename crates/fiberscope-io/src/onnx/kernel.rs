//! Convolutions found again in the matrices that they became.
//!
//! A block of a matrix from an image of `C x I` numbers to one of `M x O` is a convolution if every row has the
//! entries of one kernel at its place. Stride, padding and dilation are guessed from the first and the last number
//! that each place reads; then every entry, and every zero, is held against the kernel. What passes is the
//! convolution bit for bit, and what does not is none: a wrong guess costs nothing but the name.

use std::ops::Range;

use fiberscope_core::SparseMatrix;

use super::pieces::entries;
use super::window::AXES;

/// A convolution: the shape of its kernel (outputs, channels of a group, sizes) and its numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Kernel {
    pub(super) dims: Vec<usize>,
    pub(super) numbers: Vec<f64>,
    pub(super) strides: Vec<i64>,
    pub(super) dilations: Vec<i64>,
    /// The padding before each axis, then behind each.
    pub(super) pads: Vec<i64>,
    pub(super) groups: usize,
}

/// Kernels larger than this for each entry of the block are no saving.
const LARGEST_KERNEL: usize = 1 << 24;

/// The convolution that a block of a matrix is, from an image of shape `from` to one of shape `to` (channels first).
pub(super) fn find(
    matrix: &SparseMatrix,
    (rows, cols): (Range<usize>, Range<usize>),
    from: &[usize],
    to: &[usize],
) -> Option<Kernel> {
    let rank =
        from.len().checked_sub(1).filter(|&rank| (1..=AXES).contains(&rank) && to.len() == rank + 1)?;
    let block = Block { matrix, rows, cols, from: Image::new(from), to: Image::new(to) };
    let mut axes = [Axis::POINT; AXES];
    let spans = block.spans()?;
    for (t, axis) in axes.iter_mut().enumerate() {
        *axis = Axis::guess(&spans[t], block.from.sizes[t])?;
    }
    let kernel = block.kernel(&axes)?;
    let (kernel, axes) = dilated(kernel, axes);
    let own = &axes[AXES - rank..];
    let (channels, outputs) = (from[0], to[0]);
    let size: usize = axes.iter().map(|axis| axis.kernel).product();
    let groups = groups(&kernel, outputs, channels, size);
    let (per_group, group_outputs) = (channels / groups, outputs / groups);
    let mut numbers = Vec::with_capacity(kernel.len() / groups);
    for m in 0..outputs {
        let first = (m * channels + m / group_outputs * per_group) * size;
        numbers.extend_from_slice(&kernel[first..first + per_group * size]);
    }
    let dims = [&[outputs, per_group][..], &own.iter().map(|axis| axis.kernel).collect::<Vec<_>>()].concat();
    let list = |f: fn(&Axis) -> i64| own.iter().map(f).collect::<Vec<_>>();
    Some(Kernel {
        dims,
        numbers,
        strides: list(|axis| axis.stride as i64),
        dilations: list(|axis| axis.dilation as i64),
        pads: [list(|axis| axis.begin as i64), list(|axis| axis.end as i64)].concat(),
        groups,
    })
}

/// Channels, and the sizes of three axes, those in front filled up with 1.
struct Image {
    sizes: [usize; AXES],
}

impl Image {
    fn new(shape: &[usize]) -> Self {
        let mut sizes = [1; AXES];
        sizes[AXES + 1 - shape.len()..].copy_from_slice(&shape[1..]);
        Image { sizes }
    }

    /// The channel of a number, and its place.
    fn place(&self, at: usize) -> (usize, [usize; AXES]) {
        let [_, y, z] = self.sizes;
        let (rest, k) = (at / z, at % z);
        let (rest, j) = (rest / y, rest % y);
        (rest / self.sizes[0], [rest % self.sizes[0], j, k])
    }
}

/// What the outputs at one place of an axis read of it: the first and the last input, if any.
type Span = Option<(usize, usize)>;

struct Block<'a> {
    matrix: &'a SparseMatrix,
    rows: Range<usize>,
    cols: Range<usize>,
    from: Image,
    to: Image,
}

impl Block<'_> {
    /// The entries of a row inside the block: columns, counted from its first, and numbers.
    fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        entries(self.matrix, i, &self.cols)
    }

    /// For every axis the spans of its outputs.
    fn spans(&self) -> Option<[Vec<Span>; AXES]> {
        let mut spans = self.to.sizes.map(|size| vec![None; size]);
        for (at, i) in self.rows.clone().enumerate() {
            let (_, output) = self.to.place(at);
            for (column, _) in self.row(i) {
                let (_, input) = self.from.place(column);
                for (spans, (&o, &i)) in spans.iter_mut().zip(output.iter().zip(&input)) {
                    let span: &mut Span = &mut spans[o];
                    let (low, high) = span.unwrap_or((i, i));
                    *span = Some((low.min(i), high.max(i)));
                }
            }
        }
        spans.iter().all(|spans| spans.iter().any(Option::is_some)).then_some(spans)
    }

    /// The numbers of the kernel (outputs x channels x places), if all entries and zeros are its.
    fn kernel(&self, axes: &[Axis; AXES]) -> Option<Vec<f64>> {
        let size: usize = axes.iter().map(|axis| axis.kernel).product();
        let per_image = |image: &Image| image.sizes.iter().product::<usize>();
        let (inside, outside) = (per_image(&self.from), per_image(&self.to));
        let (channels, outputs) = (self.cols.len() / inside, self.rows.len() / outside);
        let length = outputs.checked_mul(channels)?.checked_mul(size).filter(|&n| n <= LARGEST_KERNEL)?;
        let mut kernel: Vec<Option<f64>> = vec![None; length];
        for (at, i) in self.rows.clone().enumerate() {
            let (output, place) = self.to.place(at);
            for (column, entry) in self.row(i) {
                let (channel, input) = self.from.place(column);
                let mut k = 0;
                for (axis, (&o, &i)) in axes.iter().zip(place.iter().zip(&input)) {
                    k = k * axis.kernel + axis.tap(o, i)?;
                }
                let own = &mut kernel[(output * channels + channel) * size + k];
                if own.is_some_and(|own| own.to_bits() != entry.to_bits()) {
                    return None;
                }
                *own = Some(entry);
            }
        }
        // As many entries in every row as the kernel has inside the image: no zero is missing.
        let filled: Vec<usize> = (0..outputs * size)
            .map(|at| {
                let (m, k) = (at / size, at % size);
                (0..channels).filter(|c| kernel[(m * channels + c) * size + k].is_some()).count()
            })
            .collect();
        for (at, i) in self.rows.clone().enumerate() {
            let (output, place) = self.to.place(at);
            let taps = (0..size).filter(|&k| {
                let [y, z] = [axes[1].kernel, axes[2].kernel];
                let taps = [k / z / y, k / z % y, k % z];
                (0..AXES).all(|t| axes[t].is_inside(place[t], taps[t], self.from.sizes[t]))
            });
            if taps.map(|k| filled[output * size + k]).sum::<usize>() != self.row(i).count() {
                return None;
            }
        }
        Some(kernel.into_iter().map(|number| number.unwrap_or(0.0)).collect())
    }
}

/// One axis of a convolution.
#[derive(Clone, Copy)]
struct Axis {
    kernel: usize,
    stride: usize,
    dilation: usize,
    begin: usize,
    end: usize,
}

impl Axis {
    const POINT: Axis = Axis { kernel: 1, stride: 1, dilation: 1, begin: 0, end: 0 };

    /// The geometry that the spans of the outputs suggest.
    fn guess(spans: &[Span], input: usize) -> Option<Self> {
        let known =
            || spans.iter().enumerate().filter_map(|(o, span)| span.map(|(low, high)| (o, low, high)));
        let reach = known().map(|(_, low, high)| high - low).max()?;
        let whole: Vec<(usize, usize)> =
            known().filter(|(_, low, high)| high - low == reach).map(|(o, low, _)| (o, low)).collect();
        let (&(first, low), &(last, high)) = (whole.first()?, whole.last()?);
        let stride = match last - first {
            0 => input.div_ceil(spans.len()).max(1),
            steps => high.checked_sub(low).filter(|way| way.is_multiple_of(steps))? / steps,
        };
        let begin = (first * stride).checked_sub(low)?;
        let kernel = reach + 1;
        let needed = (spans.len() - 1) * stride + kernel;
        let end = needed.saturating_sub(begin + input);
        let outputs = (begin + input + end).checked_sub(kernel)? / stride.max(1) + 1;
        (stride > 0 && outputs == spans.len()).then_some(Axis { kernel, stride, dilation: 1, begin, end })
    }

    /// The place of the kernel at which output `o` reads input `i`.
    fn tap(&self, o: usize, i: usize) -> Option<usize> {
        (i + self.begin).checked_sub(o * self.stride).filter(|&k| k < self.kernel)
    }

    fn is_inside(&self, o: usize, k: usize, input: usize) -> bool {
        (o * self.stride + k).checked_sub(self.begin).is_some_and(|i| i < input)
    }
}

/// The same convolution with a smaller kernel and dilation, where places between are zero everywhere.
fn dilated(kernel: Vec<f64>, axes: [Axis; AXES]) -> (Vec<f64>, [Axis; AXES]) {
    let sizes = axes.map(|axis| axis.kernel);
    let size: usize = sizes.iter().product();
    let taps = |k: usize| [k / sizes[2] / sizes[1], k / sizes[2] % sizes[1], k % sizes[2]];
    let mut steps = [0; AXES];
    for (at, _) in kernel.iter().enumerate().filter(|(_, x)| **x != 0.0) {
        steps.iter_mut().zip(taps(at % size)).for_each(|(step, tap)| *step = gcd(*step, tap));
    }
    if steps.iter().all(|&step| step <= 1) {
        return (kernel, axes);
    }
    let mut small = axes;
    for (axis, step) in small.iter_mut().zip(steps) {
        axis.dilation = step.max(1);
        axis.kernel = (axis.kernel - 1) / axis.dilation + 1;
    }
    let kept = |k: usize| taps(k).iter().zip(&small).all(|(tap, axis)| tap.is_multiple_of(axis.dilation));
    let numbers = kernel.iter().enumerate().filter(|(at, _)| kept(at % size)).map(|(_, &x)| x).collect();
    (numbers, small)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The most groups into which outputs and channels fall.
fn groups(kernel: &[f64], outputs: usize, channels: usize, size: usize) -> usize {
    let reads = |m: usize, c: usize| {
        kernel[(m * channels + c) * size..(m * channels + c + 1) * size].iter().any(|&x| x != 0.0)
    };
    let fits = |g: usize| {
        (0..outputs).all(|m| (0..channels).all(|c| m * g / outputs == c * g / channels || !reads(m, c)))
    };
    let divides = |g: &usize| outputs.is_multiple_of(*g) && channels.is_multiple_of(*g);
    (1..=outputs.min(channels)).rev().filter(divides).find(|&g| fits(g)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matrix of a convolution, by its definition.
    fn written_out(kernel: &Kernel, from: &[usize; 3], to: &[usize; 3]) -> SparseMatrix {
        let [channels, height, width] = *from;
        let mut matrix = SparseMatrix::new(channels * height * width);
        let (per_group, group) = (kernel.dims[1], to[0] / kernel.groups);
        for at in 0..to.iter().product() {
            let (m, y, x) = (at / to[2] / to[1], at / to[2] % to[1], at % to[2]);
            let mut row = Vec::new();
            for (k, &number) in kernel.numbers[m * per_group * kernel.dims[2] * kernel.dims[3]..]
                [..per_group * kernel.dims[2] * kernel.dims[3]]
                .iter()
                .enumerate()
            {
                let (c, a, b) = (
                    k / kernel.dims[3] / kernel.dims[2],
                    k / kernel.dims[3] % kernel.dims[2],
                    k % kernel.dims[3],
                );
                let i = (y as i64) * kernel.strides[0] + a as i64 * kernel.dilations[0] - kernel.pads[0];
                let j = (x as i64) * kernel.strides[1] + b as i64 * kernel.dilations[1] - kernel.pads[1];
                if (0..height as i64).contains(&i) && (0..width as i64).contains(&j) {
                    let channel = m / group * per_group + c;
                    row.push(((channel * height + i as usize) * width + j as usize, number));
                }
            }
            matrix.push_row(row);
        }
        matrix
    }

    #[test]
    fn convolutions_are_found_again_and_nothing_else() {
        for (groups, stride, dilation, pads) in [
            (1, 1, 1, [1, 1, 1, 1]),
            (2, 2, 1, [0, 1, 1, 0]),
            (1, 2, 2, [2, 2, 2, 2]),
            (4, 1, 1, [0, 0, 0, 0]),
        ] {
            let (from, outputs, size) = ([4, 9, 8], 4, 3);
            let per_group = from[0] / groups;
            let reach = (size - 1) * dilation + 1;
            let out = |input: usize, t: usize| {
                (input + pads[t] as usize + pads[t + 2] as usize - reach) / stride as usize + 1
            };
            let to = [outputs, out(from[1], 0), out(from[2], 1)];
            let numbers = (0..outputs * per_group * size * size).map(|i| 0.5 + i as f64).collect();
            let kernel = Kernel {
                dims: vec![outputs, per_group, size, size],
                numbers,
                strides: vec![stride; 2],
                dilations: vec![dilation as i64; 2],
                pads: pads.to_vec(),
                groups,
            };
            let matrix = written_out(&kernel, &from, &to);
            let whole = (0..matrix.rows(), 0..matrix.cols());
            let found = find(&matrix, whole.clone(), &from, &to).expect("it is a convolution");
            assert_eq!(written_out(&found, &from, &to), matrix, "stride {stride} dilation {dilation}");
            assert_eq!((found.groups, &found.numbers), (groups, &kernel.numbers));

            // One number that is another, or missing, makes it none.
            for change in [7.5, 0.0] {
                let mut other = SparseMatrix::new(matrix.cols());
                for i in 0..matrix.rows() {
                    let (columns, entries) = matrix.row(i);
                    let entry =
                        |(at, &x): (usize, &f64)| if (i, at) == (matrix.rows() / 2, 1) { change } else { x };
                    let columns = columns.iter().map(|&column| column as usize);
                    other.push_row(columns.zip(entries.iter().enumerate().map(entry)));
                }
                assert_eq!(find(&other, whole.clone(), &from, &to), None, "{change}");
            }
        }
    }
}
