// The plane that is shown: that of two inputs, the others fixed, or one through two or three chosen inputs.

const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
const less = (x, y) => x.map((value, i) => value - y[i]);

function defaultPlane(inputs) {
  return { axes: inputs === 1 ? [0, 0] : [0, 1], origin: new Array(inputs).fill(0) };
}

// The plane through two or three inputs: the first is (0, 0), the second (1, 0). Both axes have the same unit, so
// that nothing is distorted. Through two inputs the second axis is that of the input that turns least with the first.
function planeThrough(points, inputs) {
  if (points.length < 2 || points.length > 3) throw new Error(`a plane goes through two or three inputs, found ${points.length}`);
  for (const point of points) {
    if (point.length !== inputs || !point.every(Number.isFinite)) throw new Error(`expected ${inputs} numbers for each input, found ${point.length}`);
  }
  const [origin, second, third] = points;
  const u = less(second, origin);
  const square = dot(u, u);
  if (!(square > 0)) throw new Error("the first two inputs are the same");
  const least = u.reduce((best, value, i) => (Math.abs(value) < Math.abs(u[best]) ? i : best), 0);
  const towards = third ? less(third, origin) : u.map((_, i) => (i === least ? 1 : 0));
  const across = less(towards, u.map((value) => (value * dot(towards, u)) / square));
  const size = Math.sqrt(dot(across, across));
  if (!(size > 1e-9 * Math.sqrt(dot(towards, towards)))) throw new Error("the three inputs lie on a line");
  const v = across.map((value) => (value * Math.sqrt(square)) / size);
  const axis = third ? "towards input 3" : `x${least + 1}, at a right angle`;
  return { through: points, origin, u, v, names: ["from input 1 to input 2", axis] };
}

// Where an input lies on the plane, or null if it does not.
function onPlane(plane, x) {
  if (!plane.through) {
    const { axes, origin } = plane;
    const fits = x.every((value, i) => axes.includes(i) || value === origin[i]);
    return fits ? [x[axes[0]], x.length === 1 ? 0 : x[axes[1]]] : null;
  }
  const { origin, u, v } = plane;
  const step = less(x, origin);
  const [s, t] = [dot(step, u) / dot(u, u), dot(step, v) / dot(v, v)];
  const rest = step.map((value, i) => value - s * u[i] - t * v[i]);
  return dot(rest, rest) <= 1e-18 * (dot(step, step) + dot(u, u)) ? [s, t] : null;
}

// A rectangle of the plane that holds its inputs with room around them.
function aroundInputs(plane) {
  const places = plane.through.map((x) => onPlane(plane, x));
  return [0, 1].map((k) => {
    const values = places.map((place) => place[k]);
    return [Math.min(...values) - 0.6, Math.max(...values) + 0.6];
  });
}

// The rows of a table of numbers; a first line of words is a heading.
function readRows(text, inputs) {
  const rows = [];
  text.split(/\r?\n/).forEach((line, number) => {
    if (line.trim() === "") return;
    const cells = line.trim().split(/[\s,;]+/);
    const numbers = cells.map(Number);
    if (!numbers.every(Number.isFinite)) {
      if (rows.length === 0 && number === 0) return;
      throw new Error(`line ${number + 1}: expected numbers, found ${line.slice(0, 40)}`);
    }
    if (numbers.length < inputs) throw new Error(`line ${number + 1}: expected ${inputs} numbers, found ${numbers.length}`);
    rows.push(numbers.slice(0, inputs));
  });
  if (rows.length === 0) throw new Error("there are no rows of numbers");
  return rows;
}
