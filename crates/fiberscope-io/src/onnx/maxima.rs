//! The largest of many entries, in rounds of `max(x, y) = y + relu(x - y)`, two by two.

use std::collections::HashMap;

use fiberscope_core::Rational;

use super::layers::Value;
use super::lowering::{Lowering, Site};
use super::map::Map;
use super::rows::Rows;
use super::shape;
use super::steps::{Maxima, Next, Rest, Task, again};
use super::window::Window;
use crate::FormatError;

impl<'a> Lowering<'_, 'a> {
    /// `Max` and `Min` of tensors, entry by entry.
    pub(super) fn largest_of_values(
        &mut self,
        site: Site<'a>,
        tasks: &mut [Task<'a>],
    ) -> Result<Next<'a>, FormatError> {
        let node = site.node;
        let mut values = Vec::new();
        let mut dims = vec![];
        for (at, name) in site.inputs.iter().enumerate() {
            let value = match self.is_value(name) {
                true => self.take(name, &node)?,
                false => self.constant_value(&site, at)?,
            };
            dims = shape::broadcast(&dims, &value.dims).map_err(|reason| node.malformed(reason))?;
            values.push(value);
        }
        let mut spread = Vec::with_capacity(values.len());
        for value in values {
            self.hand = value;
            self.spread(&node, &dims)?;
            spread.push(self.put_down());
        }
        let (parts, count) = (spread.len(), shape::count(&dims).unwrap_or(0));
        let all = self.stack(&node, spread)?;
        let groups = (0..count).map(|i| (0..parts).map(|part| part * count + i).collect()).collect();
        self.tournament(site, dims, all, groups, tasks)
    }

    /// `MaxPool`, `GlobalMaxPool`, `ReduceMax` and `ReduceMin`.
    pub(super) fn largest_in_windows(
        &mut self,
        site: Site<'a>,
        value: Value<'a>,
        tasks: &mut [Task<'a>],
    ) -> Result<Next<'a>, FormatError> {
        let node = site.node;
        self.hand = value;
        let (dims, groups) = if node.operator.starts_with("Reduce") {
            self.reduced_groups(&site)?
        } else {
            let channels = self.image_channels(&node)?;
            let image = self.hand.dims[2..].to_vec();
            let window = match node.operator {
                "GlobalMaxPool" => Window::global(&image),
                _ => Window::pooling(&node, &image)?,
            };
            let (inside, outside) = (window.input_size(), window.output_size());
            let taps = outside.saturating_mul(window.kernel_size());
            let samples = self.hand.dims[0];
            let images = channels.saturating_mul(samples);
            self.budget.entries(node, images, taps)?;
            let mut groups = vec![Vec::new(); images * outside];
            window.each_tap(|o, _, i| {
                for image in 0..images {
                    groups[image * outside + o].push(image * inside + i);
                }
            });
            ([&[samples, channels], window.output_dims()].concat(), groups)
        };
        if groups.iter().any(Vec::is_empty) {
            return Err(node.malformed("a window lies outside the image"));
        }
        let value = self.put_down();
        self.tournament(site, dims, value, groups, tasks)
    }

    fn tournament(
        &mut self,
        site: Site<'a>,
        dims: Vec<usize>,
        value: Value<'a>,
        groups: Vec<Vec<usize>>,
        tasks: &mut [Task<'a>],
    ) -> Result<Next<'a>, FormatError> {
        let node = site.node;
        let negated = matches!(node.operator, "Min" | "ReduceMin");
        let mut value = self.loose(&node, value, tasks)?;
        if negated {
            self.budget.operations(node, value.map.output())?;
            value.map.scale(&vec![Rational::from(-1); value.map.output()]);
        }
        self.round(site, dims, value, groups, negated)
    }

    /// Pairs the entries of every group: the ReLUs of their differences, and what they are added to.
    fn round(
        &mut self,
        site: Site<'a>,
        dims: Vec<usize>,
        mut value: Value<'a>,
        mut groups: Vec<Vec<usize>>,
        negated: bool,
    ) -> Result<Next<'a>, FormatError> {
        let node = site.node;
        if groups.iter().all(|group| group.len() == 1) {
            let source: Vec<usize> = groups.iter().map(|group| group[0]).collect();
            if negated {
                value.map.scale(&vec![Rational::from(-1); value.map.output()]);
            }
            return Ok(Next::Done(site, value.select(dims, &source)));
        }
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let mut seen: HashMap<(usize, usize), usize> = HashMap::new();
        let mut singles: Vec<usize> = Vec::new();
        let mut lonely: HashMap<usize, usize> = HashMap::new();
        // Pairs are numbered from 0; entries without a partner behind them, once their number is known.
        let mut chosen: Vec<Vec<Result<usize, usize>>> = Vec::with_capacity(groups.len());
        for group in &mut groups {
            group.sort_unstable();
            group.dedup();
            let entry = |pair: &[usize]| match *pair {
                [x, y] => Ok(*seen.entry((x, y)).or_insert_with(|| {
                    pairs.push((x, y));
                    pairs.len() - 1
                })),
                _ => Err(*lonely.entry(pair[0]).or_insert_with(|| {
                    singles.push(pair[0]);
                    singles.len() - 1
                })),
            };
            chosen.push(group.chunks(2).map(entry).collect());
        }
        let rows = value.map.rows().expect("no matrix is in it");
        self.budget.operations(node, rows.entries().saturating_add(4 * pairs.len()))?;
        let mut differences = rows.clone();
        differences.select(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
        let mut second = rows;
        second.select(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
        second.scale(&vec![Rational::from(-1); pairs.len()]);
        differences.add(&second);
        let count = pairs.len();
        let groups = chosen
            .into_iter()
            .map(|group| group.into_iter().map(|at| at.unwrap_or_else(|single| count + single)).collect())
            .collect();
        let kept: Vec<usize> = pairs.iter().map(|pair| pair.1).chain(singles).collect();
        let mut relus = Value::new(vec![count], Map::Rows(differences));
        relus.inherit(&value);
        relus.label = value.label.clone();
        let kept = value.select(vec![kept.len()], &kept);
        let rest = Rest::Maxima(Box::new(Maxima { groups, kept, pairs: count, negated }));
        Ok(again(site, dims, relus, rest))
    }

    /// The round after one whose ReLUs are known.
    pub(super) fn next_round(
        &mut self,
        site: Site<'a>,
        dims: Vec<usize>,
        mut relus: Rows,
        maxima: Maxima<'a>,
    ) -> Result<Next<'a>, FormatError> {
        let Maxima { groups, kept, pairs, negated } = maxima;
        let mut sums = kept.map.rows().expect("it was carried without a matrix");
        // The entries without a partner get nothing added.
        let width = sums.output();
        let padded: Vec<usize> = (0..width).map(|i| i.min(pairs.saturating_sub(1))).collect();
        relus.select(&padded);
        let own = |i: usize| if i < pairs { Rational::ONE } else { Rational::ZERO };
        relus.scale(&(0..width).map(own).collect::<Vec<_>>());
        sums.add(&relus);
        let value = Value { map: Map::Rows(sums), ..kept };
        self.round(site, dims, value, groups, negated)
    }
}
