//! Shapes, and the operators that only change them. Used for constants and for the data alike.
//!
//! Errors are the reason only; the caller knows whose shape it is.

use std::fmt::Display;

/// The most dimensions a tensor may have.
pub(super) const MAX_RANK: usize = 16;

/// The number of entries of a tensor of this shape, if it can be counted.
pub(super) fn count(dims: &[usize]) -> Option<usize> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))
}

/// `2 x 3 x 4`, or `()` for a single number.
pub(super) fn show<T: Display>(dims: &[T]) -> String {
    if dims.is_empty() {
        return "()".to_owned();
    }
    dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

/// The axis counted from the front; negative axes count from the back. `rank` itself is allowed if
/// `end` is.
pub(super) fn resolve(axis: i64, rank: usize, end: bool) -> Result<usize, String> {
    let resolved = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(resolved) {
        Ok(found) if found < rank || (end && found == rank) => Ok(found),
        _ => Err(format!("axis {axis} does not exist in a tensor of {rank} dimensions")),
    }
}

/// `Flatten`: the dimensions before `axis` become one, the others another.
pub(super) fn flatten(dims: &[usize], axis: i64) -> Result<Vec<usize>, String> {
    let axis = resolve(axis, dims.len(), true)?;
    let side = |dims| count(dims).ok_or_else(|| "the shape is too large".to_owned());
    Ok(vec![side(&dims[..axis])?, side(&dims[axis..])?])
}

/// `Reshape`: 0 copies a dimension (unless `allow_zero`), one -1 takes what is left.
pub(super) fn reshape(dims: &[usize], target: &[i64], allow_zero: bool) -> Result<Vec<usize>, String> {
    let refuse = || format!("a tensor of shape {} cannot be reshaped to {}", show(dims), show(target));
    if target.len() > MAX_RANK {
        return Err(format!("the new shape has more than {MAX_RANK} dimensions"));
    }
    let mut result = Vec::with_capacity(target.len());
    let mut open = None;
    for (at, &dim) in target.iter().enumerate() {
        result.push(match dim {
            -1 if open.is_none() => {
                open = Some(at);
                1
            }
            0 if !allow_zero => *dims.get(at).ok_or_else(refuse)?,
            dim => usize::try_from(dim).map_err(|_| refuse())?,
        });
    }
    let (all, known) = (count(dims).ok_or_else(refuse)?, count(&result).ok_or_else(refuse)?);
    if let Some(at) = open {
        result[at] = all.checked_div(known).ok_or_else(refuse)?;
    }
    if count(&result) == Some(all) { Ok(result) } else { Err(refuse()) }
}

/// `Squeeze`: leaves out the given dimensions, which must be 1, or all that are.
pub(super) fn squeeze(dims: &[usize], axes: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let Some(axes) = axes else { return Ok(dims.iter().copied().filter(|&dim| dim != 1).collect()) };
    let mut keep = vec![true; dims.len()];
    for &axis in axes {
        let axis = resolve(axis, dims.len(), false)?;
        if dims[axis] != 1 {
            return Err(format!("dimension {axis} of shape {} is not 1", show(dims)));
        }
        keep[axis] = false;
    }
    Ok(dims.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(&dim, _)| dim).collect())
}

/// `Unsqueeze`: dimensions 1 at the given places of the result.
pub(super) fn unsqueeze(dims: &[usize], axes: &[i64]) -> Result<Vec<usize>, String> {
    let rank = dims.len() + axes.len();
    if rank > MAX_RANK {
        return Err(format!("the result has more than {MAX_RANK} dimensions"));
    }
    let mut is_new = vec![false; rank];
    for &axis in axes {
        let axis = resolve(axis, rank, false)?;
        if std::mem::replace(&mut is_new[axis], true) {
            return Err(format!("axis {axis} is given twice"));
        }
    }
    let mut old = dims.iter();
    Ok(is_new
        .iter()
        .map(|&new| if new { 1 } else { *old.next().expect("as many places as dimensions") })
        .collect())
}

/// `Transpose`: the new shape, and for every entry of the result the place it comes from (left out
/// if every entry stays where it is). Without a permutation the dimensions are reversed.
pub(super) fn transpose(
    dims: &[usize],
    permutation: Option<&[i64]>,
) -> Result<(Vec<usize>, Option<Vec<usize>>), String> {
    let rank = dims.len();
    let axes: Vec<usize> = match permutation {
        Some(axes) => axes.iter().map(|&axis| resolve(axis, rank, false)).collect::<Result<_, _>>()?,
        None => (0..rank).rev().collect(),
    };
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if sorted.len() != rank || sorted.iter().enumerate().any(|(at, &axis)| at != axis) {
        return Err(format!("{} is no permutation of {rank} dimensions", show(&axes)));
    }
    let result: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
    let moved: Vec<usize> = axes.iter().copied().filter(|&axis| dims[axis] != 1).collect();
    if moved.is_sorted() {
        return Ok((result, None));
    }
    let strides = strides(dims);
    let strides: Vec<usize> = axes.iter().map(|&axis| strides[axis]).collect();
    let source = walk(&result, &strides);
    Ok((result, Some(source)))
}

/// The shape in which numpy combines two shapes.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let rank = a.len().max(b.len());
    let dim = |dims: &[usize], at: usize| (at + dims.len()).checked_sub(rank).map_or(1, |at| dims[at]);
    let combine = |at| match (dim(a, at), dim(b, at)) {
        (a, b) if a == b => Ok(a),
        (1, other) | (other, 1) => Ok(other),
        _ => Err(format!("shapes {} and {} do not fit together", show(a), show(b))),
    };
    (0..rank).map(combine).collect()
}

/// For every entry of a tensor of shape `result`, the entry of one of shape `dims` that is broadcast
/// to it.
pub(super) fn broadcast_source(dims: &[usize], result: &[usize]) -> Vec<usize> {
    let own = strides(dims);
    let lead = result.len() - dims.len();
    let stride = |at: usize| if at < lead || dims[at - lead] == 1 { 0 } else { own[at - lead] };
    walk(result, &(0..result.len()).map(stride).collect::<Vec<_>>())
}

/// The shape of tensors put side by side along an axis.
pub(super) fn side_by_side(shapes: &[&[usize]], axis: usize) -> Result<Vec<usize>, String> {
    let mut dims = shapes[0].to_vec();
    dims[axis] = 0;
    for shape in shapes {
        let same = |(at, (a, b)): (usize, (&usize, &usize))| at == axis || a == b;
        if shape.len() != dims.len() || !shape.iter().zip(&dims).enumerate().all(same) {
            return Err(format!("shapes {} and {} do not fit together", show(shapes[0]), show(shape)));
        }
        dims[axis] = dims[axis].saturating_add(shape[axis]);
    }
    Ok(dims)
}

/// For every entry of tensors put side by side along an axis, its place in the list of all their entries.
pub(super) fn interleaved(shapes: &[&[usize]], axis: usize) -> Vec<usize> {
    let outer: usize = shapes[0][..axis].iter().product();
    let inner: usize = shapes[0][axis + 1..].iter().product();
    let starts = shapes.iter().scan(0, |start, dims| {
        let own = *start;
        *start += dims.iter().product::<usize>();
        Some(own)
    });
    let starts: Vec<usize> = starts.collect();
    let mut source = Vec::new();
    for o in 0..outer {
        for (dims, start) in shapes.iter().zip(&starts) {
            let length = dims[axis] * inner;
            source.extend(start + o * length..start + (o + 1) * length);
        }
    }
    source
}

/// The places in a tensor of shape `dims` of all combinations of one index per axis, the last list running
/// fastest.
pub(super) fn product(dims: &[usize], lists: &[Vec<usize>]) -> Vec<usize> {
    let strides = strides(dims);
    let mut places = vec![0];
    for (list, stride) in lists.iter().zip(strides) {
        places = places.iter().flat_map(|&place| list.iter().map(move |&at| place + at * stride)).collect();
    }
    places
}

/// For all combinations of one item per list, the last list running fastest, whether all items pass.
pub(super) fn product_all<T>(lists: &[Vec<T>], passes: impl Fn(&T) -> bool) -> Vec<bool> {
    let mut all = vec![true];
    for list in lists {
        let own: Vec<bool> = list.iter().map(&passes).collect();
        all = all.iter().flat_map(|&before| own.iter().map(move |&now| before && now)).collect();
    }
    all
}

/// The distance between neighbours along each dimension.
fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; dims.len()];
    for at in (1..dims.len()).rev() {
        // Only a tensor without entries can overflow, and its strides are not used.
        strides[at - 1] = strides[at].saturating_mul(dims[at]);
    }
    strides
}

/// The places visited by an index that runs through `dims`, where axis `k` counts `strides[k]`.
fn walk(dims: &[usize], strides: &[usize]) -> Vec<usize> {
    let total = count(dims).expect("the caller counted the entries");
    let mut index = vec![0; dims.len()];
    let mut place = 0;
    let mut places = Vec::with_capacity(total);
    for _ in 0..total {
        places.push(place);
        for at in (0..dims.len()).rev() {
            index[at] += 1;
            place += strides[at];
            if index[at] < dims[at] {
                break;
            }
            place -= strides[at] * dims[at];
            index[at] = 0;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshapes() {
        assert_eq!(reshape(&[1, 2, 6], &[0, -1, 3], false).unwrap(), [1, 4, 3]);
        assert_eq!(reshape(&[6], &[], false).unwrap_err(), "a tensor of shape 6 cannot be reshaped to ()");
        for bad in [&[5, -1][..], &[-1, -1], &[i64::MIN], &[i64::MAX, i64::MAX, 2], &[0, 6, 1, 0]] {
            assert!(reshape(&[6, 1], bad, false).is_err(), "{bad:?}");
        }
        assert!(reshape(&[6], &[0, -1], true).is_err());
        assert_eq!(flatten(&[2, 3, 4], -1).unwrap(), [6, 4]);
        assert_eq!(flatten(&[2, 3, 4], 3).unwrap(), [24, 1]);
        assert!(flatten(&[2, 3, 4], 4).is_err());
        assert_eq!(squeeze(&[1, 2, 1], Some(&[-1])).unwrap(), [1, 2]);
        assert_eq!(squeeze(&[1, 2, 1], None).unwrap(), [2]);
        assert_eq!(unsqueeze(&[2], &[0, -1]).unwrap(), [1, 2, 1]);
        assert!(unsqueeze(&[2], &[0, -3]).is_err());
    }

    #[test]
    fn transposes() {
        let (dims, source) = transpose(&[2, 3], None).unwrap();
        assert_eq!((dims, source.unwrap()), (vec![3, 2], vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(transpose(&[1, 3, 1], Some(&[2, 0, 1])).unwrap(), (vec![1, 1, 3], None));
        assert!(transpose(&[1, 3], Some(&[0, 0])).is_err());
        assert!(transpose(&[1, 3], Some(&[0])).is_err());
        let (dims, source) = transpose(&[0, usize::MAX, usize::MAX], None).unwrap();
        assert_eq!((dims, source.unwrap()), (vec![usize::MAX, usize::MAX, 0], vec![]));
    }

    #[test]
    fn tensors_side_by_side() {
        assert_eq!(side_by_side(&[&[2, 1], &[2, 2]], 1).unwrap(), [2, 3]);
        assert!(side_by_side(&[&[2, 1], &[1, 2]], 1).is_err());
        assert_eq!(interleaved(&[&[2, 1], &[2, 2]], 1), [0, 2, 3, 1, 4, 5]);
        assert_eq!(interleaved(&[&[1, 2], &[2, 2]], 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(product(&[2, 3], &[vec![1], vec![2, 0]]), [5, 3]);
    }

    #[test]
    fn broadcasts() {
        assert_eq!(broadcast(&[3, 1], &[2]).unwrap(), [3, 2]);
        assert!(broadcast(&[3], &[2]).is_err());
        assert_eq!(broadcast_source(&[3, 1], &[2, 3, 2]), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    }
}
