// Starts the page, listens to pointer and keys, and keeps the panels in step with the app.

const by = (id) => document.getElementById(id);

async function main() {
  const engine = await Engine.fromBase64(by("wasm").textContent);
  by("wasm").remove();
  const view = new View(by("plane"));
  const page = { reading: null, pinned: false, frame: 0, stale: new Set() };
  const judge = new Judge(engine.module, `${Engine}`, (id, answer, error) => app.judged(id, answer, error));
  const app = new App(engine, judge, view, (what) => changed(what));

  const say = (text) => { by("message").textContent = text; };
  const attempt = (work) => {
    try {
      work();
    } catch (error) {
      say(error.message);
    }
  };
  const select = (neuron) => {
    app.marks.neuron = neuron;
    fill("neuron");
    draw();
  };
  const settled = () => {
    app.rebase();
    fill("parameters");
  };
  const actions = { attempt, say, select, settled, fill: (name) => fill(name), saveCertificate: () => save(`${fileName()}-certificate.json`, app.verdict.certificate) };

  const PANELS = {
    verdict: verdictPanel, fiber: fiberPanel, neuron: neuronPanel, parameters: parametersPanel, settings: settingsPanel,
    reading: () => readingPanel(app, page.reading),
  };
  function fill(name) {
    const panel = by(name);
    const id = panel.contains(document.activeElement) ? describe(document.activeElement) : null;
    panel.replaceChildren(...PANELS[name](app, actions));
    if (id) panel.querySelector(id)?.focus();
  }
  // Enough to find a control again after its panel was filled anew.
  function describe(control) {
    if (control.id) return `#${control.id}`;
    const key = ["data-handle", "data-weight", "data-origin"].find((name) => control.hasAttribute(name));
    return key ? `[${key}="${control.getAttribute(key)}"]` : null;
  }

  function draw() {
    if (page.frame) return;
    page.frame = requestAnimationFrame(() => {
      page.frame = 0;
      paint();
    });
  }
  function paint() {
    const cursor = document.activeElement === view.canvas && page.keyboard;
    const palette = view.draw({ ...app.marks, region: page.pinned ? null : page.region, inputs: app.inputsOnPlane(), witness: app.witnessOnPlane(), cursor });
    showLegend(palette);
    for (const name of page.stale) {
      if (name === "parameters") later(name);
      else fill(name);
    }
    page.stale.clear();
  }

  // The table of parameters can wait until the pointer rests.
  function later(name) {
    clearTimeout(page.later);
    page.later = setTimeout(() => fill(name), 120);
  }
  function showLegend(palette) {
    const entries = legend(app, palette);
    const key = entries.map((entry) => entry.outerHTML).join();
    if (key === page.legend) return;
    page.legend = key;
    by("legend").replaceChildren(...entries);
  }

  function changed(what) {
    if (what === "fiber") page.stale.add("fiber");
    if (what === "refused") by("refused").textContent = app.refused;
    if (what === "verdict") page.stale.add("verdict");
    if (what === "picture") {
      say(app.message);
      if (by("refused")) by("refused").textContent = app.refused;
      page.stale.add("parameters");
      page.region = null;
      app.marks.fold = null;
    }
    draw();
  }

  function opened() {
    by("title").textContent = `${app.name}: ${widths(app.network).join("-")}, ${parameterCount(app.network)} parameters${app.notes.length ? ` (${app.notes.join("; ")})` : ""}`;
    Object.assign(page, { reading: null, pinned: false });
    app.marks.neuron = [0, 0];
    for (const name of Object.keys(PANELS)) fill(name);
    showOpen();
    draw();
  }

  // The box of examples names what is open: one of them, or a file.
  function showOpen() {
    const box = by("examples");
    box.querySelector("[data-own]")?.remove();
    if (![...box.options].some((option) => option.value === app.name)) {
      box.prepend(element("option", { value: app.name, textContent: app.name, "data-own": "yes" }));
    }
    box.value = app.name;
  }

  const fileName = () => app.name.replace(/^zoo:/, "").replace(/\.[a-z]+$/i, "").replace(/[^\w.-]+/g, "-") || "network";
  function save(name, text) {
    const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "application/json" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`saved ${name}`);
  }

  function openExample(name) {
    const model = engine.ask({ op: "example", name });
    app.open(name, model.network, model.notes);
    opened();
  }
  async function openFile(file) {
    const LARGEST = 64 * 2 ** 20;
    if (file.size > LARGEST) throw new Error(`${file.name}: ${file.size} bytes; this page reads at most ${LARGEST}`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (/\.csv$/i.test(file.name)) {
      let rows;
      try {
        rows = readRows(new TextDecoder().decode(bytes), widths(app.network)[0]);
      } catch (error) {
        throw new Error(`${file.name}: ${error.message}`);
      }
      app.setData(file.name, rows);
      by("view-card").open = true;
      fill("settings");
      return;
    }
    if (/\.json$/i.test(file.name)) {
      const text = new TextDecoder().decode(bytes);
      let state = null;
      try {
        state = JSON.parse(text);
      } catch {
        // The core says where the file is damaged.
      }
      if (state?.format === STATE_FORMAT) {
        app.restore(state);
        opened();
        return;
      }
      const model = engine.ask({ op: "open", name: file.name, text });
      app.open(file.name, model.network, model.notes);
    } else {
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      const model = engine.ask({ op: "open", name: file.name, hex });
      app.open(file.name, model.network, model.notes);
    }
    opened();
  }

  function listen() {
    by("examples").addEventListener("change", (event) => attempt(() => openExample(event.target.value)));
    by("open").addEventListener("click", () => by("file").click());
    by("file").addEventListener("change", async () => {
      const [file] = by("file").files;
      by("file").value = "";
      if (file) await openFile(file).catch((error) => say(error.message));
    });
    document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
    document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      const [file] = event.dataTransfer.files;
      if (file) openFile(file).catch((error) => say(error.message));
    });
    by("save").addEventListener("click", () => save(`${fileName()}-state.json`, app.saved()));
    by("save-network").addEventListener("click", () => save(`${fileName()}-moved.json`, app.current));
    by("reset").addEventListener("click", () => attempt(() => { app.reset(); fill("neuron"); }));
    const measured = () => {
      if (!view.resize()) return;
      // What was said before is still true: a long sentence may be why the drawing has another size.
      const said = by("message").textContent;
      attempt(() => app.resized());
      if (app.message === "") say(said);
    };
    new ResizeObserver(measured).observe(view.canvas);
    (function screen() {
      const same = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
      same.addEventListener("change", () => { measured(); screen(); }, { once: true });
    })();
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { page.stale.add("parameters"); draw(); });
    pointer(app, view, page, { attempt, select, settled, draw, fill });
    keys(app, view, page, { attempt, select, settled, draw, fill });
  }

  view.resize();
  const { examples } = engine.ask({ op: "examples" });
  by("examples").append(...examples.map(({ name, shows }) => element("option", { value: name, textContent: name, title: shows })));
  listen();
  const given = JSON.parse(by("model").textContent);
  if (given) {
    app.open(given.name, given.network, given.notes ?? []);
    if (given.box) app.setBox(given.box);
    if (given.data) app.setData(given.data.name, given.data.rows);
    opened();
  } else {
    openExample(examples[0].name);
  }
  window.explorer = { app, view, engine, page, openFile, paint };
  document.documentElement.dataset.ready = "yes";
}

main().catch((error) => {
  by("title").textContent = "";
  by("message").textContent = `this page could not start: ${error.message}`;
});
