//! Facets joined to surfaces, and the chains of surfaces below one another.

use super::weights::WeightedFacet;

/// Sets of facets that are known to be one surface.
pub(crate) struct Surfaces(Vec<usize>);

impl Surfaces {
    /// Every facet by itself.
    pub fn new(count: usize) -> Self {
        Surfaces((0..count).collect())
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    /// The two are one surface.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }

    /// The longest chains of lower surfaces; contradictory relations are cut off at the number of surfaces.
    pub fn levels(mut self, facets: &[WeightedFacet], below: &[(usize, usize)]) -> Vec<Option<usize>> {
        let below: Vec<(usize, usize)> = below.iter().map(|&(a, b)| (self.find(a), self.find(b))).collect();
        let mut level = vec![0usize; facets.len()];
        for _ in 0..64 {
            let mut changed = false;
            for &(low, high) in below.iter().filter(|(low, high)| low != high) {
                if level[high] <= level[low] && level[low] < 63 {
                    level[high] = level[low] + 1;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        (0..facets.len()).map(|at| facets[at].visible.then(|| level[self.find(at)])).collect()
    }
}
