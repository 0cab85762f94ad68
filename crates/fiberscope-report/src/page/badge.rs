//! Badges: a status in a few words.

use fiberscope_check::Outcome;

use crate::draw::markup::Element;

/// A status in a few words, with a sign and a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    class: &'static str,
    sign: &'static str,
    text: String,
}

impl Badge {
    /// Something that holds or was proved.
    pub fn good(text: impl Into<String>) -> Self {
        Badge { class: "badge good", sign: "✓", text: text.into() }
    }

    /// Something that fails or was refused.
    pub fn bad(text: impl Into<String>) -> Self {
        Badge { class: "badge bad", sign: "✕", text: text.into() }
    }

    /// Something that is not decided.
    pub fn open(text: impl Into<String>) -> Self {
        Badge { class: "badge open", sign: "?", text: text.into() }
    }

    /// A fact that is neither good nor bad.
    pub fn note(text: impl Into<String>) -> Self {
        Badge { class: "badge open", sign: "•", text: text.into() }
    }

    /// What the checker says: `checked: equivalent`, or `refused: ...`.
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Proved(claim) => Badge::good(format!("checked: {}", claim.name().replace('_', " "))),
            Outcome::Refused(refusal) => Badge::bad(format!("refused: {}", refusal.step)),
            Outcome::Stopped => Badge::open("not checked".to_owned()),
        }
    }

    pub(super) fn element(&self) -> Element {
        let sign = Element::of_text("span", self.sign).attr("aria-hidden", "true");
        Element::new("span").class(self.class).child(sign).text(" ").text(&self.text)
    }
}
