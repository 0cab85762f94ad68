//! Lines of numbers on their way into the hash of a fingerprint, as `docs/theory/canonical-form.md` writes them down.

use std::fmt::Write;

use fiberscope_core::{Rational, Scalar};
use sha2::{Digest, Sha256};

/// How numbers enter the hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FingerprintVersion {
    /// As text. A fingerprint is 64 hexadecimal digits.
    V1,
    /// As the bytes of doubles, line by line where all numbers of the line are doubles. A fingerprint is `v2:` and 64
    /// hexadecimal digits.
    #[default]
    V2,
}

/// The lines of a fingerprint.
pub(super) struct Lines {
    version: FingerprintVersion,
    hash: Sha256,
    line: Vec<u8>,
    /// The powers of two that denominators are.
    powers: Vec<String>,
}

impl Lines {
    /// With the first line, which names the version.
    pub(super) fn new(version: FingerprintVersion) -> Self {
        let powers = (0..128).map(|power| (1u128 << power).to_string()).collect();
        let mut lines = Lines { version, hash: Sha256::new(), line: Vec::new(), powers };
        lines.text(match version {
            FingerprintVersion::V1 => "fiberscope-fingerprint-v1",
            FingerprintVersion::V2 => "fiberscope-fingerprint-v2",
        });
        lines
    }

    /// A line without numbers.
    pub(super) fn text(&mut self, text: &str) {
        self.begin(text);
        self.end();
    }

    /// A line of numbers.
    pub(super) fn numbers<'a>(&mut self, word: &str, numbers: impl Iterator<Item = &'a Rational> + Clone) {
        self.begin(word);
        let written = self.version == FingerprintVersion::V2 && {
            self.line.extend_from_slice(b" d");
            numbers.clone().all(|x| {
                let rounded = x.to_f64();
                self.line.extend_from_slice(&rounded.to_le_bytes());
                rounded.is_finite() && &rounded.to_rational() == x
            })
        };
        if !written {
            self.line.truncate(word.len());
            for x in numbers {
                self.line.push(b' ');
                self.number(x);
            }
        }
        self.end();
    }

    /// A line of finite doubles, for version 2.
    pub(super) fn doubles(&mut self, word: &str, numbers: impl Iterator<Item = f64>) {
        debug_assert_eq!(self.version, FingerprintVersion::V2);
        self.begin(word);
        self.line.extend_from_slice(b" d");
        // Adding zero turns -0 into +0 and changes nothing else.
        numbers.for_each(|x| self.line.extend_from_slice(&(x + 0.0).to_le_bytes()));
        self.end();
    }

    /// The fingerprint.
    pub(super) fn finish(self) -> String {
        let mut fingerprint = match self.version {
            FingerprintVersion::V1 => String::new(),
            FingerprintVersion::V2 => "v2:".to_owned(),
        };
        for byte in self.hash.finalize() {
            write!(fingerprint, "{byte:02x}").expect("writing to a string does not fail");
        }
        fingerprint
    }

    fn begin(&mut self, word: &str) {
        self.line.clear();
        self.line.extend_from_slice(word.as_bytes());
    }

    fn end(&mut self) {
        self.line.push(b'\n');
        self.hash.update(&self.line);
    }

    /// The number as it is displayed. A network has millions of them, nearly all with short mantissas.
    fn number(&mut self, x: &Rational) {
        let power = |exponent: i64| usize::try_from(-exponent).ok().filter(|&power| power < 128);
        match Scalar::short_parts(x).map(|(mantissa, exponent)| (mantissa, power(exponent))) {
            Some((mantissa, Some(0))) => push_integer(&mut self.line, mantissa),
            Some((mantissa, Some(power))) => {
                push_integer(&mut self.line, mantissa);
                self.line.push(b'/');
                self.line.extend_from_slice(self.powers[power].as_bytes());
            }
            _ => self.line.extend_from_slice(x.to_string().as_bytes()),
        }
    }
}

/// Adds an integer in decimal digits.
fn push_integer(text: &mut Vec<u8>, integer: i64) {
    let (mut digits, mut first) = ([b'0'; 20], 20);
    let mut rest = integer.unsigned_abs();
    while rest >= 10 {
        let pair = (rest % 100) as u8;
        rest /= 100;
        first -= 2;
        digits[first..first + 2].copy_from_slice(&[b'0' + pair / 10, b'0' + pair % 10]);
    }
    if rest > 0 || first == 20 {
        first -= 1;
        digits[first] = b'0' + rest as u8;
    }
    if integer < 0 {
        text.push(b'-');
    }
    text.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_enter_as_they_are_displayed() {
        let edges = [0, 1, -1, 9, 10, -99, 100, 105, 999, 1 << 53, i64::MAX, i64::MIN, i64::MIN + 1];
        let exponents = [-1074, -200, -128, -127, -64, -63, -1, 0, 1, 20, 63, 64, 300];
        let dyadic = edges.iter().flat_map(|&m| exponents.map(|e| Rational::dyadic(m.into(), e)));
        let others = ["1/3", "-22/7", "123456789012345678901234567890"].map(|text| text.parse().unwrap());
        for x in dyadic.chain(others) {
            let mut lines = Lines::new(FingerprintVersion::V1);
            lines.line.clear();
            lines.number(&x);
            assert_eq!(String::from_utf8(lines.line).unwrap(), x.to_string());
        }
    }

    /// The bytes of one line after the first.
    fn line_of(version: FingerprintVersion, numbers: &[Rational]) -> Vec<u8> {
        let mut lines = Lines::new(version);
        lines.numbers("row", numbers.iter());
        let expected: [u8; 32] = {
            let name = format!(
                "fiberscope-fingerprint-{}\n",
                if version == FingerprintVersion::V1 { "v1" } else { "v2" }
            );
            Sha256::digest([name.as_bytes(), &lines.line].concat()).into()
        };
        let hex: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = lines.line.clone();
        assert!(lines.finish().ends_with(&hex));
        line
    }

    #[test]
    fn a_line_of_doubles_is_their_bytes_and_any_other_is_text() {
        let numbers =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Rational>>();
        let doubles = numbers(&["0", "-3/4", "5"]);
        let bytes: Vec<u8> = [0.0f64, -0.75, 5.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(line_of(FingerprintVersion::V2, &doubles), [b"row d", &bytes[..], b"\n"].concat());
        assert_eq!(line_of(FingerprintVersion::V1, &doubles), b"row 0 -3/4 5\n");
        let mixed = numbers(&["1/2", "1/3"]);
        assert_eq!(line_of(FingerprintVersion::V2, &mixed), b"row 1/2 1/3\n");
        // Beyond the doubles, and between two of them.
        let far = [Rational::dyadic(1, 1024), &Rational::dyadic(1, 60) + &Rational::ONE];
        for x in far {
            let expected = format!("row {x}\n");
            assert_eq!(line_of(FingerprintVersion::V2, &[x]), expected.as_bytes());
        }
        let mut lines = Lines::new(FingerprintVersion::V2);
        lines.doubles("row", [-0.0, -0.75, 5.0].into_iter());
        assert_eq!(lines.line, [b"row d", &bytes[..], b"\n"].concat());
    }
}
