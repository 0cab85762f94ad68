//! Reading and writing by file name.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use fiberscope_core::Network;

use crate::{
    Data, FormatError, IoError, Model, Names, Precision, ReadOptions, RoundingLoss, csv, json, nnet, npz,
    onnx, pt, round_to_f32, safetensors, write, write_atomically, zoo,
};

const FORMATS: &str = ".onnx, .safetensors, .npz, .nnet, .json, .pt or .pth";
const READABLE: &str = ".onnx, .safetensors, .npz, .nnet, .json, .pt or .pth (or zoo:NAME, or - for JSON on \
                        standard input)";
const WRITABLE: [&str; 4] = ["json", "npz", "safetensors", "onnx"];
const WRITABLE_NAMES: &str = ".json, .npz, .safetensors or .onnx";
const DATA: &str = ".csv, .npy or .npz";

/// Reads the network that a model argument names: a file, `zoo:NAME`, or `-` for JSON on standard
/// input.
pub fn load(argument: &str, options: &ReadOptions) -> Result<Model, IoError> {
    if let Some(name) = argument.strip_prefix("zoo:") {
        return zoo::network(name);
    }
    if argument == "-" {
        let mut bytes = Vec::new();
        let path = PathBuf::from("standard input");
        std::io::stdin().read_to_end(&mut bytes).map_err(|source| file_error(&path, source))?;
        return json::read(&bytes, options).map_err(|source| IoError::Format { path, source });
    }
    load_file(Path::new(argument), options)
}

fn load_file(path: &Path, options: &ReadOptions) -> Result<Model, IoError> {
    if extension(path) == "safetensors" {
        let file = File::open(path).map_err(|source| file_error(path, source))?;
        return safetensors::read_file(&file, options).map_err(|source| format_error(path, source));
    }
    let read = reader(path, READABLE)?;
    let bytes = std::fs::read(path).map_err(|source| file_error(path, source))?;
    let folder = path.parent().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    let options = ReadOptions { folder: folder.map(Path::to_owned), ..options.clone() };
    read(&bytes, &options).map_err(|source| format_error(path, source))
}

/// Reads a network from the contents of a file with this name, where there are no files.
pub fn load_bytes(name: &Path, bytes: &[u8], options: &ReadOptions) -> Result<Model, IoError> {
    reader(name, FORMATS)?(bytes, options).map_err(|source| format_error(name, source))
}

type Reader = fn(&[u8], &ReadOptions) -> Result<Model, FormatError>;

/// The reader for a file's ending; the error names what was expected.
fn reader(path: &Path, expected: &'static str) -> Result<Reader, IoError> {
    Ok(match extension(path).as_str() {
        "safetensors" => safetensors::read,
        "onnx" => onnx::read,
        "nnet" => nnet::read,
        "json" => json::read,
        "npz" => npz::read,
        "pt" | "pth" => pt::read,
        "keras" | "h5" | "hdf5" => {
            let advice = "Keras files are read by the Python package: fiberscope.load(path).save(\"model.onnx\"); or export the model \
                          with model.export(\"model.onnx\", format=\"onnx\")";
            return Err(format_error(path, FormatError::unsupported(advice)));
        }
        "pkl" | "pickle" | "joblib" => {
            let advice = "a pickle is code, which is not run here; in Python, fiberscope.from_sklearn(model).save(\"model.onnx\") and \
                          fiberscope.from_torch(model, example_input).save(\"model.onnx\") write what can be read";
            return Err(format_error(path, FormatError::unsupported(advice)));
        }
        _ => return Err(IoError::UnknownExtension { path: path.to_owned(), expected }),
    })
}

/// Reads a data file: one row per point.
pub fn load_data(path: &Path) -> Result<Data, IoError> {
    let read: fn(&[u8]) -> Result<Data, FormatError> = match extension(path).as_str() {
        "csv" => csv::read,
        "npy" => npz::read_npy_data,
        "npz" => npz::read_npz_data,
        _ => return Err(IoError::UnknownExtension { path: path.to_owned(), expected: DATA }),
    };
    let bytes = std::fs::read(path).map_err(|source| file_error(path, source))?;
    read(&bytes).map_err(|source| format_error(path, source))
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// The network as it stands in the file.
    pub network: Network,
    /// The precision of the file.
    pub precision: Precision,
    /// What rounding to that precision changed, if anything.
    pub loss: Option<RoundingLoss>,
}

/// Writes a network in the format that the file's name asks for, in single or double precision. JSON
/// always has double precision.
pub fn save(network: &Network, path: &Path, precision: Precision) -> Result<Written, IoError> {
    save_named(network, None, path, precision)
}

/// The same with names, which ONNX files keep for layers whose neurons share one.
pub fn save_named(
    network: &Network,
    names: Option<&Names>,
    path: &Path,
    precision: Precision,
) -> Result<Written, IoError> {
    check_writable(path)?;
    let extension = extension(path);
    let single = precision != Precision::F64 && extension != "json";
    let (network, loss, precision) = if single {
        let (rounded, loss) = round_to_f32(network).map_err(|source| format_error(path, source))?;
        (rounded, loss, Precision::F32)
    } else {
        (network.clone(), None, Precision::F64)
    };
    write_atomically(path, |out| match extension.as_str() {
        "json" => json::write(&network, out),
        "npz" => npz::write(&network, precision, out),
        "safetensors" => safetensors::write(&network, precision, out),
        _ => onnx::write_named(&network, names, precision, out),
    })?;
    Ok(Written { network, precision, loss })
}

/// Whether [`save`] knows the ending of this file and its folder exists: to be asked before long work whose
/// result goes there.
pub fn check_writable(path: &Path) -> Result<(), IoError> {
    if !WRITABLE.contains(&extension(path).as_str()) {
        return Err(IoError::UnknownExtension { path: path.to_owned(), expected: WRITABLE_NAMES });
    }
    write::check_place(path).map_err(|source| file_error(path, source))
}

fn extension(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn file_error(path: &Path, source: std::io::Error) -> IoError {
    IoError::File { path: path.to_owned(), source }
}

fn format_error(path: &Path, source: FormatError) -> IoError {
    match source {
        FormatError::Io(source) => file_error(path, source),
        source => IoError::Format { path: path.to_owned(), source },
    }
}
