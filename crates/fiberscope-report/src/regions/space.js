"use strict";
(() => {
  const mesh = JSON.parse(document.getElementById("mesh").textContent);
  const colours = [[0,114,178],[213,94,0],[0,158,115],[204,121,167],[230,159,0],[86,180,233],[60,60,60]];
  const canvas = document.getElementById("view"), context = canvas.getContext("2d");
  const legend = document.getElementById("legend");
  const lows = [0,1,2].map(i => mesh.points.reduce((low, p) => Math.min(low, p[i]), Infinity));
  const highs = [0,1,2].map(i => mesh.points.reduce((high, p) => Math.max(high, p[i]), -Infinity));
  const middle = lows.map((low, i) => (low + highs[i]) / 2);
  const radius = Math.max(...lows.map((low, i) => highs[i] - low)) / 2 || 1;
  const points = mesh.points.map(p => p.map((x, i) => (x - middle[i]) / radius));
  const layers = [...new Set(mesh.facets.map(f => f.l))].sort((a, b) => a - b);
  const largest = mesh.facets.reduce((most, f) => Math.max(most, f.w), 1e-300);
  const shown = new Map(layers.map(l => [l, true]));
  let invisible = true, turn, tilt, zoom;
  const reset = () => { turn = 0.6; tilt = 0.45; zoom = 1; };
  reset();
  const box = (name, colour, checked, change) => {
    const label = document.createElement("label"), input = document.createElement("input");
    input.type = "checkbox"; input.checked = checked;
    input.addEventListener("change", () => { change(input.checked); draw(); });
    const mark = document.createElement("i"); mark.style.background = colour;
    label.append(input, mark, name); legend.append(label);
  };
  for (const l of layers) {
    box("layer " + (l + 1), `rgb(${colours[l % colours.length]})`, true, on => shown.set(l, on));
  }
  if (mesh.facets.some(f => f.w === 0)) box("invisible pieces", "#c4c9cf", true, on => { invisible = on; });
  const corners = [...Array(8).keys()].map(k => [0, 1, 2].map(i => ((k >> i & 1 ? highs : lows)[i] - middle[i]) / radius));
  const place = ([x, y, z], scale, width, height) => {
    const [c, s, ct, st] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
    const [u, v] = [c * x + s * y, -s * x + c * y];
    const [up, depth] = [ct * z + st * v, ct * v - st * z];
    const near = 4 / (4 + depth);
    return [width / 2 + scale * near * u, height / 2 - scale * near * up, depth];
  };
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const scale = 0.3 * zoom * Math.min(width, height);
    const placed = points.map(p => place(p, scale, width, height));
    context.clearRect(0, 0, width, height);
    context.lineJoin = "round";
    const faces = mesh.facets.filter(f => shown.get(f.l) && (invisible || f.w > 0));
    const depth = f => f.c.reduce((sum, k) => sum + placed[k][2], 0) / f.c.length;
    const order = faces.map(f => [depth(f), f]).sort((a, b) => b[0] - a[0]);
    const dense = mesh.facets.length > 3000;
    context.strokeStyle = "#57606a"; context.lineWidth = ratio;
    context.beginPath();
    const ends = corners.map(p => place(p, scale, width, height));
    for (let k = 0; k < 8; k++) for (const bit of [1, 2, 4]) if (!(k & bit)) {
      context.moveTo(ends[k][0], ends[k][1]); context.lineTo(ends[k | bit][0], ends[k | bit][1]);
    }
    context.stroke();
    for (const [, f] of order) {
      context.beginPath();
      f.c.forEach((k, i) => context[i ? "lineTo" : "moveTo"](placed[k][0], placed[k][1]));
      context.closePath();
      const seen = f.w > 0, rgb = colours[f.l % colours.length];
      const strength = seen ? 0.16 + 0.4 * Math.sqrt(f.w / largest) : 0.05;
      context.fillStyle = `rgba(${seen ? rgb : [140, 149, 158]},${strength})`;
      context.fill();
      context.strokeStyle = `rgba(${rgb},${seen ? 0.75 : 0.35})`;
      context.lineWidth = (dense ? 0.4 : 0.9) * ratio;
      context.setLineDash(seen ? [] : [4 * ratio, 3 * ratio]);
      context.stroke();
    }
    context.setLineDash([]);
    context.fillStyle = "#1b1f24"; context.font = `${13 * ratio}px system-ui, sans-serif`;
    [1, 2, 4].forEach((bit, i) => {
      const [x, y] = ends[bit];
      context.fillText("x" + (i + 1), x + 6 * ratio, y - 6 * ratio);
    });
    context.fillText(mesh.regions + " regions, " + mesh.facets.length + " facets", 10 * ratio, height - 10 * ratio);
  };
  let last = null;
  canvas.addEventListener("pointerdown", e => { last = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { last = null; });
  canvas.addEventListener("pointermove", e => {
    if (!last) return;
    turn += (e.clientX - last[0]) / 150; tilt += (e.clientY - last[1]) / 150;
    tilt = Math.max(-1.57, Math.min(1.57, tilt)); last = [e.clientX, e.clientY]; draw();
  });
  canvas.addEventListener("wheel", e => { e.preventDefault(); zoom *= Math.exp(-e.deltaY / 800); draw(); }, { passive: false });
  canvas.addEventListener("dblclick", () => { reset(); draw(); });
  canvas.addEventListener("keydown", e => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[e.key];
    if (step) { turn += step[0]; tilt += step[1]; e.preventDefault(); draw(); }
  });
  window.addEventListener("resize", draw);
  draw();
})();
