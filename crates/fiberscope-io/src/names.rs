//! What a file calls the neurons of a network.
//!
//! A layer of a network may hold several values of a file side by side (a residual block has two), and each
//! is a tensor: neuron 58 of a layer may be channel 3 of `layer2.0.conv1` at row 1 and column 2, which is
//! written as PyTorch indexes it, `layer2.0.conv1[3, 1, 2]`, counted from 0.

use std::sync::Arc;

/// The names of all layers of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    input: Vec<usize>,
    layers: Vec<Vec<Part>>,
}

/// Neurons of a layer that belong together, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What they are called, if they have a name.
    pub name: Option<Arc<str>>,
    /// Their shape.
    pub shape: Vec<usize>,
}

/// Longer names are cut.
const LONGEST: usize = 120;

impl Part {
    /// Neurons of this name; the batch, a first dimension of 1, is left out of the shape.
    pub(crate) fn new(name: Option<Arc<str>>, dims: &[usize], count: usize) -> Self {
        let sample = match dims {
            [1, rest @ ..] if !rest.is_empty() => rest,
            all => all,
        };
        let whole = sample.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim)) == Some(count);
        Part { name, shape: if whole { sample.to_vec() } else { vec![count] } }
    }

    /// The number of neurons.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The name of one of them.
    fn neuron(&self, at: usize) -> Option<String> {
        let mut index = Vec::with_capacity(self.shape.len());
        let mut rest = at;
        for &dim in self.shape.iter().rev() {
            index.push((rest % dim).to_string());
            rest /= dim;
        }
        index.reverse();
        self.name.as_ref().map(|name| format!("{name}[{}]", index.join(", ")))
    }
}

impl Names {
    /// The names of all layers, if there is any; nothing if they do not fit the widths (inputs first).
    pub(crate) fn new(layers: Vec<Vec<Part>>, widths: &[usize]) -> Option<Self> {
        let named = layers.iter().flatten().any(|part| part.name.is_some());
        let counts = layers.iter().map(|parts| parts.iter().map(Part::count).sum::<usize>());
        let input = widths.first().copied().into_iter().collect();
        (named && counts.eq(widths.iter().skip(1).copied())).then_some(Names { input, layers })
    }

    /// Names and shapes as somebody wrote them down, and the shape of the input; nothing if they do not fit the widths.
    pub fn listed(
        layers: Vec<Vec<(Option<String>, Vec<usize>)>>,
        input: &[usize],
        widths: &[usize],
    ) -> Option<Self> {
        let part = |(name, shape): (Option<String>, Vec<usize>)| {
            let count = shape.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim))?;
            (count > 0).then(|| Part { name: name.as_deref().and_then(label), shape })
        };
        let layer = |parts: Vec<_>| parts.into_iter().map(part).collect::<Option<Vec<Part>>>();
        let layers = layers.into_iter().map(layer).collect::<Option<Vec<_>>>()?;
        // Counts of this size do not overflow when they are added.
        let fits = layers.iter().flatten().all(|part| widths.iter().any(|&width| part.count() <= width));
        Some(Names::new(fits.then_some(layers)?, widths)?.with_input(input))
    }

    /// The same with the shape of the input, if it has as many numbers.
    #[must_use]
    pub(crate) fn with_input(self, dims: &[usize]) -> Self {
        let count = self.input.iter().product();
        Names { input: Part::new(None, dims, count).shape, ..self }
    }

    /// The shape of the input of the network.
    pub fn input(&self) -> &[usize] {
        &self.input
    }

    /// The parts of every layer, one behind the other.
    pub fn layers(&self) -> &[Vec<Part>] {
        &self.layers
    }

    /// The name of a neuron, both counted from 0.
    pub fn neuron(&self, layer: usize, unit: usize) -> Option<String> {
        let mut at = unit;
        for part in self.layers.get(layer)? {
            match at.checked_sub(part.count()) {
                Some(behind) => at = behind,
                None => return part.neuron(at),
            }
        }
        None
    }

    /// The name of a layer, if all of its neurons share one.
    pub fn layer(&self, layer: usize) -> Option<&str> {
        match self.layers.get(layer)?.as_slice() {
            [only] => only.name.as_deref(),
            _ => None,
        }
    }
}

/// A name of a file, fit for a line of text.
pub(crate) fn label(name: &str) -> Option<Arc<str>> {
    let mut text: String = name.chars().take(LONGEST).filter(|c| !c.is_control()).collect();
    if name.chars().nth(LONGEST).is_some() {
        text.push_str("...");
    }
    (!text.is_empty()).then(|| Arc::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neurons_are_found_behind_each_other() {
        let parts = vec![
            Part::new(label("layer2.0.conv1"), &[1, 4, 3, 3], 36),
            Part::new(None, &[5], 5),
            Part::new(label("fc"), &[1, 2], 2),
        ];
        let names = Names::new(vec![parts], &[7, 43]).unwrap();
        assert_eq!(names.neuron(0, 32).unwrap(), "layer2.0.conv1[3, 1, 2]");
        assert_eq!(names.neuron(0, 38), None);
        assert_eq!(names.neuron(0, 42).unwrap(), "fc[1]");
        assert_eq!((names.neuron(0, 43), names.neuron(1, 0)), (None, None));
        assert_eq!(names.layer(0), None);
        assert!(Names::new(vec![vec![Part::new(label("fc"), &[1, 2], 2)]], &[7, 3]).is_none());
    }

    #[test]
    fn names_stay_on_one_line() {
        assert_eq!(label("a\nb").unwrap().as_ref(), "ab");
        assert_eq!(label(&"x".repeat(1000)).unwrap().len(), LONGEST + 3);
        assert!(label("").is_none());
    }
}
