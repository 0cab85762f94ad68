//! What an answer owes to the reading of its files: what was assumed, and what the files call the neurons.
//!
//! Weights and biases do not say what stands between them. Whoever answers a question about a file without
//! activations says so behind the answer, in text and JSON, whatever the question was; so it does of heads that
//! are no part of the network: networks with equal logits may have other classes behind them.

use fiberscope_io::{Assumed, Names, Part};
use serde_json::{Map, Value, json};

use crate::text::Lines;
use crate::words::{LAYERS, enumeration, joined};

/// What answers owe to the reading of files.
#[derive(Clone, Debug, Default)]
pub struct HowRead {
    /// Files that do not say what their layers do, and what was assumed.
    assumed: Vec<(String, Assumed)>,
    /// Files with heads that are no part of the network, and the nodes of these.
    set_aside: Vec<(String, Vec<String>)>,
}

impl HowRead {
    /// Remembers what was assumed of a file, and its heads.
    pub fn add(&mut self, file: &str, assumed: Option<Assumed>, set_aside: &[String]) {
        self.assumed.extend(assumed.map(|assumed| (file.to_owned(), assumed)));
        if !set_aside.is_empty() {
            self.set_aside.push((file.to_owned(), set_aside.to_vec()));
        }
    }

    /// The lines behind an answer; empty if nothing was assumed or left out.
    ///
    /// ```
    /// use fiberscope_core::Activation;
    /// use fiberscope_io::Assumed;
    /// use fiberscope_report::reading::HowRead;
    ///
    /// let assumed = Assumed { activation: Activation::Relu, stated: false };
    /// let mut read = HowRead::default();
    /// assert_eq!(read.text(), "");
    /// read.add("a.pt", Some(assumed), &[]);
    /// let line = "activations assumed: ReLU (a.pt holds none; --activation states them, in Python activation=)\n";
    /// assert_eq!(read.text(), line);
    ///
    /// let mut read = HowRead::default();
    /// read.add("a.onnx", None, &["node `s` (Softmax)".into()]);
    /// let line = "a.onnx is read up to what stands before node `s` (Softmax), which the answer leaves out\n";
    /// assert_eq!(read.text(), line);
    /// ```
    pub fn text(&self) -> String {
        self.assumption() + &self.heads()
    }

    fn assumption(&self) -> String {
        let mut lines = String::new();
        for assumed in kinds(&self.assumed) {
            let of_kind = self.assumed.iter().filter(|(_, other)| *other == assumed);
            let mut names: Vec<String> = of_kind.map(|(name, _)| name.clone()).collect();
            names.dedup();
            let hold = if names.len() == 1 { "holds" } else { "hold" };
            let advice =
                if assumed.stated { "" } else { "; --activation states them, in Python activation=" };
            lines += &format!("{assumed} ({} {hold} none{advice})\n", enumeration(&names));
        }
        lines
    }

    fn heads(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (name, nodes) in &self.set_aside {
            let nodes = enumeration(nodes);
            let line =
                format!("{name} is read up to what stands before {nodes}, which the answer leaves out\n");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.concat()
    }

    /// Adds the same to a JSON object: the key `assumed_activation`, a list if files differ, and the key
    /// `set_aside`, with a list of nodes for every file with heads.
    pub fn add_to(&self, value: &mut Value) {
        let Some(object) = value.as_object_mut() else { return };
        let mut names: Vec<&str> =
            kinds(&self.assumed).iter().map(|assumed| assumed.activation.name()).collect();
        names.dedup();
        match names.as_slice() {
            [] => {}
            [only] => drop(object.insert("assumed_activation".into(), json!(only))),
            several => drop(object.insert("assumed_activation".into(), json!(several))),
        }
        if self.set_aside.is_empty() {
            return;
        }
        let mut of_files: Map<String, Value> = Map::new();
        for (name, nodes) in &self.set_aside {
            // Two networks of Python may have one name.
            let keys = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name} ({n})")));
            let free = |key: &String| of_files.get(key).is_none_or(|there| *there == json!(nodes));
            if let Some(key) = keys.into_iter().find(free) {
                of_files.insert(key, json!(nodes));
            }
        }
        object.insert("set_aside".into(), of_files.into());
    }

    /// What was assumed of which file.
    pub fn assumed(&self) -> &[(String, Assumed)] {
        &self.assumed
    }

    /// Which nodes of which file are no part of its network.
    pub fn set_aside(&self) -> &[(String, Vec<String>)] {
        &self.set_aside
    }
}

/// What was assumed, each once.
fn kinds(files: &[(String, Assumed)]) -> Vec<Assumed> {
    let mut kinds: Vec<Assumed> = Vec::new();
    for (_, assumed) in files {
        if !kinds.contains(assumed) {
            kinds.push(*assumed);
        }
    }
    kinds
}

/// Lines that say what the layers are called, and in which shape; empty without names.
pub fn names_text(names: Option<&Names>) -> String {
    let Some(names) = names else { return String::new() };
    let count = names.layers().len();
    let mut lines = Lines::default();
    let mut heading = "names";
    for (at, parts) in names.layers().iter().enumerate() {
        if count > LAYERS && at == LAYERS - 2 {
            lines.fact("", &format!("... {} layers left out", count - (LAYERS - 1)));
        }
        if count <= LAYERS || at < LAYERS - 2 || at + 1 == count {
            let mut called: Vec<String> = parts.iter().filter_map(part_text).collect();
            let nameless: usize = parts.iter().filter(|part| part.name.is_none()).map(Part::count).sum();
            if nameless > 0 {
                called.push(format!("{nameless} neurons without a name"));
            }
            lines.fact(heading, &format!("layer {} is {}", at + 1, enumeration(&called)));
            heading = "";
        }
    }
    lines.finish()
}

fn part_text(part: &Part) -> Option<String> {
    part.name.as_ref().map(|name| format!("{name}[{}]", joined(&part.shape, " x ")))
}

/// Adds the names to a JSON object: `layer_names` has a list for every layer, one entry for neurons that
/// belong together, `from` and `to` counted from 1.
pub fn add_names(value: &mut Value, names: Option<&Names>) {
    let (Some(object), Some(names)) = (value.as_object_mut(), names) else { return };
    let layer = |parts: &Vec<Part>| {
        let mut before = 0;
        let part = |part: &Part| {
            let from = before + 1;
            before += part.count();
            json!({"name": part.name.as_deref(), "shape": part.shape, "from": from, "to": before})
        };
        parts.iter().map(part).collect::<Vec<Value>>()
    };
    object.insert("layer_names".into(), names.layers().iter().map(layer).collect::<Vec<_>>().into());
}

/// Adds to every `{"layer", "neuron"}` of a list in a JSON object what the file calls the neuron.
pub fn name_neurons(value: &mut Value, key: &str, names: Option<&Names>) {
    let Some(names) = names else { return };
    let list = match value.get_mut(key) {
        Some(Value::Array(list)) => list.as_mut_slice(),
        Some(one @ Value::Object(_)) => std::slice::from_mut(one),
        _ => return,
    };
    for neuron in list {
        let place = |key: &str| {
            neuron.get(key).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok()?.checked_sub(1))
        };
        if let (Some(layer), Some(unit)) = (place("layer"), place("neuron")) {
            neuron["name"] = json!(names.neuron(layer, unit));
        }
    }
}

/// A line with the names of neurons, each a layer and a unit from 0; empty without names.
pub fn neurons_text(what: &str, neurons: &[(usize, usize)], names: Option<&Names>) -> String {
    let called =
        neurons.iter().filter_map(|&(layer, unit)| names.and_then(|names| names.neuron(layer, unit)));
    let called: Vec<String> = called.collect();
    if called.is_empty() {
        return String::new();
    }
    let mut lines = Lines::default();
    lines.fact(what, &format!("in the file: {}", enumeration(&called)));
    lines.finish()
}
