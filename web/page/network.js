// Networks as the page edits them: {layers: [{weight, bias, activation}]}, and the text that the core reads.

function parseNetwork(text) {
  return { layers: JSON.parse(text).layers };
}

// JSON.stringify would write -0 as 0, which is another network.
function numberText(x) {
  return Object.is(x, -0) ? "-0.0" : String(x);
}

function networkText(network) {
  const list = (numbers) => `[${numbers.map(numberText).join(", ")}]`;
  const layer = (l) =>
    `{"weight": [${l.weight.map(list).join(", ")}], "bias": ${list(l.bias)}, "activation": "${l.activation}"}`;
  return `{"format": "fiberscope-network", "version": 1, "layers": [${network.layers.map(layer).join(", ")}]}`;
}

function copyNetwork(network) {
  return { layers: network.layers.map((l) => ({ weight: l.weight.map((row) => row.slice()), bias: l.bias.slice(), activation: l.activation })) };
}

function widths(network) {
  return [network.layers[0].weight[0].length, ...network.layers.map((l) => l.bias.length)];
}

function parameterCount(network) {
  return network.layers.reduce((sum, l) => sum + l.bias.length * (l.weight[0].length + 1), 0);
}

function evaluate(network, x) {
  return network.layers.reduce((input, layer) => layer.weight.map((row, i) => {
    let z = layer.bias[i];
    for (let j = 0; j < row.length; j++) z += row[j] * input[j];
    return layer.activation === "relu" ? Math.max(z, 0) : z;
  }), x);
}

// A number in few characters.
function short(x, digits = 4) {
  if (!Number.isFinite(x)) return String(x);
  const size = Math.abs(x);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? x.toExponential(digits - 2) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}

function sameShape(a, b) {
  return widths(a).join() === widths(b).join() && a.layers.every((l, i) => l.activation === b.layers[i].activation);
}

// How two networks of the same shape differ: the number of parameters and the largest change.
function changes(a, b) {
  let count = 0;
  let largest = 0;
  a.layers.forEach((layer, l) => {
    const other = b.layers[l];
    layer.bias.forEach((bias, i) => {
      const pairs = [[bias, other.bias[i]], ...layer.weight[i].map((w, j) => [w, other.weight[i][j]])];
      for (const [x, y] of pairs) {
        if (x !== y) count++;
        largest = Math.max(largest, Math.abs(x - y));
      }
    });
  });
  return { count, largest };
}
