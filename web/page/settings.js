// What is shown and how: the plane, the output, the domain; and the legend.

function settingsPanel(app, actions) {
  const sizes = widths(app.network);
  const [inputs, outputs] = [sizes[0], sizes.at(-1)];
  const redraw = (options) => actions.attempt(() => app.refresh(options));
  const children = [];
  if (outputs > 1) {
    const pick = element("select", { id: "output", onchange: (event) => { app.output = Number(event.target.value); redraw(); } },
      ...Array.from({ length: Math.min(outputs, 64) }, (_, o) => element("option", { value: o, selected: o === app.output, textContent: `f${o + 1}` })));
    children.push(element("div", { className: "line" }, element("label", {}, "height shows output ", pick)));
  }
  if (inputs > 2) children.push(...(app.plane.through ? [] : axesPanel(app, actions, redraw)), ...throughPanel(app, actions));
  const check = (name, label) => element("label", {}, element("input", { type: "checkbox", id: `show-${name}`, checked: app.view.options[name], onchange: (event) => { app.view.options[name] = event.target.checked; redraw({ keepRange: true, judge: false }); } }), ` ${label}`);
  const ramp = element("select", { id: "ramp", onchange: (event) => { app.view.options.ramp = event.target.value; redraw({ keepRange: true, judge: false }); } },
    ...[["slate", "grey"], ["viridis", "viridis"]].map(([value, textContent]) => element("option", { value, textContent, selected: app.view.options.ramp === value })));
  children.push(element("div", { className: "line" }, check("folds", "folds"), check("contours", "level lines"), element("label", {}, "heights ", ramp)));
  const ends = [0, 1].map((k) => element("input", { type: "number", step: "any", id: `box-${k}`, value: app.box ? String(app.box[k]) : "", placeholder: k ? "hi" : "lo", "aria-label": k ? "upper end of the box" : "lower end of the box" }));
  const setBox = () => {
    const [low, high] = ends.map((end) => (end.value === "" ? NaN : Number(end.value)));
    if (ends.every((end) => end.value === "")) actions.attempt(() => app.setBox(null));
    else if (low < high) actions.attempt(() => app.setBox([low, high]));
    else actions.say(`the box needs lo < hi`);
  };
  children.push(element("div", { className: "line" }, "compare on the box ", ...ends, element("button", { type: "button", id: "set-box", textContent: "Set", onclick: setBox })),
    element("p", { className: "note", textContent: "Without a box, functions are compared on the whole input space." }));
  return children;
}

// Two inputs across and up, the others fixed.
function axesPanel(app, actions, redraw) {
  const inputs = widths(app.network)[0];
  const axis = (k) => element("select", { id: `axis-${k}`, onchange: (event) => {
    const chosen = Number(event.target.value);
    if (app.plane.axes[1 - k] === chosen) app.plane.axes[1 - k] = app.plane.axes[k];
    app.plane.axes[k] = chosen;
    redraw();
    actions.fill("settings");
  } }, ...Array.from({ length: Math.min(inputs, 256) }, (_, i) => element("option", { value: i, selected: i === app.plane.axes[k], textContent: `x${i + 1}` })));
  const others = Array.from({ length: inputs }, (_, i) => i).filter((i) => !app.plane.axes.includes(i)).slice(0, 16);
  const value = (i) => element("input", { type: "number", step: "any", value: String(app.plane.origin[i]), "data-origin": i, oninput: (event) => {
    const given = Number(event.target.value);
    if (event.target.value !== "" && Number.isFinite(given)) { app.plane.origin[i] = given; redraw(); }
  } });
  return [
    element("div", { className: "line" }, element("label", {}, "across ", axis(0)), element("label", {}, "up ", axis(1))),
    element("div", { className: "line" }, ...others.map((i) => element("label", {}, `x${i + 1} = `, value(i)))),
  ];
}

// A plane through two or three inputs: typed, or rows of a table.
function throughPanel(app, actions) {
  const show = (points) => actions.attempt(() => { app.showPlane(points); actions.fill("settings"); });
  const given = app.plane.through?.map((x) => x.join(", ")).join("\n") ?? "";
  const text = element("textarea", { id: "through", rows: 3, value: given, spellcheck: false, placeholder: "two or three inputs, one per line", "aria-label": "inputs that the plane goes through, one per line" });
  const typed = () => text.value.split("\n").filter((line) => line.trim() !== "").map((line) => line.trim().split(/[\s,;]+/).map(Number));
  const children = [
    element("div", { className: "line" }, element("span", { textContent: "plane through inputs" }), element("button", { type: "button", id: "set-plane", textContent: "Show", onclick: () => show(typed()) }),
      app.plane.through ? element("button", { type: "button", id: "axes-plane", textContent: "Back to two axes", onclick: () => show(null) }) : null),
    text,
  ];
  if (!app.data) return [...children, element("p", { className: "note", textContent: "Open a .csv file to lay planes through its rows." })];
  const { name, rows } = app.data;
  const row = (k) => element("input", { type: "number", id: `row-${k}`, min: "1", max: String(rows.length), step: "1", value: k < 2 ? String(Math.min(k + 1, rows.length)) : "", placeholder: "none", "aria-label": `row of input ${k + 1}` });
  const boxes = [0, 1, 2].map(row);
  const chosen = () => boxes.filter((box) => box.value !== "").map((box) => {
    const found = rows[Number(box.value) - 1];
    if (!found) throw new Error(`${name} has rows 1 to ${rows.length}, found ${box.value}`);
    return found;
  });
  return [...children, element("div", { className: "line" }, `rows of ${name} (1 to ${rows.length})`, ...boxes, element("button", { type: "button", id: "set-rows", textContent: "Show", onclick: () => actions.attempt(() => show(chosen())) }))];
}

// Lines as they are drawn.
function legend(app, palette) {
  const folds = app.view.picture.folds;
  const sample = (fold, text) => {
    const { colour, dash } = foldStyle(fold, palette);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const set = (node, attributes) => Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    set(svg, { width: 30, height: 8, "aria-hidden": "true" });
    set(line, { x1: 0, y1: 4, x2: 30, y2: 4, stroke: colour, "stroke-width": fold.visible ? 3 : 1.5, "stroke-dasharray": dash.join(" ") });
    svg.append(line);
    return element("span", {}, svg, text);
  };
  const layers = [...new Set(folds.filter((f) => f.visible).map((f) => f.l))].sort((a, b) => a - b);
  const children = layers.map((l) => sample({ visible: true, l }, `layer ${l + 1}`));
  const faint = [...new Set(folds.filter((f) => !f.visible && !f.hidden).map((f) => f.l))].sort((a, b) => a - b);
  children.push(...faint.map((l) => sample({ visible: false, l }, `layer ${l + 1}, invisible`)));
  if (folds.some((f) => f.hidden)) children.push(sample({ visible: false, hidden: true, l: 0 }, "hidden hyperplane"));
  const bar = element("i", { className: "bar" });
  bar.style.background = `linear-gradient(to right, ${palette.css.join(", ")})`;
  children.push(element("span", {}, short(app.view.range[0], 3), bar, `${short(app.view.range[1], 3)} ${widths(app.network).at(-1) > 1 ? `f${app.output + 1}` : "f"}`));
  children.push(element("span", { id: "count", textContent: `${app.view.picture.regions.length} regions, ${app.view.picture.folds.length} pieces of folds` }));
  return children;
}
