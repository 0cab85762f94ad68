//! Facets joined to surfaces, and the chains of surfaces below one another.

/// Sets of facets that are known to be one surface.
pub(crate) struct Surfaces(Vec<u32>);

impl Surfaces {
    /// Every facet by itself.
    pub fn new(count: usize) -> Self {
        Surfaces((0..count as u32).collect())
    }

    fn find(&mut self, mut at: u32) -> u32 {
        while self.0[at as usize] != at {
            self.0[at as usize] = self.0[self.0[at as usize] as usize];
            at = self.0[at as usize];
        }
        at
    }

    /// The two are one surface.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// For every facet the length of the longest chain of lower surfaces; contradictory relations are cut off.
    pub fn levels(mut self, below: &[[u32; 2]]) -> Vec<usize> {
        let mut below: Vec<[u32; 2]> = below.iter().map(|pair| pair.map(|at| self.find(at))).collect();
        below.sort_unstable();
        below.dedup();
        let mut level = vec![0usize; self.0.len()];
        for _ in 0..64 {
            let mut changed = false;
            for [low, high] in below.iter().map(|pair| pair.map(|at| at as usize)) {
                if low != high && level[high] <= level[low] && level[low] < 63 {
                    level[high] = level[low] + 1;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        (0..level.len()).map(|at| level[self.find(at as u32) as usize]).collect()
    }
}
