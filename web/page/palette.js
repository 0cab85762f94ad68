// Colours of the drawing. Layers have those of Okabe and Ito; heights have a ramp whose lightness alone tells the order.

const LAYERS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b"];
const LAYERS_DARK = ["#3d9bdc", "#f08030", "#20c198", "#e39ac4", "#f0b429", "#8fd0f5", "#c4c9cf"];
const RAMPS = {
  slate: ["#fbfcfd", "#e3e9ef", "#c8d3dd", "#abbac8", "#8d9fb1"],
  slateDark: ["#141a21", "#232c36", "#34404d", "#475666", "#5d6f82"],
  viridis: ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"],
};

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

class Palette {
  constructor(ramp) {
    this.dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const name = ramp === "viridis" ? "viridis" : this.dark ? "slateDark" : "slate";
    this.stops = RAMPS[name].map(rgb);
    this.css = RAMPS[name];
    this.halo = ramp === "viridis";
    this.ink = this.dark ? "#e6edf3" : "#1b1f24";
    this.soft = this.dark ? "#a3adb8" : "#57606a";
    this.paper = this.dark ? "#11161c" : "#ffffff";
    this.layers = this.dark ? LAYERS_DARK : LAYERS;
  }

  layer(l) {
    return this.layers[l % this.layers.length];
  }

  // The colours of so many heights from the lowest to the highest, as pixels.
  shades(count) {
    const pixels = new Uint8ClampedArray(4 * count);
    for (let s = 0; s < count; s++) {
      const t = (s / (count - 1)) * (this.stops.length - 1);
      const i = Math.min(Math.floor(t), this.stops.length - 2);
      for (let k = 0; k < 3; k++) pixels[4 * s + k] = this.stops[i][k] + (t - i) * (this.stops[i + 1][k] - this.stops[i][k]);
      pixels[4 * s + 3] = 255;
    }
    return new Uint32Array(pixels.buffer);
  }
}
