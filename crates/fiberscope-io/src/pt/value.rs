//! The values of a pickle, and the few functions it may call.

use std::rc::Rc;

use crate::FormatError;
use crate::element::Element;
use crate::state_dict::quoted;

/// The place of a value among all values of a pickle.
pub(super) type Id = u32;

/// What a pickle can build.
#[derive(Debug)]
pub(super) enum Value {
    None,
    Bool,
    Int(i64),
    LargeInt,
    Float,
    Text(Rc<str>),
    Tuple(Vec<Id>),
    /// A list, whatever is in it.
    List,
    /// Keys and values, in the order in which they were set.
    Dict(Vec<(Id, Id)>),
    /// The name of a class or function. It is never looked up.
    Global(Box<str>),
    Storage(Box<Storage>),
    Tensor(Box<Tensor>),
}

/// Numbers in an entry of the archive.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    /// The entry's name, after the folder `data`.
    pub(super) key: Rc<str>,
    /// The type of the numbers.
    pub(super) element: Element,
    /// How many there are.
    pub(super) entries: u64,
}

/// A view of a storage, as the pickle describes it: the values of the arguments of
/// `_rebuild_tensor_v2`, which were checked. A pickle can share them among many tensors, so they are
/// not copied.
#[derive(Debug)]
pub(super) struct Tensor {
    storage: Id,
    offset: Id,
    shape: Id,
    strides: Id,
}

/// A view of a storage: entry `(i, j, ...)` is number `offset + i stride_1 + j stride_2 + ...`.
#[derive(Debug)]
pub(super) struct View {
    /// The numbers.
    pub(super) storage: Storage,
    /// The place of the first entry.
    pub(super) offset: u64,
    /// The dimensions.
    pub(super) shape: Vec<u64>,
    /// The steps, one per dimension.
    pub(super) strides: Vec<u64>,
}

impl Value {
    /// The kind of value, in words.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::None => "None".to_owned(),
            Value::Bool => "a boolean".to_owned(),
            Value::Int(_) | Value::LargeInt => "an integer".to_owned(),
            Value::Float => "a float".to_owned(),
            Value::Text(_) => "a string".to_owned(),
            Value::Tuple(_) => "a tuple".to_owned(),
            Value::List => "a list".to_owned(),
            Value::Dict(_) => "a dictionary".to_owned(),
            Value::Global(name) => format!("the global {}", quoted(name)),
            Value::Storage(_) => "a storage".to_owned(),
            Value::Tensor(_) => "a tensor".to_owned(),
        }
    }
}

/// The two lines that make of a whole module, which is code, a file that can be read.
pub(super) const SAVE: &str = "nothing in it was run; these lines save what can be read:\n  \
    model = torch.load(path, weights_only=False).eval()\n  \
    torch.onnx.export(model, example_input, \"model.onnx\")";

/// What a call gives.
pub(super) enum Called {
    /// A new value.
    New(Value),
    /// One of its arguments.
    Argument(Id),
}

/// Calls a function of the list.
pub(super) fn call(values: &[Value], function: Id, arguments: Id) -> Result<Called, FormatError> {
    let (Value::Global(name), Value::Tuple(arguments)) = (get(values, function), get(values, arguments))
    else {
        let message = format!("the pickle calls {}", get(values, function).describe());
        return Err(FormatError::malformed(message));
    };
    let bad_arguments =
        || FormatError::unsupported(format!("the pickle calls {} with unknown arguments", quoted(name)));
    match (&**name, arguments.as_slice()) {
        ("collections.OrderedDict", []) => Ok(Called::New(Value::Dict(Vec::new()))),
        ("torch._utils._rebuild_tensor_v2", [storage, offset, shape, strides, ..]) => {
            let tensor = Tensor { storage: *storage, offset: *offset, shape: *shape, strides: *strides };
            tensor.view(values).ok_or_else(bad_arguments)?;
            Ok(Called::New(Value::Tensor(Box::new(tensor))))
        }
        ("torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state", [tensor, ..])
            if matches!(get(values, *tensor), Value::Tensor(_)) =>
        {
            Ok(Called::Argument(*tensor))
        }
        (
            "collections.OrderedDict"
            | "torch._utils._rebuild_tensor_v2"
            | "torch._utils._rebuild_parameter"
            | "torch._utils._rebuild_parameter_with_state",
            _,
        ) => Err(bad_arguments()),
        _ => Err(FormatError::unsupported(format!(
            "the pickle calls {}, which is none of the functions that make tensors; nothing was run",
            quoted(name)
        ))),
    }
}

/// The storage that a persistent id `('storage', type, key, location, entries)` names.
pub(super) fn storage(values: &[Value], id: Id) -> Result<Value, FormatError> {
    let unknown = || FormatError::malformed("the pickle names a storage in an unknown way");
    let Value::Tuple(items) = get(values, id) else { return Err(unknown()) };
    let &[kind, class, key, _, entries] = items.as_slice() else { return Err(unknown()) };
    let (Value::Text(kind), Value::Global(class), Value::Text(key)) =
        (get(values, kind), get(values, class), get(values, key))
    else {
        return Err(unknown());
    };
    let entries = unsigned(values, entries).filter(|_| **kind == *"storage").ok_or_else(unknown)?;
    let element = match &**class {
        "torch.DoubleStorage" => Element::F64,
        "torch.FloatStorage" => Element::F32,
        "torch.HalfStorage" => Element::F16,
        "torch.BFloat16Storage" => Element::Bf16,
        "torch.LongStorage" => Element::I64,
        "torch.IntStorage" => Element::I32,
        "torch.ShortStorage" => Element::I16,
        "torch.CharStorage" => Element::I8,
        "torch.ByteStorage" => Element::U8,
        "torch.BoolStorage" => Element::Bool,
        _ => {
            let message =
                format!("the pickle holds a tensor of {}; expected floats or integers", quoted(class));
            return Err(FormatError::unsupported(message));
        }
    };
    Ok(Value::Storage(Box::new(Storage { key: key.clone(), element, entries })))
}

fn get(values: &[Value], id: Id) -> &Value {
    &values[id as usize]
}

fn unsigned(values: &[Value], id: Id) -> Option<u64> {
    match get(values, id) {
        Value::Int(n) => u64::try_from(*n).ok(),
        _ => None,
    }
}

fn unsigned_tuple(values: &[Value], id: Id) -> Option<Vec<u64>> {
    match get(values, id) {
        Value::Tuple(items) if items.len() <= MAX_DIMENSIONS => {
            items.iter().map(|&item| unsigned(values, item)).collect()
        }
        _ => None,
    }
}

/// More dimensions than any layer's parameters have.
const MAX_DIMENSIONS: usize = 8;

impl Tensor {
    /// The view that the values say; `None` if they say none.
    pub(super) fn view(&self, values: &[Value]) -> Option<View> {
        let Value::Storage(storage) = get(values, self.storage) else { return None };
        let (shape, strides) = (unsigned_tuple(values, self.shape)?, unsigned_tuple(values, self.strides)?);
        let offset = unsigned(values, self.offset)?;
        (shape.len() == strides.len()).then(|| View { storage: (**storage).clone(), offset, shape, strides })
    }
}
