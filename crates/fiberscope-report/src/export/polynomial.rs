//! Polynomials with rational coefficients, in the languages of computer algebra.

use fiberscope_core::Rational;

use super::Program;

/// A variable: a letter with indices that count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// `w` (weight: layer, neuron, input), `b` (bias: layer, neuron) or another letter.
    pub letter: char,
    /// The indices.
    pub indices: Vec<usize>,
}

impl Variable {
    /// A variable.
    pub fn new(letter: char, indices: &[usize]) -> Self {
        Variable { letter, indices: indices.to_vec() }
    }

    /// Its name in a language: `w1_2_3`, `w_(1,2,3)`, or `w^{(1)}_{2,3}`.
    pub(super) fn name(&self, program: Program) -> String {
        let joined = |sign: &str, indices: &[usize]| {
            indices.iter().map(ToString::to_string).collect::<Vec<_>>().join(sign)
        };
        let letter = self.letter;
        match (program, &self.indices[..]) {
            (_, []) => letter.to_string(),
            (Program::Sage, indices) => format!("{letter}{}", joined("_", indices)),
            (Program::Macaulay2, indices) => format!("{letter}_({})", joined(",", indices)),
            (Program::Latex, [layer, rest @ ..]) => {
                format!("{letter}^{{({layer})}}_{{{}}}", joined(",", rest))
            }
        }
    }
}

/// A sum of products of variables, which are known by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial {
    terms: Vec<(Rational, Vec<usize>)>,
}

impl Polynomial {
    /// A number.
    pub fn constant(number: Rational) -> Self {
        Polynomial::default().plus(number, &[])
    }

    /// One product.
    pub fn monomial(coefficient: Rational, variables: &[usize]) -> Self {
        Polynomial::default().plus(coefficient, variables)
    }

    /// With one more product.
    pub fn plus(mut self, coefficient: Rational, variables: &[usize]) -> Self {
        if !coefficient.is_zero() {
            self.terms.push((coefficient, variables.to_vec()));
        }
        self
    }

    /// With another polynomial times a number added to it.
    pub fn plus_times(mut self, factor: &Rational, other: &Polynomial) -> Self {
        for (coefficient, variables) in &other.terms {
            self = self.plus(factor * coefficient, variables);
        }
        self
    }

    /// The product with another one.
    pub fn times(&self, other: &Polynomial) -> Self {
        let mut product = Polynomial::default();
        for (c, xs) in &self.terms {
            for (d, ys) in &other.terms {
                product = product.plus(c * d, &[&xs[..], ys].concat());
            }
        }
        product
    }

    /// The value at a point.
    pub fn value(&self, point: &[Rational]) -> Rational {
        let term =
            |(c, xs): &(Rational, Vec<usize>)| xs.iter().fold(c.clone(), |value, &x| &value * &point[x]);
        self.terms.iter().map(term).sum()
    }

    /// The polynomial in a language, its variables by their names.
    pub(super) fn text(&self, program: Program, names: &[String]) -> String {
        let mut text = String::new();
        for (coefficient, variables) in &self.terms {
            let negative = coefficient.is_negative();
            text += match (text.is_empty(), negative) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            let size = coefficient.abs();
            let mut factors: Vec<String> = variables.iter().map(|&x| names[x].clone()).collect();
            if size != Rational::ONE || factors.is_empty() {
                factors.insert(0, number(program, &size));
            }
            text += &factors.join(if program == Program::Latex { "\\, " } else { "*" });
        }
        if text.is_empty() { "0".into() } else { text }
    }
}

/// A number that is not negative, in a language.
pub(super) fn number(program: Program, x: &Rational) -> String {
    let text = x.to_string();
    match (program, text.split_once('/')) {
        (_, None) => text,
        (Program::Latex, Some((p, q))) => format!("\\tfrac{{{p}}}{{{q}}}"),
        (_, Some(_)) => format!("({text})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_written_exactly_in_every_language() {
        let r = |text: &str| text.parse::<Rational>().unwrap();
        let variables =
            [Variable::new('w', &[1, 2, 3]), Variable::new('b', &[1, 2]), Variable::new('t', &[])];
        let text = |polynomial: &Polynomial, program| {
            let names: Vec<String> = variables.iter().map(|variable| variable.name(program)).collect();
            polynomial.text(program, &names)
        };
        let p =
            Polynomial::monomial(r("-3/4"), &[0, 1]).plus(r("1"), &[2]).plus(r("0"), &[0]).plus(r("-5"), &[]);
        assert_eq!(text(&p, Program::Sage), "-(3/4)*w1_2_3*b1_2 + t - 5");
        assert_eq!(text(&p, Program::Macaulay2), "-(3/4)*w_(1,2,3)*b_(1,2) + t - 5");
        assert_eq!(text(&p, Program::Latex), r"-\tfrac{3}{4}\, w^{(1)}_{2,3}\, b^{(1)}_{2} + t - 5");
        assert_eq!(text(&Polynomial::default(), Program::Sage), "0");
        assert_eq!(p.value(&[r("2"), r("1/3"), r("7")]), r("3/2"));
        assert_eq!(p.times(&p).value(&[r("2"), r("1/3"), r("7")]), r("9/4"));
    }
}
