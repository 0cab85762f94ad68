// The controls beside the plane. Each function fills one of them from what the page knows.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && key !== "list" && key !== "form") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const neuronName = (layer, unit) => `neuron ${unit + 1} of layer ${layer + 1}`;
const vector = (numbers) => (numbers.length === 1 ? short(numbers[0]) : `(${numbers.slice(0, 6).map((x) => short(x)).join(", ")}${numbers.length > 6 ? ", …" : ""})`);

function facts(rows) {
  return element("table", {}, element("tbody", {}, ...rows.map(([name, value]) => element("tr", {}, element("th", { scope: "row", textContent: name }), element("td", {}, value)))));
}

const VERDICTS = {
  equivalent: ["good", "✓ yes", "The two networks compute the same function"],
  equivalent_up_to_rounding: ["good", "✓ up to rounding", "The networks agree up to rounding"],
  different: ["bad", "✕ no", "The functions differ"],
  undecided: ["open", "? undecided", "The time was up before an answer was found"],
};

function verdictPanel(app, actions) {
  const verdict = app.verdict;
  const place = app.box ? ` on the box [${app.box.map((x) => short(x)).join(", ")}]` : " everywhere";
  const moved = sameShape(app.network, app.startNetwork) ? changes(app.startNetwork, app.network) : { count: 0, largest: 0 };
  const parameters = `${moved.count} of ${parameterCount(app.network)} parameters differ from the start${moved.count ? `, by up to ${short(moved.largest)}` : ""}`;
  const seen = moved.count ? `largest difference seen on a grid, in floating point: ${short(app.seenDifference())}` : "";
  if (verdict.state === "failed") return [element("p", {}, element("span", { className: "badge open", textContent: "? failed" })), element("p", { textContent: verdict.error })];
  if (verdict.state === "same") return [element("p", {}, element("span", { className: "badge good", textContent: "✓ yes" }), " These are the parameters of the start."), element("p", { className: "note", textContent: parameters })];
  const known = VERDICTS[verdict.verdict];
  if (verdict.state === "asked" && !known) return [element("p", {}, element("span", { className: "badge open", textContent: "… deciding" }))];
  const [kind, badge, sentence] = known;
  const children = [
    element("p", {}, element("span", { className: `badge ${kind}`, textContent: badge }), ` ${sentence}${verdict.verdict === "equivalent" ? place : ""}${verdict.state === "asked" ? " (deciding again …)" : "."}`),
  ];
  if (verdict.witness) {
    const { x, a, b } = verdict.witness;
    children.push(facts([["at x", vector(x)], ["start", vector(a)], ["now", vector(b)]]));
  }
  if (verdict.apart) {
    const { lower, upper, x, view } = verdict.apart;
    const where = view ? "on the part that is shown" : place.trim();
    const least = x ? `at least ${short(lower)} (exact, at x = ${vector(x)})` : `at least ${short(lower)}`;
    const most = upper === null ? "no upper bound was found in time" : `at most ${short(upper)} (certified)`;
    children.push(element("p", { className: "note", id: "apart", textContent: `largest difference ${where}: ${least}, ${most}` }));
  }
  if (verdict.bound !== undefined) children.push(element("p", { className: "note", textContent: `by at most ${short(verdict.bound)} (certified)` }));
  if (verdict.relative !== undefined) children.push(element("p", { className: "note", textContent: `moves that keep both functions lead to parameters that agree one by one to a relative difference of ${short(verdict.relative)} (certified); nothing is proved about the outputs` }));
  if (verdict.differ_at) children.push(element("p", { className: "note", textContent: `not exactly equal: they differ at x = ${vector(verdict.differ_at)}` }));
  children.push(element("p", { className: "note", textContent: `${parameters}${seen ? `; ${seen}` : ""}` }));
  if (verdict.certificate) {
    children.push(element("div", { className: "line" },
      element("span", { className: "note", textContent: `method: ${verdict.method}; certificate checked in exact arithmetic` }),
      element("button", { type: "button", id: "save-certificate", textContent: "Save certificate", onclick: actions.saveCertificate })));
  }
  if (verdict.verdict === "undecided" && verdict.state === "known") {
    children.push(element("button", { type: "button", textContent: "Search for 20 seconds", onclick: () => app.judgeNow(20) }));
  }
  return children;
}

function readingPanel(app, reading) {
  if (!reading) return [element("p", { className: "note", textContent: "Point at a region for its affine map and sign vector, or click a line for its weight." })];
  if (reading.fold) {
    const fold = reading.fold;
    const seen = fold.visible ? "visible: the function bends here" : fold.hidden ? "hidden: no piece of this hyperplane is visible in the picture" : "invisible: the function does not bend here";
    return [facts([
      ["line of", fold.all.map(([l, u]) => neuronName(l, u)).join(" and ")],
      ["weight", element("span", { id: "facet-weight", textContent: vector(fold.w) })],
      ["size", short(Math.hypot(...fold.w))],
      ["", seen],
    ])];
  }
  const at = reading.region;
  const term = (w, i) => `${w < 0 ? "−" : "+"} ${short(Math.abs(w))} x${i + 1}`;
  const rows = at.matrix.map((row, o) => {
    const text = row.length > 6 ? `${vector(row)} · x + ${short(at.constant[o])}` : `${short(at.constant[o])} ${row.map(term).join(" ")}`;
    return [at.matrix.length === 1 ? "f(x) =" : `f${o + 1}(x) =`, element("span", { className: "affine", textContent: text })];
  });
  return [facts([["x", vector(at.x)], ["f(x)", vector(at.value)], ["signs", element("code", { id: "signs", textContent: at.signs })], ...rows.slice(0, 4)])];
}

function fiberPanel(app, actions) {
  const fiber = app.fiber;
  const children = [];
  if (fiber.error) return [element("p", { className: "note", textContent: fiber.error })];
  const answer = { true: "identifiable", false: "not identifiable" }[String(app.facts.identifiable)] ?? "identifiability not decided";
  children.push(element("p", { className: "note", textContent: `${answer}: ${app.facts.reason}. Fiber of dimension at least ${fiber.dimension} (${fiber.scalings} by scalings).` }));
  children.push(element("p", { className: "refused", id: "refused", role: "status", textContent: app.refused }));
  const rows = fiber.handles.map((handle, index) => [handle, handleRow(app, handle, index)]);
  const ordinary = (handle) => ["scale", "rotate"].includes(handle.step.kind);
  children.push(...rows.filter(([handle]) => !ordinary(handle)).map(([, row]) => row));
  const rest = rows.filter(([handle]) => ordinary(handle)).map(([, row]) => row);
  if (rest.length > 0) {
    const open = rest.length === rows.length && rest.length < 12;
    children.push(element("details", { className: "group", open }, element("summary", { textContent: `Scalings and permutations (${rest.length})` }), ...rest));
  }
  const seed = element("input", { type: "number", id: "seed", value: "1", min: "0", step: "1" });
  const component = element("select", { id: "component" }, ...fiber.components.map((signs) => element("option", { value: signs, textContent: signs })));
  const draw = () => actions.attempt(() => app.sample(fiber.components.length ? component.value : null, Math.max(0, Math.floor(Number(seed.value) || 0))));
  children.push(element("div", { className: "line" },
    fiber.components.length ? element("label", {}, "component ", component) : null,
    element("label", {}, "seed ", seed),
    element("button", { type: "button", id: "sample", textContent: fiber.components.length ? "Random point of the fiber" : "Random permutation and scaling", onclick: draw })));
  return children;
}

function handleRow(app, handle, index) {
  const step = app.steps.find((each) => each.index === index);
  const about = element("details", { className: "note" }, element("summary", { textContent: "why" }), handle.statement);
  if (handle.bits) {
    const chosen = new Set(step?.amount ?? []);
    const boxes = handle.bits.map((unit) => {
      const box = element("input", { type: "checkbox", checked: chosen.has(unit), "data-handle": index });
      box.addEventListener("change", () => {
        box.checked ? chosen.add(unit) : chosen.delete(unit);
        if (!app.step(index, chosen.size ? [...chosen].sort((a, b) => a - b) : null)) {
          box.checked = !box.checked;
          box.checked ? chosen.add(unit) : chosen.delete(unit);
        }
      });
      return element("label", {}, box, ` ${unit + 1}`);
    });
    return element("fieldset", { className: "row" }, element("legend", { textContent: handle.label }), element("div", { className: "flips" }, ...boxes), about);
  }
  const shown = element("output", { textContent: short(step?.amount ?? 0) });
  const range = element("input", { type: "range", min: String(handle.low), max: String(handle.high), step: String(handle.by), value: String(step?.amount ?? 0), "data-handle": index, "data-kind": handle.step.kind, "aria-label": handle.label });
  range.addEventListener("input", () => {
    const before = app.steps.find((each) => each.index === index)?.amount ?? 0;
    const amount = Number(range.value);
    if (!app.step(index, amount === 0 ? null : amount)) range.value = String(before);
    shown.textContent = short(Number(range.value));
  });
  return element("div", { className: "row" }, element("span", { textContent: handle.label }), shown, range, about);
}

function neuronPanel(app, actions) {
  const [layer, unit] = app.marks.neuron ?? [0, 0];
  const layers = app.network.layers;
  const hidden = Math.max(layers.length - 1, 1);
  const pick = (l, u) => actions.select([l, Math.min(u, layers[l].bias.length - 1)]);
  const layerSelect = element("select", { id: "layer", "aria-label": "layer", onchange: (event) => pick(Number(event.target.value), 0) },
    ...Array.from({ length: layers.length }, (_, l) => element("option", { value: l, selected: l === layer, textContent: l < hidden && layers.length > 1 ? `layer ${l + 1}` : "output layer" })));
  const unitSelect = element("select", { id: "unit", "aria-label": "neuron", onchange: (event) => pick(layer, Number(event.target.value)) },
    ...layers[layer].bias.map((_, u) => element("option", { value: u, selected: u === unit, textContent: `neuron ${u + 1}${role(app, layer, u)}` })));
  const row = (label, l, u, input) => {
    const value = input === null ? app.network.layers[l].bias[u] : app.network.layers[l].weight[u][input];
    const reach = Math.max(2, 2 * Math.abs(value));
    const name = `${label} of ${neuronName(l, u)}`;
    const range = element("input", { type: "range", min: String(-reach), max: String(reach), step: "any", value: String(value), "aria-label": name });
    const number = element("input", { type: "number", step: "any", value: String(value), "aria-label": name, "data-weight": `${l},${u},${input ?? "b"}` });
    range.addEventListener("input", () => {
      const rounded = Math.round(Number(range.value) * 256) / 256;
      number.value = String(rounded);
      app.edit(l, u, input, rounded);
    });
    number.addEventListener("input", () => {
      if (number.value === "" || !Number.isFinite(Number(number.value))) return;
      range.value = number.value;
      app.edit(l, u, input, Number(number.value));
    });
    for (const control of [range, number]) control.addEventListener("change", actions.settled);
    return [element("span", { textContent: label }), range, number];
  };
  const children = [element("div", { className: "line" }, layerSelect, unitSelect)];
  const grid = element("div", { className: "weights" }, element("h3", { textContent: "incoming" }));
  layers[layer].weight[unit].slice(0, 32).forEach((_, j) => grid.append(...row(layer === 0 ? `x${j + 1}` : `from ${j + 1}`, layer, unit, j)));
  grid.append(...row("bias", layer, unit, null));
  if (layer + 1 < layers.length) {
    grid.append(element("h3", { textContent: "outgoing" }));
    layers[layer + 1].weight.slice(0, 32).forEach((_, i) => grid.append(...row(layer + 2 === layers.length ? `to f${i + 1}` : `to ${i + 1}`, layer + 1, i, unit)));
  }
  children.push(grid);
  return children;
}

function role(app, layer, unit) {
  const name = app.facts.roles?.[layer]?.[unit];
  const hidden = app.facts.hidden?.some(([l, u]) => l === layer && u === unit);
  return `${name && name !== "nonlinear" ? ` (${name})` : ""}${hidden ? " (hidden)" : ""}`;
}

// Each layer as a table of coloured squares: weights and, apart, biases. A dot marks what is not as at the start.
function parametersPanel(app, actions) {
  const palette = new Palette("slate");
  const [plus, minus] = palette.dark ? ["#56b4e9", "#f08030"] : ["#0072b2", "#d55e00"];
  const same = sameShape(app.network, app.startNetwork);
  const figures = app.network.layers.map((layer, l) => {
    const [rows, columns] = [layer.bias.length, layer.weight[0].length];
    if (rows > 64 || columns > 64) return element("figure", {}, element("figcaption", { textContent: `layer ${l + 1}: ${rows} × ${columns}, too large to show` }));
    const cell = Math.max(5, Math.min(20, Math.floor(160 / Math.max(rows, columns + 1.5))));
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [(columns + 1.5) * cell, rows * cell];
    const canvas = element("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio), role: "img" });
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    const largest = Math.max(...layer.bias.map(Math.abs), ...layer.weight.flat().map(Math.abs), 1e-300);
    let changed = 0;
    const paint = (value, before, x, y) => {
      c.globalAlpha = 0.12 + 0.88 * Math.sqrt(Math.abs(value) / largest);
      c.fillStyle = value === 0 ? palette.soft : value > 0 ? plus : minus;
      if (value === 0) c.globalAlpha = 0.12;
      c.fillRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
      c.globalAlpha = 1;
      if (value !== before) {
        changed++;
        c.fillStyle = palette.ink;
        c.beginPath();
        c.arc(x + cell / 2, y + cell / 2, Math.max(1.2, cell / 7), 0, 2 * Math.PI);
        c.fill();
      }
    };
    layer.bias.forEach((bias, i) => {
      layer.weight[i].forEach((w, j) => paint(w, same ? app.startNetwork.layers[l].weight[i][j] : w, j * cell, i * cell));
      paint(bias, same ? app.startNetwork.layers[l].bias[i] : bias, (columns + 0.5) * cell, i * cell);
    });
    canvas.setAttribute("aria-label", `weights and biases of layer ${l + 1}, ${rows} by ${columns}; ${changed} changed since the start`);
    canvas.addEventListener("click", (event) => actions.select([l, Math.min(rows - 1, Math.floor(event.offsetY / cell))]));
    return element("figure", {}, canvas, element("figcaption", { textContent: `layer ${l + 1}${changed ? `, ${changed} changed` : ""}` }));
  });
  return [element("div", { className: "matrices" }, ...figures), element("p", { className: "note", textContent: "Blue is positive, orange negative; a dot marks a parameter that is not as at the start. The last column is the bias." })];
}
