//! What the readers of text formats share.

use crate::FormatError;

/// The longest part of an error message that is copied from a file, in characters.
const MAX_QUOTE: usize = 80;
/// The longest message of a parser that is passed on, in characters.
const MAX_MESSAGE: usize = 320;

/// The bytes as text, or an error that names the line.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, FormatError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = line_of(bytes, error.valid_up_to());
        FormatError::malformed(format!("line {line}: expected text in UTF-8"))
    })
}

/// The line in which a byte lies, counted from 1.
pub(crate) fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count()
}

/// The message, or its beginning and end: what was found, and what was expected.
pub(crate) fn shorten(message: &str) -> String {
    let length = message.chars().count();
    if length <= MAX_MESSAGE {
        return message.to_owned();
    }
    let part = |skip, take| message.chars().skip(skip).take(take).collect::<String>();
    format!("{}...{}", part(0, MAX_MESSAGE / 2), part(length - MAX_MESSAGE / 2, length))
}

/// The text, or its beginning if it is too long for an error message.
pub(crate) fn clip(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
