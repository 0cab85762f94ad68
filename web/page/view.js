// The plane on a canvas: heights of regions, level lines, folds, axes; and what is under the pointer.

const MARGIN = { left: 46, right: 14, top: 12, bottom: 34 };

class View {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.center = [0, 0];
    this.scale = 100;
    this.picture = { regions: [], folds: [] };
    this.range = [0, 1];
    this.options = { ramp: "slate", contours: true, folds: true };
    this.axes = ["x1", "x2"];
    this.heightsPainter = new Heights();
  }

  // The size in CSS pixels; the canvas has the screen's resolution. Says whether something changed.
  resize() {
    const box = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    const size = [Math.max(box.width, 120), Math.max(box.height, 120), ratio];
    if (size.every((value, i) => value === this.size?.[i])) return false;
    this.size = size;
    [this.width, this.height] = size;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(this.canvas.width / this.width, 0, 0, this.canvas.height / this.height, 0, 0);
    return true;
  }

  get middle() {
    return [(MARGIN.left + this.width - MARGIN.right) / 2, (MARGIN.top + this.height - MARGIN.bottom) / 2];
  }

  toScreen([x, y]) {
    const [mx, my] = this.middle;
    return [mx + (x - this.center[0]) * this.scale, my - (y - this.center[1]) * this.scale];
  }

  toPlane([px, py]) {
    const [mx, my] = this.middle;
    return [this.center[0] + (px - mx) / this.scale, this.center[1] - (py - my) / this.scale];
  }

  // The rectangle of the plane that is shown.
  bounds() {
    const [x0, y1] = this.toPlane([MARGIN.left, MARGIN.top]);
    const [x1, y0] = this.toPlane([this.width - MARGIN.right, this.height - MARGIN.bottom]);
    return [[x0, x1], [y0, y1]];
  }

  show([[x0, x1], [y0, y1]]) {
    this.center = [(x0 + x1) / 2, (y0 + y1) / 2];
    const [w, h] = [this.width - MARGIN.left - MARGIN.right, this.height - MARGIN.top - MARGIN.bottom];
    this.scale = Math.min(w / (x1 - x0), h / (y1 - y0));
    this.touched = false;
  }

  pan(dx, dy) {
    this.touched = true;
    this.center = [this.center[0] - dx / this.scale, this.center[1] + dy / this.scale];
  }

  zoom(factor, at = this.middle) {
    this.touched = true;
    const fixed = this.toPlane(at);
    this.scale = Math.min(Math.max(this.scale * factor, 1e-6), 1e9);
    const moved = this.toPlane(at);
    this.center = [this.center[0] + fixed[0] - moved[0], this.center[1] + fixed[1] - moved[1]];
  }

  // The heights that occur in the picture.
  heights() {
    let [low, high] = [Infinity, -Infinity];
    for (const { p, a } of this.picture.regions) {
      for (let i = 0; i < p.length; i += 2) {
        const value = a[0] * p[i] + a[1] * p[i + 1] + a[2];
        [low, high] = [Math.min(low, value), Math.max(high, value)];
      }
    }
    return low < high ? [low, high] : low === high ? [low - 0.5, high + 0.5] : [0, 1];
  }

  draw(marks = {}) {
    const palette = new Palette(this.options.ramp);
    const c = this.context;
    c.clearRect(0, 0, this.width, this.height);
    c.save();
    c.beginPath();
    c.rect(MARGIN.left, MARGIN.top, this.width - MARGIN.left - MARGIN.right, this.height - MARGIN.top - MARGIN.bottom);
    c.clip();
    this.drawHeights(palette);
    if (this.options.contours) this.drawContours(palette);
    if (marks.region) this.outline(marks.region, palette);
    if (this.options.folds) this.drawFolds(palette, marks);
    (marks.inputs ?? []).forEach((place, i) => this.drawInput(place, String(i + 1), palette));
    if (marks.witness) this.drawPoint(marks.witness, palette);
    if (marks.cursor) this.drawCursor(palette);
    c.restore();
    this.drawAxes(palette);
    return palette;
  }

  trace(p) {
    const c = this.context;
    c.beginPath();
    for (let i = 0; i < p.length; i += 2) {
      const [x, y] = this.toScreen([p[i], p[i + 1]]);
      if (i === 0) c.moveTo(x, y);
      else c.lineTo(x, y);
    }
    c.closePath();
  }

  drawHeights(palette) {
    const [left, top] = [MARGIN.left, MARGIN.top];
    const [width, height] = [Math.ceil(this.width - left - MARGIN.right), Math.ceil(this.height - top - MARGIN.bottom)];
    const toScreen = (point) => {
      const [x, y] = this.toScreen(point);
      return [x - left, y - top];
    };
    const painted = this.heightsPainter.paint({ regions: this.picture.regions, width, height, toScreen, range: this.range, palette });
    this.context.drawImage(painted, left, top, width, height);
  }

  drawContours(palette) {
    const c = this.context;
    const [low, high] = this.range;
    const step = niceStep((high - low) / 12);
    c.strokeStyle = palette.halo ? "rgba(255,255,255,.55)" : palette.dark ? "rgba(230,237,243,.28)" : "rgba(27,31,36,.26)";
    c.lineWidth = 0.8;
    c.beginPath();
    for (const { p, a } of this.picture.regions) {
      const n = p.length / 2;
      const values = Array.from({ length: n }, (_, i) => a[0] * p[2 * i] + a[1] * p[2 * i + 1] + a[2]);
      const [least, most] = [Math.max(Math.min(...values), low), Math.min(Math.max(...values), high)];
      for (let level = Math.ceil(least / step) * step; level <= most; level += step) {
        const ends = [];
        for (let i = 0; i < n; i++) {
          const j = (i + 1) % n;
          const [v, w] = [values[i] - level, values[j] - level];
          if (v < 0 !== w < 0) {
            const t = v / (v - w);
            ends.push(this.toScreen([p[2 * i] + t * (p[2 * j] - p[2 * i]), p[2 * i + 1] + t * (p[2 * j + 1] - p[2 * i + 1])]));
          }
        }
        if (ends.length === 2) {
          c.moveTo(...ends[0]);
          c.lineTo(...ends[1]);
        }
      }
    }
    c.stroke();
  }

  // Pieces that look alike are drawn as one path: deeper layers below, invisible pieces on top.
  drawFolds(palette, marks) {
    const c = this.context;
    const size = (fold) => Math.hypot(...fold.w);
    const largest = Math.max(...this.picture.folds.map(size), 1e-300);
    const groups = new Map();
    const chosen = [];
    for (const fold of this.picture.folds) {
      const step = fold.visible ? Math.ceil(5 * Math.sqrt(size(fold) / largest)) : 0;
      const rank = [fold.visible ? 0 : 1, 999 - fold.l, step, fold.hidden ? 1 : 0];
      const key = rank.map((n) => String(n).padStart(3, "0")).join();
      if (!groups.has(key)) groups.set(key, { fold, width: fold.visible ? 1 + 0.44 * step : 1.5, pieces: [] });
      groups.get(key).pieces.push(fold);
      if (marks.neuron && fold.all.some(([l, u]) => l === marks.neuron[0] && u === marks.neuron[1])) chosen.push(fold);
    }
    const stroke = (pieces, width, style, dash, cap) => {
      c.beginPath();
      for (const { p } of pieces) {
        c.moveTo(...this.toScreen([p[0], p[1]]));
        c.lineTo(...this.toScreen([p[2], p[3]]));
      }
      Object.assign(c, { lineWidth: width, strokeStyle: style, lineCap: cap });
      c.setLineDash(dash);
      c.stroke();
    };
    if (chosen.length > 0) stroke(chosen, 8, palette.dark ? "rgba(255,255,255,.38)" : "rgba(20,25,30,.24)", [], "butt");
    const sorted = [...groups].sort(([x], [y]) => (x < y ? -1 : 1)).map(([, group]) => group);
    if (palette.halo) for (const { width, pieces } of sorted) stroke(pieces, width + 2, "rgba(255,255,255,.75)", [], "butt");
    const line = (pieces, fold, width) => {
      const { colour, dash } = foldStyle(fold, palette);
      stroke(pieces, width, colour, dash, fold.visible ? "square" : "butt");
    };
    for (const { fold, width, pieces } of sorted) line(pieces, fold, width);
    if (marks.fold) line([marks.fold], marks.fold, 4.5);
    c.setLineDash([]);
  }

  outline(region, palette) {
    this.trace(region.p);
    this.context.fillStyle = palette.dark ? "rgba(255,255,255,.10)" : "rgba(255,255,255,.35)";
    this.context.fill();
    this.context.strokeStyle = palette.ink;
    this.context.lineWidth = 1.2;
    this.context.stroke();
  }

  drawPoint(point, palette) {
    const [x, y] = this.toScreen(point);
    const c = this.context;
    c.beginPath();
    c.arc(x, y, 6, 0, 2 * Math.PI);
    c.fillStyle = palette.paper;
    c.strokeStyle = palette.ink;
    c.lineWidth = 2;
    c.fill();
    c.stroke();
    c.beginPath();
    c.moveTo(x - 3, y - 3);
    c.lineTo(x + 3, y + 3);
    c.moveTo(x - 3, y + 3);
    c.lineTo(x + 3, y - 3);
    c.stroke();
  }

  drawInput(place, name, palette) {
    const [x, y] = this.toScreen(place);
    const c = this.context;
    c.beginPath();
    c.arc(x, y, 8, 0, 2 * Math.PI);
    Object.assign(c, { fillStyle: palette.ink, strokeStyle: palette.paper, lineWidth: 1.5 });
    c.fill();
    c.stroke();
    Object.assign(c, { fillStyle: palette.paper, font: "bold 11px system-ui, sans-serif", textAlign: "center", textBaseline: "middle" });
    c.fillText(name, x, y + 0.5);
  }

  drawCursor(palette) {
    const [x, y] = this.middle;
    const c = this.context;
    c.strokeStyle = palette.ink;
    c.lineWidth = 1;
    c.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      c.moveTo(x + 4 * dx, y + 4 * dy);
      c.lineTo(x + 12 * dx, y + 12 * dy);
    }
    c.stroke();
  }

  drawAxes(palette) {
    const c = this.context;
    const [[x0, x1], [y0, y1]] = this.bounds();
    const [left, right, top, bottom] = [MARGIN.left, this.width - MARGIN.right, MARGIN.top, this.height - MARGIN.bottom];
    c.strokeStyle = palette.soft;
    c.fillStyle = palette.soft;
    c.lineWidth = 1;
    c.strokeRect(left, top, right - left, bottom - top);
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const [value, text] of ticks(x0, x1, (right - left) / 90)) {
      const [x] = this.toScreen([value, 0]);
      c.fillRect(x, bottom, 1, 4);
      c.fillText(text, x, bottom + 6);
    }
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const [value, text] of ticks(y0, y1, (bottom - top) / 60)) {
      const [, y] = this.toScreen([0, value]);
      c.fillRect(left - 4, y, 4, 1);
      c.fillText(text, left - 7, y);
    }
    c.font = "italic 12px system-ui, sans-serif";
    c.fillStyle = palette.ink;
    c.textAlign = "right";
    c.textBaseline = "bottom";
    c.fillText(this.axes[0], right, this.height - 2);
    c.textAlign = "left";
    c.textBaseline = "top";
    c.fillText(this.axes[1], left + 6, top + 5);
  }

  foldAt(at, reach = 7) {
    let [best, distance] = [null, reach];
    for (const fold of this.options.folds ? this.picture.folds : []) {
      const d = segmentDistance(at, this.toScreen([fold.p[0], fold.p[1]]), this.toScreen([fold.p[2], fold.p[3]]));
      if (d < distance) [best, distance] = [fold, d];
    }
    return best;
  }

  regionAt(at) {
    const [x, y] = this.toPlane(at);
    const inside = ({ p }) => {
      let sign = 0;
      for (let i = 0; i < p.length; i += 2) {
        const j = (i + 2) % p.length;
        const cross = (p[j] - p[i]) * (y - p[i + 1]) - (p[j + 1] - p[i + 1]) * (x - p[i]);
        if (cross !== 0 && sign !== 0 && Math.sign(cross) !== sign) return false;
        if (cross !== 0) sign = Math.sign(cross);
      }
      return sign !== 0;
    };
    return this.picture.regions.find(inside) ?? null;
  }
}

// How a fold is drawn; the legend shows the same.
function foldStyle(fold, palette) {
  const dash = fold.visible ? [] : fold.hidden ? [9, 4, 2, 4] : [4, 4];
  return { colour: fold.hidden ? palette.ink : palette.layer(fold.l), dash };
}

function segmentDistance([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const square = dx * dx + dy * dy;
  const t = square === 0 ? 0 : Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / square, 0), 1);
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough) ?? rough;
}

function ticks(low, high, count) {
  const step = niceStep((high - low) / Math.max(count, 2));
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const list = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) {
    const value = k * step;
    const text = step >= 1e5 || step < 1e-4 ? value.toExponential(1) : value.toFixed(digits);
    list.push([value, text.replace("-", "−")]);
  }
  return list;
}
