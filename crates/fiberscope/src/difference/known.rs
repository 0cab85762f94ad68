//! What is known of the nodes of a tree by their own bounds.

/// What the bounds of nodes are.
#[derive(Default)]
pub struct Known {
    /// How far each node is from the goal; infinite where it was not bounded.
    far: Vec<f64>,
    /// The bounds of the rows, for nodes that were cut.
    bounds: Vec<Option<Box<[f64]>>>,
}

impl Known {
    /// A node was bounded.
    pub fn bounded(&mut self, node: u32, far: f64) {
        let node = node as usize;
        self.far.resize(self.far.len().max(node + 1), f64::INFINITY);
        self.far[node] = far;
    }

    /// A node with these bounds is cut.
    pub fn cut(&mut self, node: u32, bounds: Box<[f64]>) {
        let node = node as usize;
        self.bounds.resize(self.bounds.len().max(node + 1), None);
        self.bounds[node] = Some(bounds);
    }

    /// How far a node is from the goal.
    pub fn far(&self, node: usize) -> f64 {
        self.far.get(node).copied().unwrap_or(f64::INFINITY)
    }

    /// The bounds of a node that was cut.
    pub fn bounds(&self, node: usize) -> Option<&[f64]> {
        self.bounds.get(node)?.as_deref()
    }
}
