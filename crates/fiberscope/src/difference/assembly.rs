//! The tree of a search whose pieces were searched apart, and what it says.

use fiberscope_core::{BoxNode, Domain, Network, Rational};

use super::pieces::{Preparation, PreparedSearch, SearchPart};
use super::{Difference, DifferenceError, DifferenceOptions, Ended, Found, POINTS, conclude, decided, equal};

impl SearchPart {
    /// The part with the parts of the pieces that it left, in their order, at its open leaves.
    pub fn with(mut self, pieces: Vec<SearchPart>) -> Result<SearchPart, DifferenceError> {
        let places = std::mem::take(&mut self.open);
        self.put(&places, pieces)
    }

    /// The part with that of a later round at the leaves that are beyond the aim.
    pub fn after(mut self, later: SearchPart) -> Result<SearchPart, DifferenceError> {
        let places = self.beyond.drain(..).map(|beyond| beyond.place).collect::<Vec<_>>();
        self.put(&places, vec![later])
    }

    /// Whether every row's largest bound on a closed leaf is at most this.
    fn is_within(&self, aim: &Rational) -> bool {
        let largest = self.bounds().into_iter().fold(f64::NEG_INFINITY, f64::max);
        largest.is_finite() && super::declared(largest).is_some_and(|bound| bound <= *aim)
    }

    fn bounds(&self) -> Vec<f64> {
        self.bounds.iter().map(|bits| f64::from_bits(*bits)).collect()
    }

    /// Replaces leaves by the trees of parts.
    fn put(
        mut self,
        places: &[(usize, usize)],
        parts: Vec<SearchPart>,
    ) -> Result<SearchPart, DifferenceError> {
        let wrong = |what: &str| DifferenceError::State(format!("the parts of a search do not fit: {what}"));
        let count: usize = parts.iter().map(|part| part.trees.len()).sum();
        if count != places.len() {
            return Err(wrong("there are not as many trees as leaves"));
        }
        if parts.iter().any(|part| part.bounds.len() != self.bounds.len() || !part.open.is_empty()) {
            return Err(wrong("a part is of another search, or is not finished"));
        }
        let is_leaf = |&(tree, node): &(usize, usize)| {
            let found = self.trees.get(tree).and_then(|nodes| nodes.get(node));
            matches!(found, Some(BoxNode::Leaf | BoxNode::Weighted(_)))
        };
        if !places.is_sorted_by(|x, y| x < y) || !places.iter().all(is_leaf) {
            return Err(wrong("a leaf is none"));
        }
        // Where every tree begins, and how far what comes behind a leaf moves.
        let (mut begin, mut moved) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let subtrees: Vec<&Vec<BoxNode>> = parts.iter().flat_map(|part| &part.trees).collect();
        let mut trees = Vec::with_capacity(self.trees.len());
        let mut next = places.iter().zip(&subtrees).peekable();
        for (number, nodes) in self.trees.iter().enumerate() {
            let mut tree = Vec::with_capacity(nodes.len());
            for (at, node) in nodes.iter().enumerate() {
                match next.next_if(|(place, _)| **place == (number, at)) {
                    Some((_, subtree)) => {
                        begin.push((number, tree.len()));
                        tree.extend(subtree.iter().cloned());
                        moved.push(tree.len() - at - 1);
                    }
                    None => tree.push(node.clone()),
                }
            }
            trees.push(tree);
        }
        for beyond in &mut self.beyond {
            let before = places.iter().take_while(|place| **place < beyond.place).count();
            if let Some(last) = before.checked_sub(1).filter(|&last| places[last].0 == beyond.place.0) {
                beyond.place.1 += moved[last];
            }
        }
        self.trees = trees;
        let mut first = 0;
        for part in parts {
            for mut beyond in part.beyond {
                let (tree, at) = begin[first + beyond.place.0];
                beyond.place = (tree, at + beyond.place.1);
                self.beyond.push(beyond);
            }
            first += part.trees.len();
            let larger = |x: u64, y: u64| f64::from_bits(x).max(f64::from_bits(y)).to_bits();
            self.bounds.iter_mut().zip(&part.bounds).for_each(|(most, bound)| *most = larger(*most, *bound));
            self.cells += part.cells;
        }
        self.beyond.sort_by_key(|beyond| beyond.place);
        Ok(self)
    }
}

impl PreparedSearch {
    /// What follows from a whole search, or from a point beyond `epsilon` where there is no part. `points` were found
    /// on the way; `aim` is the last one.
    pub fn conclude(
        &self,
        (a, b): (&Network, &Network),
        domain: &Domain,
        prepared: &Preparation,
        (part, aim): (Option<SearchPart>, &Rational),
        points: &[Vec<f64>],
        epsilon: Option<&Rational>,
    ) -> Result<Difference, DifferenceError> {
        let wrong = |what: &str| DifferenceError::State(format!("the parts of a search do not fit: {what}"));
        if prepared.equal {
            let root = fiberscope_check::difference::outward(domain).map_err(DifferenceError::Unbounded)?;
            let shaped = self.shaped.clone();
            let options = DifferenceOptions { epsilon: epsilon.cloned(), ..DifferenceOptions::new() };
            return Ok(equal((a, b), domain, shaped, &self.exact, &root, &options));
        }
        let points: Vec<Vec<f64>> =
            points.iter().chain(prepared.points.iter().take(POINTS)).cloned().collect();
        let rows = 2 * a.output_width();
        let (rows, tree, cells, ended) = match part {
            None => (vec![f64::INFINITY; rows], vec![BoxNode::Leaf], 0, Ended::Reached),
            Some(part) => {
                if part.trees.len() != 1 || !part.beyond.is_empty() || !part.open.is_empty() {
                    return Err(wrong("the search is not finished"));
                }
                let ended = if part.is_within(aim) { Ended::Reached } else { Ended::Rounding };
                let (bounds, cells) = (part.bounds(), part.cells);
                (bounds, part.trees.into_iter().flatten().collect(), cells, ended)
            }
        };
        if rows.len() != 2 * a.output_width() {
            return Err(wrong("there are not two bounds for each output"));
        }
        let found = Found { rows, tree, most: points.len(), points, known: None, cells, ended };
        let mut told = conclude((a, b), domain, &self.shaped, &self.exact, found, epsilon);
        // What is declared is a little more than what was found, and may be more than the aim.
        if let (Some(epsilon), Ended::Rounding) = (epsilon, ended)
            && decided(&told.lower, told.upper.as_ref(), epsilon) != super::Decision::Undecided
        {
            told.ended = Ended::Reached;
        }
        Ok(told)
    }
}
