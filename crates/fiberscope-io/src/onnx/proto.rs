//! The messages of ONNX that matter here, as views of the file's bytes.
//!
//! A view holds names and the bytes of its message; lists inside it are walked when asked for.

use std::fmt;

use super::wire::{Field, Message};
use crate::FormatError;

/// A name from the file in an error message: on one line and of bounded length.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const LONGEST: usize = 80;
        let mut characters = self.0.chars();
        write!(f, "`")?;
        for character in characters.by_ref().take(LONGEST) {
            write!(f, "{}", character.escape_debug())?;
        }
        if characters.next().is_some() {
            write!(f, "...")?;
        }
        write!(f, "`")
    }
}

/// A `NodeProto`: an operator applied to named values.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) operator: &'a str,
    domain: &'a str,
    name: &'a str,
    body: Message<'a>,
}

impl<'a> Node<'a> {
    pub(super) fn parse(body: Message<'a>) -> Result<Self, FormatError> {
        let mut node = Node { operator: "", domain: "", name: "", body };
        let mut first_output = "";
        for field in body.fields() {
            let field = field?;
            match field.number {
                2 if first_output.is_empty() => first_output = field.text()?,
                3 => node.name = field.text()?,
                4 => node.operator = field.text()?,
                7 => node.domain = field.text()?,
                _ => {}
            }
        }
        if node.name.is_empty() {
            node.name = first_output;
        }
        if node.name.is_empty() {
            return Err(FormatError::malformed("a node has neither a name nor an output"));
        }
        if node.operator.is_empty() {
            return Err(FormatError::malformed(format!("node {} has no operator", Quoted(node.name))));
        }
        Ok(node)
    }

    /// The names of the inputs; an empty name stands for an optional input that is left out.
    pub(super) fn inputs(&self) -> impl Iterator<Item = Result<&'a str, FormatError>> + use<'a> {
        texts(self.body, 1)
    }

    /// The names of the outputs; an empty name stands for an optional output that is left out.
    pub(super) fn outputs(&self) -> impl Iterator<Item = Result<&'a str, FormatError>> + use<'a> {
        texts(self.body, 2)
    }

    /// The attribute of that name.
    pub(super) fn attribute(&self, name: &str) -> Result<Option<Attribute<'a>>, FormatError> {
        for field in self.body.fields() {
            let field = field?;
            if field.number == 5 {
                let attribute = field.message("an attribute")?;
                if let Some(found) = attribute.last(1)?
                    && found.text()? == name
                {
                    return Ok(Some(Attribute(attribute)));
                }
            }
        }
        Ok(None)
    }

    /// The messages of all attributes.
    pub(super) fn attribute_messages(
        &self,
    ) -> impl Iterator<Item = Result<Message<'a>, FormatError>> + use<'a> {
        let is_other =
            |field: &Result<Field, FormatError>| field.as_ref().is_ok_and(|field| field.number != 5);
        let fields = self.body.fields().filter(move |field| !is_other(field));
        fields.map(|field| field?.message("an attribute"))
    }

    /// Its name, or that of its first output if it has none.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// The length of the message in bytes.
    pub(super) fn size(&self) -> usize {
        self.body.size()
    }

    /// Whether an attribute is a graph (`If`, `Loop`, `Scan`).
    pub(super) fn has_subgraph(&self) -> Result<bool, FormatError> {
        for field in self.body.fields() {
            let field = field?;
            if field.number == 5 {
                let attribute = field.message("an attribute")?;
                if attribute.last(6)?.is_some() || attribute.last(11)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether the two are the same node of the file.
    pub(super) fn is_same(&self, other: &Node) -> bool {
        self.body.is_same(other.body)
    }

    /// Whether the operator is one of the ONNX standard rather than of a vendor.
    pub(super) fn is_standard(&self) -> bool {
        matches!(self.domain, "" | "ai.onnx")
    }

    /// Whether the operator is one that onnxruntime adds to the standard.
    pub(super) fn is_of_onnxruntime(&self) -> bool {
        self.domain == "com.microsoft"
    }

    /// Whether the operator is one of onnxruntime's for a layout of its own.
    pub(super) fn is_for_one_processor(&self) -> bool {
        self.domain == "com.microsoft.nchwc"
    }

    /// Whether the operator is one of those that scikit-learn's exports use beside the standard.
    pub(super) fn is_for_classifiers(&self) -> bool {
        self.domain == "ai.onnx.ml"
    }

    /// Whether it is the one that scikit-learn's exports put before a network.
    pub(super) fn is_scaler(&self) -> bool {
        self.is_for_classifiers() && self.operator == "Scaler"
    }

    /// Whether it is one of those of scikit-learn's exports that are read inside a graph.
    pub(super) fn is_of_pipelines(&self) -> bool {
        self.is_for_classifiers() && matches!(self.operator, "Scaler" | "ArrayFeatureExtractor")
    }

    /// A malformed node.
    pub(super) fn malformed(&self, reason: impl fmt::Display) -> FormatError {
        FormatError::malformed(format!("{self}: {reason}"))
    }

    /// A node that is no part of what can be read.
    pub(super) fn unsupported(&self, reason: impl fmt::Display) -> FormatError {
        FormatError::unsupported(format!("{self}: {reason}"))
    }

    pub(super) fn integer(&self, name: &str, default: i64) -> Result<i64, FormatError> {
        self.attribute(name)?.map_or(Ok(default), |attribute| attribute.integer())
    }

    pub(super) fn float(&self, name: &str, default: f32) -> Result<f32, FormatError> {
        self.attribute(name)?.map_or(Ok(default), |attribute| attribute.float())
    }

    pub(super) fn integers(&self, name: &str) -> Result<Option<Vec<i64>>, FormatError> {
        self.attribute(name)?.map(|attribute| attribute.integers()).transpose()
    }
}

impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "node {} (", Quoted(self.name))?;
        if !self.is_standard() {
            write!(f, "{}.", self.domain.chars().take(40).collect::<String>().escape_debug())?;
        }
        write!(f, "{})", self.operator.chars().take(40).collect::<String>().escape_debug())
    }
}

/// An `AttributeProto`.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'a>(Message<'a>);

impl<'a> Attribute<'a> {
    pub(super) fn float(&self) -> Result<f32, FormatError> {
        self.0.last(2)?.map_or(Ok(0.0), |field| field.float())
    }

    pub(super) fn integer(&self) -> Result<i64, FormatError> {
        self.0.last(3)?.map_or(Ok(0), |field| field.integer())
    }

    pub(super) fn string(&self) -> Result<&'a [u8], FormatError> {
        self.0.last(4)?.map_or(Ok(&[]), |field| field.bytes())
    }

    pub(super) fn tensor(&self) -> Result<Option<Message<'a>>, FormatError> {
        self.0.last(5)?.map(|field| field.message("a constant")).transpose()
    }

    pub(super) fn floats(&self) -> Result<Vec<f32>, FormatError> {
        let mut values = Vec::new();
        self.each(7, |field| field.floats(|value| values.push(value)))?;
        Ok(values)
    }

    pub(super) fn integers(&self) -> Result<Vec<i64>, FormatError> {
        let mut values = Vec::new();
        self.each(8, |field| field.integers(|value| values.push(value)))?;
        Ok(values)
    }

    fn each(
        &self,
        number: u64,
        mut f: impl FnMut(Field<'a>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        for field in self.0.fields() {
            let field = field?;
            if field.number == number {
                f(field)?;
            }
        }
        Ok(())
    }
}

/// A `ValueInfoProto`: the name and type of the graph's input or output.
#[derive(Clone, Copy)]
pub(super) struct ValueInfo<'a> {
    pub(super) name: &'a str,
    body: Message<'a>,
}

impl<'a> ValueInfo<'a> {
    pub(super) fn parse(body: Message<'a>) -> Result<Self, FormatError> {
        let name = body.last(1)?.map_or(Ok(""), |field| field.text())?;
        if name.is_empty() {
            return Err(FormatError::malformed("an input or output of the graph has no name"));
        }
        Ok(ValueInfo { name, body })
    }

    /// The element type (as in `TensorProto.DataType`) and the shape, where the file gives them.
    pub(super) fn tensor_type(&self) -> Result<Option<(i64, Option<Shape<'a>>)>, FormatError> {
        let Some(field) = self.body.last(2)? else { return Ok(None) };
        let Some(field) = field.message("a type")?.last(1)? else { return Ok(None) };
        let tensor = field.message("a tensor type")?;
        let element = tensor.last(1)?.map_or(Ok(0), |field| field.integer())?;
        let shape = tensor.last(2)?.map(|field| field.message("a shape")).transpose()?;
        Ok(Some((element, shape.map(Shape))))
    }
}

/// A `TensorShapeProto`.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a>(Message<'a>);

/// One dimension of a shape.
pub(super) enum Dimension<'a> {
    Known(i64),
    Symbolic(&'a str),
}

impl<'a> Shape<'a> {
    pub(super) fn dimensions(self) -> impl Iterator<Item = Result<Dimension<'a>, FormatError>> {
        numbered(self.0, 1).map(|field| {
            let dimension = field?.message("a dimension")?;
            Ok(match dimension.last(1)? {
                Some(value) => Dimension::Known(value.integer()?),
                None => Dimension::Symbolic(dimension.last(2)?.map_or(Ok("?"), |field| field.text())?),
            })
        })
    }
}

fn numbered<'a>(
    message: Message<'a>,
    number: u64,
) -> impl Iterator<Item = Result<Field<'a>, FormatError>> + use<'a> {
    message.fields().filter(move |field| field.as_ref().map_or(true, |field| field.number == number))
}

fn texts<'a>(
    message: Message<'a>,
    number: u64,
) -> impl Iterator<Item = Result<&'a str, FormatError>> + use<'a> {
    numbered(message, number).map(|field| field?.text())
}
