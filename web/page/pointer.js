// Pointer and keyboard on the plane.

const at = (event) => [event.offsetX, event.offsetY];

function pointer(app, view, page, { attempt, select, settled, draw, fill }) {
  const canvas = view.canvas;
  let hold = null;
  const read = (reading) => {
    page.reading = reading;
    fill("reading");
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    page.keyboard = false;
    canvas.setPointerCapture(event.pointerId);
    const fold = view.foldAt(at(event));
    hold = { from: at(event), last: at(event), fold, moved: false, grip: null };
  });

  canvas.addEventListener("pointermove", (event) => {
    const here = at(event);
    if (!hold) {
      hover(here);
      return;
    }
    const distance = Math.hypot(here[0] - hold.from[0], here[1] - hold.from[1]);
    if (!hold.moved && distance < 4) return;
    attempt(() => {
      if (!hold.moved && hold.fold) {
        select([hold.fold.l, hold.fold.u]);
        hold.grip = app.grab(hold.fold, middleOf(hold.fold));
      }
      hold.moved = true;
      if (hold.grip) {
        const [x, y] = view.toPlane(here);
        const [x0, y0] = view.toPlane(hold.from);
        hold.want = [x - x0, y - y0];
      } else {
        canvas.classList.add("panning");
        view.pan(here[0] - hold.last[0], here[1] - hold.last[1]);
      }
      hold.last = here;
      hold.frame ||= requestAnimationFrame(follow);
    });
  });

  // At most one update per frame, however often the pointer reports.
  function follow() {
    if (!hold) return;
    hold.frame = 0;
    attempt(() => {
      if (hold.grip) app.drag(hold.grip, hold.want);
      else app.refresh({ keepRange: true, judge: false });
    });
  }

  const release = (event) => {
    if (!hold) return;
    const done = hold;
    if (done.frame) {
      cancelAnimationFrame(done.frame);
      follow();
    }
    hold = null;
    canvas.classList.remove("panning");
    if (!done.moved && event.type === "pointerup") attempt(() => click(done));
    else if (done.grip) attempt(() => { settled(); fill("neuron"); });
    else if (done.moved) attempt(() => app.refresh({ judge: false }));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);

  function click({ from, fold }) {
    if (fold) {
      select([fold.l, fold.u]);
      app.marks.fold = fold;
      page.pinned = true;
      read({ fold });
    } else {
      page.pinned = false;
      hover(from);
    }
    draw();
  }

  function hover(here) {
    const fold = view.foldAt(here);
    canvas.classList.toggle("on-fold", Boolean(fold));
    if (page.pinned) return;
    page.region = fold ? null : view.regionAt(here);
    app.marks.fold = fold;
    page.point = view.toPlane(here);
    page.read ||= requestAnimationFrame(() => {
      page.read = 0;
      attempt(() => read(fold ? { fold } : regionReading(app, view, page.point)));
    });
    draw();
  }
  canvas.addEventListener("pointerleave", () => {
    if (page.pinned) return;
    page.region = null;
    app.marks.fold = null;
    draw();
  });

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), at(event));
    page.wheel ||= requestAnimationFrame(() => {
      page.wheel = 0;
      attempt(() => app.refresh({ judge: false }));
    });
  }, { passive: false });
  canvas.addEventListener("dblclick", () => attempt(() => app.fit()));
}

function regionReading(app, view, point) {
  const [[x0, x1], [y0, y1]] = view.bounds();
  const inside = point[0] >= x0 && point[0] <= x1 && point[1] >= y0 && point[1] <= y1;
  return inside ? { region: app.engine.ask({ op: "region", network: app.current, plane: app.planeRequest(), at: point }) } : null;
}

function middleOf(fold) {
  return [(fold.p[0] + fold.p[2]) / 2, (fold.p[1] + fold.p[3]) / 2];
}

function keys(app, view, page, { attempt, select, settled, draw, fill }) {
  const step = 40;
  const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
  const look = () => app.refresh({ judge: false });
  const readCentre = () => {
    page.pinned = false;
    page.region = view.regionAt(view.middle);
    page.reading = regionReading(app, view, view.center);
    fill("reading");
    draw();
  };
  const nextNeuron = (by) => {
    const all = app.network.layers.slice(0, -1).flatMap((layer, l) => layer.bias.map((_, u) => [l, u]));
    if (all.length === 0) return;
    const [l, u] = app.marks.neuron ?? [0, 0];
    const now = all.findIndex((each) => each[0] === l && each[1] === u);
    const next = all[(now + by + all.length) % all.length];
    select(next);
    const fold = view.picture.folds.find((each) => each.l === next[0] && each.u === next[1]);
    page.pinned = Boolean(fold);
    app.marks.fold = fold ?? null;
    page.reading = fold ? { fold } : null;
    fill("reading");
  };
  const nudge = (direction) => {
    const [l, u] = app.marks.neuron ?? [0, 0];
    const fold = view.picture.folds.find((each) => each.l === l && each.u === u);
    const size = fold ? Math.hypot(...app.grab(fold, middleOf(fold)).gradient) : 1;
    const value = app.network.layers[l].bias[u] + (direction * 8 * (size || 1)) / view.scale;
    app.edit(l, u, null, Number(value.toPrecision(6)));
    settled();
    fill("neuron");
  };
  view.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const work = moves[event.key] ? () => { view.pan(...moves[event.key]); look(); } : {
      "+": () => { view.zoom(1.25); look(); }, "=": () => { view.zoom(1.25); look(); },
      "-": () => { view.zoom(0.8); look(); }, "0": () => app.fit(), Enter: readCentre,
      n: () => nextNeuron(1), N: () => nextNeuron(-1), "[": () => nudge(-1), "]": () => nudge(1),
    }[event.key];
    if (!work) return;
    event.preventDefault();
    page.keyboard = true;
    attempt(work);
  });
  view.canvas.addEventListener("focus", draw);
  view.canvas.addEventListener("blur", () => { page.keyboard = false; draw(); });
}
