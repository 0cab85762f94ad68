//! A pickle machine that runs nothing.
//!
//! A pickle is a program for a stack machine. This one knows the opcodes that `torch.save` uses for
//! tensors in dictionaries and builds plain values from them; what a pickle may *call* is a fixed
//! list in [`super::value`]. Any other opcode is an error.
//!
//! Values live side by side in one vector and refer to each other by their place in it, so depth of
//! nesting costs no stack, neither while building nor while dropping.

use std::collections::HashMap;

use super::value::{self, Id, SAVE, Value};
use crate::FormatError;
use crate::state_dict::quoted;

/// The most values, stack places, marks and memo entries of a pickle: far more than the largest
/// models need, and at most some hundred megabytes.
const MAX_VALUES: usize = 1 << 21;

/// The largest pickle that is read. Tensors are elsewhere in the archive; 16 MiB of pickle describe
/// a hundred thousand of them.
pub(super) const MAX_PICKLE: u64 = 16 << 20;

/// What a pickle builds.
#[derive(Debug)]
pub(super) struct Unpickled {
    /// All values.
    pub(super) values: Vec<Value>,
    /// The value that the pickle is about.
    pub(super) root: Id,
}

/// Runs a pickle.
pub(super) fn load(pickle: &[u8]) -> Result<Unpickled, FormatError> {
    let mut machine = Machine {
        input: pickle,
        at: 0,
        values: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    loop {
        if let Some(root) = machine.step()? {
            return Ok(Unpickled { values: machine.values, root });
        }
        let Machine { values, stack, marks, memo, .. } = &machine;
        if [values.len(), stack.len(), marks.len(), memo.len()].iter().any(|&n| n > MAX_VALUES) {
            return Err(FormatError::unsupported(format!("the pickle builds more than {MAX_VALUES} values")));
        }
    }
}

/// The opcodes that are known, under their names in Python's `pickletools`.
mod op {
    pub(super) const MARK: u8 = b'(';
    pub(super) const STOP: u8 = b'.';
    pub(super) const NONE: u8 = b'N';
    pub(super) const NEWTRUE: u8 = 0x88;
    pub(super) const NEWFALSE: u8 = 0x89;
    pub(super) const BININT: u8 = b'J';
    pub(super) const BININT1: u8 = b'K';
    pub(super) const BININT2: u8 = b'M';
    pub(super) const LONG1: u8 = 0x8a;
    pub(super) const BINFLOAT: u8 = b'G';
    pub(super) const BINUNICODE: u8 = b'X';
    pub(super) const SHORT_BINUNICODE: u8 = 0x8c;
    pub(super) const BINUNICODE8: u8 = 0x8d;
    pub(super) const EMPTY_TUPLE: u8 = b')';
    pub(super) const TUPLE1: u8 = 0x85;
    pub(super) const TUPLE2: u8 = 0x86;
    pub(super) const TUPLE3: u8 = 0x87;
    pub(super) const TUPLE: u8 = b't';
    pub(super) const EMPTY_LIST: u8 = b']';
    pub(super) const APPEND: u8 = b'a';
    pub(super) const APPENDS: u8 = b'e';
    pub(super) const EMPTY_DICT: u8 = b'}';
    pub(super) const SETITEM: u8 = b's';
    pub(super) const SETITEMS: u8 = b'u';
    pub(super) const BINPUT: u8 = b'q';
    pub(super) const LONG_BINPUT: u8 = b'r';
    pub(super) const MEMOIZE: u8 = 0x94;
    pub(super) const BINGET: u8 = b'h';
    pub(super) const LONG_BINGET: u8 = b'j';
    pub(super) const GLOBAL: u8 = b'c';
    pub(super) const STACK_GLOBAL: u8 = 0x93;
    pub(super) const BINPERSID: u8 = b'Q';
    pub(super) const REDUCE: u8 = b'R';
    pub(super) const NEWOBJ: u8 = 0x81;
    pub(super) const BUILD: u8 = b'b';
    pub(super) const PROTO: u8 = 0x80;
    pub(super) const FRAME: u8 = 0x95;
}

struct Machine<'a> {
    input: &'a [u8],
    at: usize,
    values: Vec<Value>,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<'a> Machine<'a> {
    /// Runs one opcode; gives the result of the pickle at its end.
    fn step(&mut self) -> Result<Option<Id>, FormatError> {
        let start = self.at;
        match self.bytes::<1>()?[0] {
            op::STOP => return self.pop().map(Some),
            op::PROTO => self.protocol()?,
            op::FRAME => drop(self.bytes::<8>()?),
            op::MARK => self.marks.push(self.stack.len()),
            op::NONE => self.push(Value::None),
            op::NEWTRUE | op::NEWFALSE => self.push(Value::Bool),
            op::BININT1 => self.bytes().map(|b| self.push(Value::Int(u8::from_le_bytes(b).into())))?,
            op::BININT2 => self.bytes().map(|b| self.push(Value::Int(u16::from_le_bytes(b).into())))?,
            op::BININT => self.bytes().map(|b| self.push(Value::Int(i32::from_le_bytes(b).into())))?,
            op::LONG1 => self.long()?,
            op::BINFLOAT => self.bytes::<8>().map(|_| self.push(Value::Float))?,
            op::SHORT_BINUNICODE => self.bytes().and_then(|b| self.text(u8::from_le_bytes(b).into()))?,
            op::BINUNICODE => self.bytes().and_then(|b| self.text(u32::from_le_bytes(b).into()))?,
            op::BINUNICODE8 => self.bytes().and_then(|b| self.text(u64::from_le_bytes(b)))?,
            op::EMPTY_TUPLE => self.push(Value::Tuple(Vec::new())),
            op::TUPLE1 => self.small_tuple(1)?,
            op::TUPLE2 => self.small_tuple(2)?,
            op::TUPLE3 => self.small_tuple(3)?,
            op::TUPLE => self.pop_mark().map(|items| self.push(Value::Tuple(items)))?,
            op::EMPTY_LIST => self.push(Value::List),
            op::APPEND => self.pop().and_then(|_| self.append())?,
            op::APPENDS => self.pop_mark().and_then(|_| self.append())?,
            op::EMPTY_DICT => self.push(Value::Dict(Vec::new())),
            op::SETITEM => self.set_item()?,
            op::SETITEMS => self.pop_mark().and_then(|items| self.set_items(&items))?,
            op::BINPUT => self.bytes().and_then(|b| self.remember(u8::from_le_bytes(b).into()))?,
            op::LONG_BINPUT => self.bytes().and_then(|b| self.remember(u32::from_le_bytes(b)))?,
            op::MEMOIZE => self.remember(self.memo.len() as u32)?,
            op::BINGET => self.bytes().and_then(|b| self.recall(u8::from_le_bytes(b).into()))?,
            op::LONG_BINGET => self.bytes().and_then(|b| self.recall(u32::from_le_bytes(b)))?,
            op::GLOBAL => self.global()?,
            op::STACK_GLOBAL => self.stack_global()?,
            op::BINPERSID => self.persistent_id()?,
            op::REDUCE => self.reduce()?,
            op::NEWOBJ => return Err(self.new_object()),
            op::BUILD => self.build()?,
            other => return Err(unknown_opcode(other, start)),
        }
        Ok(None)
    }

    fn slice(&mut self, length: u64) -> Result<&'a [u8], FormatError> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let slice = end.and_then(|end| self.input.get(self.at..end));
        let slice = slice.ok_or_else(|| FormatError::malformed("the pickle ends in the middle"))?;
        self.at += slice.len();
        Ok(slice)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        Ok(self.slice(N as u64)?.try_into().expect("the slice has N bytes"))
    }

    fn push(&mut self, value: Value) {
        self.stack.push(self.values.len() as Id);
        self.values.push(value);
    }

    /// The topmost value; nothing below the last mark can be reached.
    fn pop(&mut self) -> Result<Id, FormatError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let top = (self.stack.len() > floor).then(|| self.stack.pop()).flatten();
        top.ok_or_else(underflow)
    }

    fn top(&mut self) -> Result<Id, FormatError> {
        let top = self.pop()?;
        self.stack.push(top);
        Ok(top)
    }

    fn pop_mark(&mut self) -> Result<Vec<Id>, FormatError> {
        let mark = self.marks.pop().ok_or_else(underflow)?;
        Ok(self.stack.split_off(mark))
    }

    fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }

    fn protocol(&mut self) -> Result<(), FormatError> {
        match self.bytes()? {
            [2..=5] => Ok(()),
            [n] => Err(FormatError::unsupported(format!("expected pickle protocol 2 to 5, found {n}"))),
        }
    }

    fn long(&mut self) -> Result<(), FormatError> {
        let [length] = self.bytes()?;
        let bytes = self.slice(length.into())?;
        let mut wide = if bytes.last().is_some_and(|b| b & 0x80 != 0) { [0xff; 8] } else { [0; 8] };
        match wide.get_mut(..bytes.len()) {
            Some(low) => {
                low.copy_from_slice(bytes);
                self.push(Value::Int(i64::from_le_bytes(wide)));
            }
            None => self.push(Value::LargeInt),
        }
        Ok(())
    }

    fn text(&mut self, length: u64) -> Result<(), FormatError> {
        let start = self.at;
        let text = std::str::from_utf8(self.slice(length)?);
        let text = text.map_err(|_| {
            FormatError::malformed(format!("byte {start} of the pickle: a name is not UTF-8"))
        })?;
        self.push(Value::Text(text.into()));
        Ok(())
    }

    fn small_tuple(&mut self, length: usize) -> Result<(), FormatError> {
        let mut items = (0..length).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        items.reverse();
        self.push(Value::Tuple(items));
        Ok(())
    }

    /// Lists are never looked into, so their items are dropped.
    fn append(&mut self) -> Result<(), FormatError> {
        let list = self.top()?;
        match self.value(list) {
            Value::List => Ok(()),
            other => Err(misused("appends to", other)),
        }
    }

    fn set_item(&mut self) -> Result<(), FormatError> {
        let value = self.pop()?;
        let key = self.pop()?;
        self.set_items(&[key, value])
    }

    fn set_items(&mut self, items: &[Id]) -> Result<(), FormatError> {
        let dict = self.top()? as usize;
        match &mut self.values[dict] {
            Value::Dict(entries) => {
                let (pairs, odd) = items.as_chunks::<2>();
                entries.extend(pairs.iter().map(|&[key, value]| (key, value)));
                if odd.is_empty() { Ok(()) } else { Err(underflow()) }
            }
            other => Err(misused("sets items of", other)),
        }
    }

    fn remember(&mut self, key: u32) -> Result<(), FormatError> {
        let top = self.top()?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<(), FormatError> {
        let &id = self.memo.get(&key).ok_or_else(|| {
            FormatError::malformed(format!("the pickle recalls value {key}, which it has not remembered"))
        })?;
        self.stack.push(id);
        Ok(())
    }

    fn global(&mut self) -> Result<(), FormatError> {
        let mut line = || {
            let rest = &self.input[self.at..];
            let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
            let line = std::str::from_utf8(self.slice(length as u64)?);
            self.slice(1)?;
            line.map_err(|_| FormatError::malformed("the name of a global in the pickle is not UTF-8"))
        };
        let (module, name) = (line()?, line()?);
        self.push(global_of(module, name)?);
        Ok(())
    }

    fn stack_global(&mut self) -> Result<(), FormatError> {
        let (name, module) = (self.pop()?, self.pop()?);
        match (self.value(module), self.value(name)) {
            (Value::Text(module), Value::Text(name)) => {
                let global = global_of(module, name)?;
                self.push(global);
                Ok(())
            }
            (module, _) => Err(misused("takes the name of a global from", module)),
        }
    }

    fn persistent_id(&mut self) -> Result<(), FormatError> {
        let id = self.pop()?;
        let storage = value::storage(&self.values, id)?;
        self.push(storage);
        Ok(())
    }

    fn reduce(&mut self) -> Result<(), FormatError> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        match value::call(&self.values, function, arguments)? {
            value::Called::New(value) => self.push(value),
            value::Called::Argument(id) => self.stack.push(id),
        }
        Ok(())
    }

    /// State is set on dictionaries only (PyTorch's `_metadata`) and says nothing about tensors.
    fn build(&mut self) -> Result<(), FormatError> {
        self.pop()?;
        let target = self.top()?;
        match self.value(target) {
            Value::Dict(_) => Ok(()),
            other => Err(misused("sets the state of", other)),
        }
    }

    fn new_object(&mut self) -> FormatError {
        let class = self.pop().and_then(|_| self.pop());
        let (Ok(class), outermost) = (class, self.stack.is_empty()) else { return underflow() };
        FormatError::unsupported(match self.value(class) {
            Value::Global(class) if outermost => {
                format!("the file holds a whole module of class {}; {SAVE}", quoted(class))
            }
            Value::Global(class) => {
                let class = quoted(class);
                format!(
                    "the file holds an object of class {class}, which is no tensor; save model.state_dict() alone"
                )
            }
            other => return misused("makes an object of", other),
        })
    }
}

/// Names longer than any in Python's world are refused: a pickle could repeat them at little cost.
fn global_of(module: &str, name: &str) -> Result<Value, FormatError> {
    if module.len() > 200 || name.len() > 200 {
        return Err(FormatError::malformed("the pickle names a global of more than 200 characters"));
    }
    Ok(Value::Global(format!("{module}.{name}").into()))
}

fn underflow() -> FormatError {
    FormatError::malformed("the pickle takes more from its stack than is there")
}

fn misused(does: &str, value: &Value) -> FormatError {
    FormatError::malformed(format!("the pickle {does} {}", value.describe()))
}

fn unknown_opcode(opcode: u8, at: usize) -> FormatError {
    let shown = if opcode.is_ascii_graphic() { format!(" ('{}')", opcode as char) } else { String::new() };
    FormatError::unsupported(format!(
        "byte {at} of the pickle: opcode 0x{opcode:02x}{shown} is none that torch.save uses for tensors; nothing was run"
    ))
}
