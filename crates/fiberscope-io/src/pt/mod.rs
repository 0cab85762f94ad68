//! PyTorch files: what `torch.save(model.state_dict(), path)` writes since version 1.6.
//!
//! The file is a zip archive: `NAME/data.pkl` is a pickle that describes the tensors,
//! `NAME/data/KEY` holds the numbers of one storage each, `NAME/byteorder` says in which byte order.
//! The pickle is read by a machine that builds plain values and runs nothing. The state dict is the
//! dictionary itself or, in a checkpoint, its entry `state_dict`, `model_state_dict` or `model`.

mod pickle;
mod tensor;
mod value;

use std::collections::BTreeSet;

use crate::archive::Archive;
use crate::element::ByteOrder;
use crate::state_dict::{self, quoted};
use crate::{FormatError, Model, ReadOptions};
use pickle::Unpickled;
use tensor::Storages;
use value::{Id, Value, View};

/// Reads a network from the bytes of a PyTorch file.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    check_container(bytes)?;
    let archive = Archive::open(bytes)?;
    let pickle = find_pickle(&archive)?;
    let folder = archive.entries()[pickle].name.strip_suffix("data.pkl").unwrap_or_default().to_owned();
    let order = byte_order(&archive, &folder)?;
    if archive.entries()[pickle].size > pickle::MAX_PICKLE {
        return Err(FormatError::unsupported(format!(
            "entry {}: expected a pickle of at most {} bytes, found {}",
            quoted(&archive.entries()[pickle].name),
            pickle::MAX_PICKLE,
            archive.entries()[pickle].size
        )));
    }
    let unpickled = pickle::load(&archive.contents(pickle)?)?;
    let entries = state_dict_entries(&unpickled)?;
    let infos = entries.tensors.iter().map(|(name, view)| view.info(name)).collect::<Result<Vec<_>, _>>()?;
    let mut storages = Storages::new(archive, folder, order, bytes.len());
    let load = |i: usize| storages.load(&infos[i], &entries.tensors[i].1);
    let mut model = state_dict::network(&infos, None, options, load)?;
    model.notes.extend(entries.notes);
    Ok(model)
}

/// Recognises what is often mistaken for such a file.
fn check_container(bytes: &[u8]) -> Result<(), FormatError> {
    const LEGACY_MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    if bytes.first() == Some(&0x80) && bytes.get(2..).is_some_and(|rest| rest.starts_with(LEGACY_MAGIC)) {
        return Err(FormatError::unsupported(
            "the file has PyTorch's format from before version 1.6; re-save it with torch.save(torch.load(path), path)",
        ));
    }
    if !bytes.starts_with(b"PK") {
        let message = "expected a zip archive as torch.save writes it; save the model with torch.save(model.state_dict(), path)";
        return Err(FormatError::malformed(message));
    }
    Ok(())
}

fn find_pickle(archive: &Archive) -> Result<usize, FormatError> {
    let names = || archive.entries().iter().map(|entry| entry.name.as_str());
    let of_folder = |name: &str, file: &str| {
        name.strip_suffix(file).is_some_and(|f| f.ends_with('/') && f.matches('/').count() == 1)
    };
    if names().any(|name| of_folder(name, "constants.pkl")) {
        return Err(FormatError::unsupported(
            "the file is a TorchScript archive; export it with torch.onnx.export(torch.jit.load(path), (example_input,), \"model.onnx\", \
             dynamo=False)",
        ));
    }
    let mut pickles =
        names().enumerate().filter(|(_, name)| *name == "data.pkl" || of_folder(name, "data.pkl"));
    match (pickles.next(), pickles.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some(_), Some((_, name))) => {
            Err(FormatError::malformed(format!("expected one data.pkl, found {} as well", quoted(name))))
        }
        (None, _) => Err(FormatError::malformed(
            "expected an archive with data.pkl, as torch.save writes it, found none",
        )),
    }
}

fn byte_order(archive: &Archive, folder: &str) -> Result<ByteOrder, FormatError> {
    let Some(index) = archive.position(&format!("{folder}byteorder")) else { return Ok(ByteOrder::Little) };
    match archive.contents(index)?.as_ref() {
        b"little" => Ok(ByteOrder::Little),
        b"big" => Ok(ByteOrder::Big),
        other => {
            let found = String::from_utf8_lossy(&other[..other.len().min(20)]).into_owned();
            Err(FormatError::malformed(format!(
                "expected byte order little or big, found {}",
                quoted(&found)
            )))
        }
    }
}

/// The entries of a state dict.
struct Entries<'a> {
    tensors: Vec<(&'a str, View)>,
    /// What was ignored.
    notes: Vec<String>,
}

fn state_dict_entries(unpickled: &Unpickled) -> Result<Entries<'_>, FormatError> {
    let value = |id: Id| &unpickled.values[id as usize];
    let (mut tensors, mut others, mut ignored) = (Vec::new(), Vec::new(), 0);
    let mut names = BTreeSet::new();
    let (entries, passed_over) = find_state_dict(unpickled)?;
    for &(key, entry) in entries {
        let Value::Text(name) = value(key) else {
            let found = value(key).describe();
            return Err(FormatError::unsupported(format!(
                "expected a dictionary with strings as keys, found {found}"
            )));
        };
        if !names.insert(&**name) {
            return Err(FormatError::malformed(format!("tensor {}: the file holds it twice", quoted(name))));
        }
        match value(entry) {
            Value::Tensor(tensor) => {
                let view = tensor.view(&unpickled.values).expect("the tensor was checked when it was built");
                tensors.push((&**name, view));
            }
            other => {
                ignored += 1;
                if others.len() < 8 {
                    others.push(format!("{} ({})", quoted(name), other.describe()));
                }
            }
        }
    }
    let more = if ignored > others.len() { ", ..." } else { "" };
    let shown = others.join(", ");
    if tensors.is_empty() && ignored > 0 {
        return Err(FormatError::unsupported(format!("expected tensors by name, found {shown}{more}")));
    }
    let mut notes = Vec::from_iter(passed_over);
    if ignored > 0 {
        notes.push(format!("ignored entries that are no tensors: {shown}{more}"));
    }
    Ok(Entries { tensors, notes })
}

/// A dictionary of tensors, and a note if the file holds others.
type Found<'a> = (&'a [(Id, Id)], Option<String>);

fn find_state_dict(unpickled: &Unpickled) -> Result<Found<'_>, FormatError> {
    let value = |id: Id| &unpickled.values[id as usize];
    let Value::Dict(root) = value(unpickled.root) else {
        let found = value(unpickled.root).describe();
        return Err(FormatError::unsupported(format!("expected a dictionary of tensors, found {found}")));
    };
    let entries = root.iter().filter_map(|&(key, entry)| match (value(key), value(entry)) {
        (Value::Text(key), Value::Dict(entries)) => Some((&**key, entries.as_slice())),
        _ => None,
    });
    let entries: Vec<(&str, &[(Id, Id)])> = entries.collect();
    let nested = ["state_dict", "model_state_dict", "model"]
        .iter()
        .find_map(|wanted| entries.iter().find(|(key, _)| key == wanted));
    let Some(&(taken, found)) = nested else { return Ok((root, None)) };
    let holds_tensors =
        |entries: &[(Id, Id)]| entries.iter().any(|&(_, entry)| matches!(value(entry), Value::Tensor(_)));
    let others: Vec<String> = entries
        .iter()
        .filter(|(key, entries)| *key != taken && holds_tensors(entries))
        .map(|(key, _)| quoted(key))
        .collect();
    let note = (!others.is_empty()).then(|| {
        format!("the network is that of entry {}; {} passed over", quoted(taken), others.join(", "))
    });
    Ok((found, note))
}
