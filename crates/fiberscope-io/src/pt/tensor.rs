//! The numbers of tensors: views of storages, which are entries of the archive.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::value::View;
use crate::FormatError;
use crate::archive::{Archive, inflation_limit};
use crate::element::ByteOrder;
use crate::state_dict::{TensorInfo, quoted};

impl View {
    /// Name, shape and type, if every entry of the tensor lies in its storage.
    pub(super) fn info(&self, name: &str) -> Result<TensorInfo, FormatError> {
        let shape = self.shape.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>();
        let info =
            shape.map(|shape| TensorInfo { name: name.to_owned(), shape, element: self.storage.element });
        let info = info.filter(|info| {
            info.entries().is_some() && self.end().is_some_and(|end| end <= self.storage.entries)
        });
        info.ok_or_else(|| {
            FormatError::malformed(format!(
                "tensor {}: it reaches beyond the end of its storage",
                quoted(name)
            ))
        })
    }

    /// One more than the place of the last entry.
    fn end(&self) -> Option<u64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let mut steps = self.shape.iter().zip(&self.strides);
        steps
            .try_fold(self.offset, |at, (&d, &stride)| at.checked_add((d - 1).checked_mul(stride)?))?
            .checked_add(1)
    }

    fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.shape.iter().zip(&self.strides).rev().all(|(&d, &stride)| {
            let contiguous = d == 1 || stride == expected;
            expected *= d;
            contiguous
        })
    }

    /// The places of the entries, row by row.
    fn places(&self) -> impl Iterator<Item = u64> + '_ {
        let mut index = vec![0; self.shape.len()];
        let mut next = Some(self.offset);
        std::iter::from_fn(move || {
            let place = next?;
            let mut at = place;
            next = None;
            for axis in (0..index.len()).rev() {
                if index[axis] + 1 < self.shape[axis] {
                    index[axis] += 1;
                    next = Some(at + self.strides[axis]);
                    break;
                }
                at -= index[axis] * self.strides[axis];
                index[axis] = 0;
            }
            Some(place)
        })
    }
}

/// The storages of a file, read when a tensor needs them.
pub(super) struct Storages<'a> {
    archive: Archive<'a>,
    folder: String,
    order: ByteOrder,
    opened: BTreeMap<usize, Cow<'a, [u8]>>,
    /// How many bytes of doubles may still be made: tensors can share storages and repeat their
    /// entries, so a small file could ask for a lot.
    left: u64,
}

impl<'a> Storages<'a> {
    /// The storages in `folder` of an archive of `file_size` bytes.
    pub(super) fn new(archive: Archive<'a>, folder: String, order: ByteOrder, file_size: usize) -> Self {
        Storages { archive, folder, order, opened: BTreeMap::new(), left: inflation_limit(file_size) }
    }

    /// The entries of a tensor, row by row.
    pub(super) fn load(&mut self, info: &TensorInfo, view: &View) -> Result<Vec<f64>, FormatError> {
        let name = quoted(&info.name);
        let entries = info.entries().unwrap_or(usize::MAX);
        self.left = self.left.checked_sub((entries as u64).saturating_mul(8)).ok_or_else(|| {
            FormatError::malformed(format!(
                "tensor {name}: the tensors together have more than 64 MiB + 32 x the file's size as doubles"
            ))
        })?;
        let (element, order) = (info.element, self.order);
        let storage = self.open(&name, view)?;
        let size = element.size();
        let mut numbers = vec![0.0; entries];
        let number_at = |place: u64, count: usize| {
            let start = usize::try_from(place).ok()?.checked_mul(size)?;
            storage.get(start..start.checked_add(count * size)?)
        };
        let beyond =
            || FormatError::malformed(format!("tensor {name}: it reaches beyond the end of its storage"));
        let inexact =
            |_| FormatError::unsupported(format!("tensor {name}: an integer beyond 2^53 is no parameter"));
        if view.is_contiguous() {
            let bytes = number_at(view.offset, entries).ok_or_else(beyond)?;
            element.decode(order, bytes, &mut numbers).map_err(inexact)?;
        } else {
            for (out, place) in numbers.chunks_mut(1).zip(view.places()) {
                let bytes = number_at(place, 1).ok_or_else(beyond)?;
                element.decode(order, bytes, out).map_err(inexact)?;
            }
        }
        Ok(numbers)
    }

    fn open(&mut self, name: &str, view: &View) -> Result<&[u8], FormatError> {
        let entry = format!("{}data/{}", self.folder, view.storage.key);
        let index = self.archive.position(&entry).ok_or_else(|| {
            FormatError::malformed(format!(
                "tensor {name}: expected its storage in {}, found no such entry",
                quoted(&entry)
            ))
        })?;
        let expected = view.storage.entries.checked_mul(view.storage.element.size() as u64);
        let found = self.archive.entries()[index].size;
        if expected != Some(found) {
            let expected = expected.map_or("too many".to_owned(), |n| n.to_string());
            let message =
                format!("tensor {name}: expected {expected} bytes in {}, found {found}", quoted(&entry));
            return Err(FormatError::malformed(message));
        }
        if !self.opened.contains_key(&index) {
            let contents = self.archive.contents(index)?;
            self.opened.insert(index, contents);
        }
        Ok(&self.opened[&index])
    }
}
