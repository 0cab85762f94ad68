// What the page knows and does: the network at the start, the current one, the plane, and the walk along the fiber.

const STATE_FORMAT = "fiberscope-explorer";

class App {
  constructor(engine, judge, view, changed) {
    Object.assign(this, { engine, judge, view, changed });
    this.verdict = { state: "none" };
    this.marks = {};
    this.output = 0;
    this.box = null;
    this.message = "";
    this.times = [];
  }

  // Begins with a network, given as the text of a network file.
  open(name, text, notes = []) {
    const network = parseNetwork(text);
    Object.assign(this, { name, notes, start: text, startNetwork: copyNetwork(network), output: 0, box: null, data: null, message: "" });
    this.plane = defaultPlane(widths(network)[0]);
    this.set(text, network);
    this.marks = {};
    this.rebase();
    this.fit();
  }

  set(text, network = parseNetwork(text)) {
    this.current = text;
    this.network = network;
  }

  // From here on the sliders of the fiber count from the current network.
  rebase() {
    this.base = this.current;
    this.steps = [];
    this.moves = this.base === this.start ? [] : null;
    this.refused = "";
    try {
      this.fiber = this.engine.ask({ op: "symmetries", network: this.base, box: this.box });
      this.facts = this.engine.ask({ op: "info", network: this.base, box: this.box });
    } catch (error) {
      this.fiber = { handles: [], components: [], error: error.message };
      this.facts = { roles: [], hidden: [], reason: error.message, identifiable: null };
    }
    this.changed("fiber");
  }

  reset() {
    this.set(this.start);
    this.rebase();
    this.refresh();
  }

  axisNames() {
    const inputs = widths(this.network)[0];
    if (inputs === 1) return ["x1", ""];
    if (this.plane.through) return this.plane.names;
    return this.plane.axes.map((i) => `x${i + 1}`);
  }

  planeRequest() {
    const inputs = widths(this.network)[0];
    if (this.plane.through) return { origin: this.plane.origin, u: this.plane.u, v: this.plane.v };
    if (inputs === 2 && this.plane.axes[0] === 0 && this.plane.axes[1] === 1) return null;
    const unit = (i) => Array.from({ length: inputs }, (_, j) => (j === i ? 1 : 0));
    const origin = this.plane.origin.map((x, i) => (this.plane.axes.includes(i) ? 0 : x));
    return { origin, u: unit(this.plane.axes[0]), v: inputs === 1 ? [0] : unit(this.plane.axes[1]) };
  }

  // Draws the complex of the current network on the part of the plane that is shown.
  refresh({ keepRange = false, judge = true } = {}) {
    const begun = performance.now();
    this.view.axes = this.axisNames();
    try {
      const request = { op: "picture", network: this.current, plane: this.planeRequest(), view: this.view.bounds(), output: this.output };
      const picture = this.engine.ask(request);
      if (picture.stopped) throw new Error(picture.stopped);
      this.view.picture = picture;
      this.message = "";
    } catch (error) {
      this.view.picture = { regions: [], folds: [] };
      this.message = error.message;
    }
    if (!keepRange) this.view.range = this.view.heights();
    if (judge) this.judgeNow();
    this.changed("picture");
    this.times.push(performance.now() - begun);
    if (this.times.length > 600) this.times.shift();
  }

  judgeNow(seconds = 2) {
    if (this.current === this.start) {
      this.verdict = { state: "same", verdict: "equivalent", method: "identical" };
      this.asked = null;
    } else {
      this.verdict = { ...this.verdict, state: "asked" };
      const request = { op: "verdict", start: this.start, current: this.current, box: this.box, view: this.shownInputs(), moves: this.moves, seconds };
      this.asked = this.judge.ask(request);
    }
    this.changed("verdict");
  }

  // The ends of every input where no box is given and the picture shows all inputs.
  shownInputs() {
    const inputs = widths(this.network)[0];
    if (this.box || inputs > 2 || (inputs === 2 && this.planeRequest())) return null;
    return this.view.bounds().slice(0, inputs);
  }

  judged(id, answer, error) {
    if (id !== this.asked) return;
    this.verdict = error ? { state: "failed", error } : { state: "known", ...answer };
    this.changed("verdict");
  }

  // Where the two functions differ, if that is on the plane that is shown.
  witnessOnPlane() {
    const x = this.verdict.state === "known" ? this.verdict.witness?.x : null;
    return x ? onPlane(this.plane, x) : null;
  }

  // The chosen inputs on the plane.
  inputsOnPlane() {
    return this.plane.through?.map((x) => onPlane(this.plane, x)) ?? [];
  }

  // Shows the plane through two or three inputs; null shows that of the first two axes.
  showPlane(points) {
    const inputs = widths(this.network)[0];
    this.plane = points ? planeThrough(points, inputs) : defaultPlane(inputs);
    this.fit();
  }

  // Rows of a table, through which planes can be laid.
  setData(name, rows) {
    const inputs = widths(this.network)[0];
    if (!rows.every((row) => row.length === inputs)) throw new Error(`${name}: expected rows of ${inputs} numbers`);
    this.data = { name, rows };
  }

  // One parameter: `input` is the column, or null for the bias.
  edit(layer, unit, input, value) {
    if (!Number.isFinite(value)) return;
    const target = this.network.layers[layer];
    if (input === null) target.bias[unit] = value;
    else target.weight[unit][input] = value;
    this.set(networkText(this.network), this.network);
    this.moves = null;
    this.refresh({ keepRange: true });
  }

  // Moves a neuron's line by a vector of the plane: its bias falls by gradient times vector.
  grab(fold, at) {
    const [layer, unit] = [fold.l, fold.u];
    const request = { op: "gradient", network: this.current, plane: this.planeRequest(), at, layer, unit };
    return { layer, unit, bias: this.network.layers[layer].bias[unit], gradient: this.engine.ask(request).gradient };
  }

  drag(grip, [dx, dy]) {
    const value = grip.bias - (grip.gradient[0] * dx + grip.gradient[1] * dy);
    this.edit(grip.layer, grip.unit, null, Number(value.toPrecision(6)));
  }

  // A slider of the fiber: the step of a handle with its amount; null takes it out of the walk.
  step(index, amount) {
    const handle = this.fiber.handles[index];
    const others = this.steps.filter((each) => each.index !== index);
    const place = this.steps.findIndex((each) => each.index === index);
    const steps = others.slice();
    if (amount !== null) steps.splice(place < 0 ? steps.length : place, 0, { index, amount, step: { ...handle.step, [handle.amount]: amount } });
    const walked = this.engine.ask({ op: "walk", network: this.base, box: this.box, steps: steps.map((each) => each.step) });
    if (walked.refused) {
      this.refused = walked.refused;
      this.changed("refused");
      return false;
    }
    this.refused = "";
    this.steps = steps;
    this.exact = walked.exact;
    this.moves = this.base === this.start && walked.exact ? walked.moves : null;
    this.set(steps.length === 0 ? this.base : walked.network);
    this.refresh({ keepRange: true });
    return true;
  }

  sample(component, seed) {
    const point = this.engine.ask({ op: "sample", network: this.base, component, seed });
    this.set(point.network);
    this.rebase();
    this.refresh({ keepRange: true });
  }

  setBox(box) {
    this.box = box;
    this.rebase();
    this.judgeNow();
  }

  // Shows what holds the folds of the network.
  fit({ judge = true } = {}) {
    this.view.show(this.plane.through ? aroundInputs(this.plane) : [[-2, 2], [-2, 2]]);
    this.refresh({ judge: false });
    for (let round = 0; round < 3 && this.view.picture.folds.length === 0 && !this.message; round++) {
      this.view.zoom(0.5);
      this.refresh({ judge: false });
    }
    this.view.touched = false;
    if (judge) this.judgeNow();
  }

  // Another size of the drawing: all of it is shown anew, unless the reader looks at a part.
  resized() {
    if (!this.network) return;
    if (this.view.touched) this.refresh({ keepRange: true, judge: false });
    else this.fit({ judge: false });
  }

  saved() {
    const { name, output, box, plane } = this;
    const view = this.view.bounds();
    const head = { format: STATE_FORMAT, version: 1, name, output, box, plane, view, moves: this.moves, options: this.view.options };
    // The networks as they are, number by number.
    return `${JSON.stringify(head).slice(0, -1)},\n"start": ${this.start.trim()},\n"current": ${this.current.trim()}}\n`;
  }

  restore(state) {
    if (state.version !== 1) throw new Error(`this state has version ${state.version}; expected 1`);
    const read = (key) => this.engine.ask({ op: "open", name: `${key}.json`, text: numberSafe(state, key) }).network;
    const [start, current] = [read("start"), read("current")];
    if (!sameShape(parseNetwork(start), parseNetwork(current))) throw new Error("the start and the current network of this state have different shapes");
    this.open(String(state.name ?? "a saved state"), start);
    const inputs = widths(this.network)[0];
    const plane = state.plane;
    if (plane?.through) this.plane = planeThrough(plane.through, inputs);
    const fits = plane?.axes?.length === 2 && plane.axes.every((i) => Number.isInteger(i) && i >= 0 && i < inputs) && plane.origin?.length === inputs && plane.origin.every(Number.isFinite);
    if (fits) this.plane = plane;
    if (Number.isInteger(state.output) && state.output >= 0 && state.output < widths(this.network).at(-1)) this.output = state.output;
    if (Array.isArray(state.box) && state.box.length === 2 && state.box[0] < state.box[1]) this.box = state.box;
    if (state.options && typeof state.options === "object") Object.assign(this.view.options, { ramp: state.options.ramp === "viridis" ? "viridis" : "slate", contours: state.options.contours !== false, folds: state.options.folds !== false });
    const [x, y] = Array.isArray(state.view) ? state.view : [];
    if (x?.[0] < x?.[1] && y?.[0] < y?.[1]) {
      this.view.show(state.view);
      this.view.touched = true;
    }
    this.set(current);
    this.rebase();
    // Moves that lead from the start to the current network; the checker looks at them again.
    if (Array.isArray(state.moves)) this.moves = state.moves;
    this.refresh();
  }

  // The largest difference to the start on a grid of the part that is shown, in floating point.
  seenDifference(steps = 12) {
    const [[x0, x1], [y0, y1]] = this.view.bounds();
    const plane = this.planeRequest();
    let largest = 0;
    for (let i = 0; i <= steps; i++) {
      for (let j = 0; j <= steps; j++) {
        const [s, t] = [x0 + ((x1 - x0) * i) / steps, y0 + ((y1 - y0) * j) / steps];
        const x = plane ? plane.origin.map((o, k) => o + s * plane.u[k] + t * plane.v[k]) : [s, t];
        const [a, b] = [evaluate(this.startNetwork, x), evaluate(this.network, x)];
        for (let o = 0; o < a.length; o++) largest = Math.max(largest, Math.abs(a[o] - b[o]));
      }
    }
    return largest;
  }
}

// A network inside a parsed state; parsing keeps doubles but for the sign of zero, which is written again.
function numberSafe(state, key) {
  const network = state[key];
  const fine = Array.isArray(network?.layers) && network.layers.every((l) => Array.isArray(l?.weight) && l.weight.every(Array.isArray) && Array.isArray(l.bias));
  if (!fine) throw new Error(`the state has no network "${key}"`);
  return networkText(network);
}
