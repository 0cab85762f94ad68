//! The box of a tree at which a walk in preorder stands.

use fiberscope_core::decimal::shortest;

use super::super::{MAX_DEPTH, middle};

/// A bisection on the current path.
struct Frame {
    input: usize,
    lo: f64,
    middle: f64,
    hi: f64,
    /// Whether the walk is in the upper half.
    upper: bool,
}

/// The current box and how the walk came there.
pub struct BoxPath {
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    frames: Vec<Frame>,
}

impl BoxPath {
    /// The path to the root.
    pub fn new((lo, hi): (Vec<f64>, Vec<f64>)) -> Self {
        BoxPath { lo, hi, frames: Vec::new() }
    }

    /// Goes to the lower half; an error says why there is none.
    pub fn bisect(&mut self, input: usize) -> Result<(), String> {
        let Some((&lo, &hi)) = self.lo.get(input).zip(self.hi.get(input)) else {
            return Err(format!("there are {} inputs, no input {}", self.lo.len(), input + 1));
        };
        if self.frames.len() == MAX_DEPTH {
            return Err(format!("a path has more than {MAX_DEPTH} bisections"));
        }
        let Some(middle) = middle(lo, hi) else {
            return Err(format!(
                "input {} cannot be bisected between {} and {}",
                input + 1,
                shortest(lo),
                shortest(hi)
            ));
        };
        self.hi[input] = middle;
        self.frames.push(Frame { input, lo, middle, hi, upper: false });
        Ok(())
    }

    /// Goes from a finished box to the next one of the preorder; false if there is none, and then the walk is
    /// back at the root.
    pub fn turn(&mut self) -> bool {
        while let Some(frame) = self.frames.last_mut() {
            let Frame { input, lo, middle, hi, upper } = *frame;
            self.hi[input] = hi;
            if !upper {
                self.lo[input] = middle;
                frame.upper = true;
                return true;
            }
            self.lo[input] = lo;
            self.frames.pop();
        }
        false
    }

    /// At least so many nodes are to come before the tree is complete.
    pub fn missing(&self) -> usize {
        self.frames.iter().filter(|frame| !frame.upper).count() + 1
    }
}
