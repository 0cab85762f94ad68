//! What a file may cost, so that a small one cannot ask for much memory or time.

use std::fmt;

use fiberscope_core::is_stored_by_entries;

use crate::FormatError;

/// What a file may still cost. The bounds follow from its size and from the limit on matrices that
/// it does not hold as such, so a small file cannot ask for much memory or time.
#[derive(Clone)]
pub(super) struct Budget {
    entries: Account,
    /// Operations in rational arithmetic.
    operations: Account,
}

#[derive(Clone)]
struct Account {
    left: usize,
    limit: usize,
}

impl Budget {
    pub(super) fn new(file_size: usize, max_dense_entries: usize) -> Self {
        // A stored parameter takes two bytes or more, so an honest file stays below these bounds even
        // if every tensor is decoded, transposed and scaled.
        let account = |limit| Account { left: limit, limit };
        Budget {
            entries: account(file_size.saturating_mul(2).saturating_add(max_dense_entries)),
            operations: account(file_size.saturating_mul(4).saturating_add(max_dense_entries / 8)),
        }
    }

    /// The file turns out to be larger by so many bytes.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.entries.grow(bytes.saturating_mul(2));
        self.operations.grow(bytes.saturating_mul(4));
    }

    /// Pays for `rows * cols` numbers before they are made.
    pub(super) fn entries(
        &mut self,
        who: impl fmt::Display,
        rows: usize,
        cols: usize,
    ) -> Result<(), FormatError> {
        let message = || format!("{who}: it takes {rows} x {cols} numbers to write out");
        self.entries.pay(rows.checked_mul(cols), 1, message)
    }

    /// Pays for a matrix with so many entries before it is made, and for its zeros if it will be stored with them.
    pub(super) fn matrix(
        &mut self,
        who: impl fmt::Display,
        (rows, cols): (usize, usize),
        entries: usize,
    ) -> Result<(), FormatError> {
        if !is_stored_by_entries(rows, cols, entries) {
            self.entries(&who, rows, cols)?;
        }
        self.stored(who, entries.saturating_add(rows))
    }

    /// Pays for so many entries of matrices with few of them, each a number and its column.
    pub(super) fn stored(&mut self, who: impl fmt::Display, count: usize) -> Result<(), FormatError> {
        let message = || format!("{who}: it takes {count} entries to write out");
        self.entries.pay(count.checked_mul(2), 2, message)
    }

    /// Pays for operations in rational arithmetic.
    pub(super) fn operations(&mut self, who: impl fmt::Display, count: usize) -> Result<(), FormatError> {
        self.operations
            .pay(Some(count), 1, || format!("{who}: folding its constants takes {count} operations"))
    }
}

impl Account {
    fn grow(&mut self, by: usize) {
        self.left = self.left.saturating_add(by);
        self.limit = self.limit.saturating_add(by);
    }

    /// Pays; what is told is counted in units of so much.
    fn pay(
        &mut self,
        price: Option<usize>,
        unit: usize,
        message: impl Fn() -> String,
    ) -> Result<(), FormatError> {
        self.left = price.and_then(|price| self.left.checked_sub(price)).ok_or_else(|| {
            let used = (self.limit - self.left) / unit;
            let before = if used == 0 { String::new() } else { format!(", and {used} were taken before") };
            let limit = format!("for the whole of this file at most {} are allowed", self.limit / unit);
            FormatError::unsupported(format!("{}{before}; {limit}", message()))
        })?;
        Ok(())
    }
}
