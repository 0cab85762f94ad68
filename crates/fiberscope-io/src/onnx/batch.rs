//! Whether the first dimension of the inputs is a batch: whether every sample is treated alike, and alone.

use fiberscope_core::Network;

use super::graph::Input;
use super::shape;

/// The numbers that one input of the graph takes: of one sample, and how many samples the file has.
pub(super) struct Block {
    numbers: usize,
    samples: usize,
}

impl Block {
    /// The numbers of an input.
    pub(super) fn of(input: &Input) -> Self {
        Block { numbers: shape::count(&input.dims).unwrap_or(0), samples: input.batch.unwrap_or(1) }
    }
}

/// How many random inputs are compared.
const TRIALS: usize = 8;

/// Whether the network of all samples does for each of them what the network of one sample does, at random
/// inputs: entry by entry up to rounding. What mixes samples, counts them or treats them differently does not
/// pass.
pub(super) fn is_batched(one: &Network, all: &Network, blocks: &[Block]) -> bool {
    let Some(samples) = blocks.iter().map(|block| block.samples).find(|&samples| samples > 1) else {
        return true;
    };
    let numbers = blocks.iter().map(|block| block.numbers * block.samples).sum::<usize>();
    let fits = blocks.iter().all(|block| block.samples == 1 || block.samples == samples)
        && all.output_width() == samples * one.output_width()
        && all.input_width() == numbers;
    let mut random = Numbers(0x9e37_79b9_7f4a_7c15);
    fits && (0..TRIALS).all(|trial| {
        // Small and large numbers, so that bends are met on both sides.
        let size = [0.1, 1.0, 10.0, 1000.0][trial % 4];
        let x: Vec<f64> = (0..numbers).map(|_| size * random.next()).collect();
        let Ok(whole) = all.evaluate(&x) else { return false };
        let scale = whole.iter().fold(1e-300, |scale: f64, y| scale.max(y.abs()));
        (0..samples).all(|sample| {
            let Ok(found) = one.evaluate(&sample_of(&x, blocks, sample)) else { return false };
            let own = &whole[sample * found.len()..(sample + 1) * found.len()];
            found.iter().zip(own).all(|(a, b)| (a - b).abs() <= 1e-9 * scale)
        })
    })
}

/// The numbers of one sample, input by input.
fn sample_of(x: &[f64], blocks: &[Block], sample: usize) -> Vec<f64> {
    let (mut start, mut own) = (0, Vec::new());
    for block in blocks {
        let at = start + if block.samples > 1 { sample * block.numbers } else { 0 };
        own.extend_from_slice(&x[at..at + block.numbers]);
        start += block.numbers * block.samples;
    }
    own
}

/// Numbers between -1 and 1 that look random, always the same ones.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
