//! Names that betray what a list of weights does not say.
//!
//! Weights do not tell how they are used. `attn.weight` may be a matrix like any other, but nobody calls a
//! layer of a plain network so: such a file is refused instead of being read as something it is not.

use super::quoted;
use crate::FormatError;

/// What to do with a network that is more than weights, biases and ReLUs.
pub(super) const ADVICE: &str = "such a file does not say how its numbers are used; export the model with \
    torch.onnx.export(model, example_input, \"model.onnx\"), or use fs.from_torch(model, example_input) in Python";

/// Words of names, and what they speak of. A word also counts with digits behind it.
const WORDS: &[(&str, &str)] = &[
    ("conv", "a convolution"),
    ("convs", "a convolution"),
    ("convolution", "a convolution"),
    ("convtranspose", "a convolution"),
    ("deconv", "a convolution"),
    ("upconv", "a convolution"),
    ("bn", "a batch normalisation"),
    ("batchnorm", "a batch normalisation"),
    ("norm", "a normalisation"),
    ("layernorm", "a normalisation"),
    ("ln", "a normalisation"),
    ("groupnorm", "a normalisation"),
    ("instancenorm", "a normalisation"),
    ("rmsnorm", "a normalisation"),
    ("attn", "attention"),
    ("attention", "attention"),
    ("mha", "attention"),
    ("qkv", "attention"),
    ("query", "attention"),
    ("gate", "a layer by which others are multiplied"),
    ("lstm", "a recurrent layer"),
    ("gru", "a recurrent layer"),
    ("rnn", "a recurrent layer"),
    ("emb", "an embedding"),
    ("embed", "an embedding"),
    ("embedding", "an embedding"),
    ("embeddings", "an embedding"),
    ("wte", "an embedding"),
    ("wpe", "an embedding"),
    ("downsample", "a way around layers"),
    ("shortcut", "a way around layers"),
    ("residual", "a way around layers"),
    ("lora", "a way around layers"),
    ("adapter", "a way around layers"),
    ("branch", "one of several ways"),
    ("expert", "one of several ways"),
    ("experts", "one of several ways"),
    ("mu", "one of several outputs"),
    ("logvar", "one of several outputs"),
    ("gelu", "an activation that is no ReLU"),
    ("elu", "an activation that is no ReLU"),
    ("selu", "an activation that is no ReLU"),
    ("silu", "an activation that is no ReLU"),
    ("swish", "an activation that is no ReLU"),
    ("mish", "an activation that is no ReLU"),
    ("tanh", "an activation that is no ReLU"),
    ("sigmoid", "an activation that is no ReLU"),
    ("softplus", "an activation that is no ReLU"),
    ("prelu", "an activation that is no ReLU"),
    ("glu", "an activation that is no ReLU"),
];

/// Last parts of names that only certain modules have.
const ENDINGS: &[(&str, &str)] = &[
    ("running_mean", "a batch normalisation"),
    ("running_var", "a batch normalisation"),
    ("num_batches_tracked", "a batch normalisation"),
    ("weight_ih", "a recurrent layer"),
    ("weight_hh", "a recurrent layer"),
    ("bias_ih", "a recurrent layer"),
    ("bias_hh", "a recurrent layer"),
    ("in_proj_weight", "attention"),
    ("in_proj_bias", "attention"),
    ("bias_k", "attention"),
    ("bias_v", "attention"),
    ("weight_g", "a weight that is computed from two tensors (remove the parametrisation before saving)"),
    ("weight_v", "a weight that is computed from two tensors (remove the parametrisation before saving)"),
    ("weight_orig", "a weight that is computed from two tensors (remove the pruning before saving)"),
    ("weight_mask", "a weight that is computed from two tensors (remove the pruning before saving)"),
    ("original0", "a weight that is computed from two tensors (remove the parametrisation before saving)"),
    ("original1", "a weight that is computed from two tensors (remove the parametrisation before saving)"),
    ("_extra_state", "a module with a state of its own"),
];

/// Refuses the name of a tensor that no plain network has.
pub(super) fn check(name: &str) -> Result<(), FormatError> {
    match betrayed(name) {
        None => Ok(()),
        Some(what) => Err(FormatError::unsupported(format!(
            "tensor {}: its name speaks of {what}, which weights and biases alone do not describe; {ADVICE}",
            quoted(name)
        ))),
    }
}

fn betrayed(name: &str) -> Option<&'static str> {
    let last = name.rsplit('.').next().unwrap_or_default();
    // `weight_ih_l0_reverse` is that of layer 0, backwards.
    let ending = |(word, _): &&(&str, &str)| {
        last.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with("_l"))
    };
    if let Some((_, what)) = ENDINGS.iter().find(ending) {
        return Some(what);
    }
    let words = name.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_lowercase);
    words.into_iter().find_map(|word| WORDS.iter().find(|(known, _)| *known == word).map(|(_, what)| *what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_by_their_words() {
        for name in [
            "conv1.weight",
            "features.0.Conv.weight",
            "bn2.bias",
            "1.running_mean",
            "rnn.weight_ih_l0",
            "weight_hh_l1_reverse",
            "blocks.0.attn.weight",
            "self_attention_2.bias",
            "0.weight_g",
            "layer1.0.downsample.0.weight",
            "embed_tokens.weight",
        ] {
            assert!(betrayed(name).is_some(), "{name}");
        }
        for name in [
            "0.weight",
            "net.fc1.bias",
            "W1",
            "encoder.linear.weight",
            "relu_stack.0.weight",
            "normal.weight",
        ] {
            assert_eq!(betrayed(name), None, "{name}");
        }
    }
}
