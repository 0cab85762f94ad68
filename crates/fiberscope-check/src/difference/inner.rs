//! A closer look: bounds of open neurons by rows that start at them.
//!
//! What E4 says of rows that start at the outputs holds for rows that start at `z` or `d` of any layer: on the
//! way to the inputs only layers before it occur, whose bounds are final by then. So both the bounds of the
//! forms and those of the rows are valid, and the closer ones are taken (E6).

use fiberscope_core::Activation;

use super::phases::agree;
use super::row::Start;
use super::space::OfNeuron;
use super::zonotope::Bounder;

/// So many rows are taken back at a time, so that their coefficients need little memory.
const AT_ONCE: usize = 256;

impl Bounder<'_> {
    /// Takes the closer ones of the bounds of rows for the open neurons of layer `l`; false if no input is left.
    pub(super) fn look_closely(&mut self, l: usize) -> bool {
        let layer = &self.pair.layers()[l];
        if l == 0 || layer.activation != Activation::Relu {
            return true;
        }
        let mut neurons = std::mem::take(&mut self.neurons);
        neurons.clear();
        let is_open = |lower: f64, upper: f64| lower < 0.0 && upper > 0.0;
        let kept = &self.kept[l];
        for neuron in 0..layer.rows {
            let open_a = is_open(kept.zl[neuron], kept.zu[neuron]);
            let row = |change, sign| OfNeuron { neuron, change, sign };
            if open_a {
                neurons.extend([row(false, 1.0), row(false, -1.0)]);
            }
            if open_a || is_open(kept.yl[neuron], kept.yu[neuron]) {
                neurons.extend([row(true, 1.0), row(true, -1.0)]);
            }
        }
        let mut possible = true;
        for neurons in neurons.chunks(AT_ONCE) {
            self.rows.kappas.clear();
            self.rows.kappas.resize(neurons.len(), 0.0);
            self.descend(l, Start::Neurons(neurons));
            let (kept, found) = (&mut self.kept[l], &self.rows.kappas);
            for (&OfNeuron { neuron, change, sign }, &bound) in neurons.iter().zip(found) {
                let (lower, upper) = match change {
                    false => (&mut kept.zl[neuron], &mut kept.zu[neuron]),
                    true => (&mut kept.dl[neuron], &mut kept.du[neuron]),
                };
                if sign > 0.0 { *upper = upper.min(bound) } else { *lower = lower.max(-bound) }
            }
        }
        let kept = &mut self.kept[l];
        for row in neurons.iter().filter(|row| row.change && row.sign > 0.0) {
            possible &= agree(kept, row.neuron);
        }
        self.neurons = neurons;
        possible
    }
}
