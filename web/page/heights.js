// The heights of an output as pixels. On a region the height is affine, so that along a row of pixels it grows by the same amount from one to the next.

const SHADES = 1024;

class Heights {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
  }

  // Paints the regions into a canvas of so many pixels; `toScreen` leads there, and `range` has the heights of the ramp's ends.
  paint({ regions, width, height, toScreen, range, palette }) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      [this.canvas.width, this.canvas.height] = [width, height];
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const shades = palette.shades(SHADES);
    this.pixels.fill(shades[0]);
    const [x0, y0] = toScreen([0, 0]);
    const [x1] = toScreen([1, 0]);
    const scale = x1 - x0;
    const unit = (SHADES - 1) / (range[1] - range[0]);
    for (const { p, a } of regions) {
      // Height in shades at pixel (x, y): the plane's y axis points up.
      const dx = (unit * a[0]) / scale;
      const dy = (-unit * a[1]) / scale;
      const constant = unit * (a[2] - range[0]) - dx * x0 - dy * y0;
      this.fill(p.map((value, i) => (i % 2 === 0 ? x0 + scale * value : y0 - scale * value)), dx, dy, constant, shades);
    }
    this.context.putImageData(this.image, 0, 0);
    return this.canvas;
  }

  // One convex polygon, row by row.
  fill(corners, dx, dy, constant, shades) {
    const { width, height } = this.canvas;
    const n = corners.length;
    let [top, bottom] = [Infinity, -Infinity];
    for (let i = 1; i < n; i += 2) {
      if (corners[i] < top) top = corners[i];
      if (corners[i] > bottom) bottom = corners[i];
    }
    const last = Math.min(height - 1, Math.floor(bottom - 0.5));
    for (let row = Math.max(0, Math.ceil(top - 0.5)); row <= last; row++) {
      const y = row + 0.5;
      let [left, right] = [Infinity, -Infinity];
      for (let i = 0; i < n; i += 2) {
        const j = i + 2 === n ? 0 : i + 2;
        const [ya, yb] = [corners[i + 1], corners[j + 1]];
        if (ya < y === yb < y) continue;
        const x = corners[i] + ((y - ya) / (yb - ya)) * (corners[j] - corners[i]);
        if (x < left) left = x;
        if (x > right) right = x;
      }
      // A millionth of a pixel more, so that rounding leaves no gap between two regions.
      const from = Math.max(0, Math.ceil(left - 0.500001));
      const to = Math.min(width - 1, Math.floor(right - 0.499999));
      let value = dx * (from + 0.5) + dy * y + constant;
      const at = row * width;
      for (let x = from; x <= to; x++) {
        this.pixels[at + x] = shades[value <= 0 ? 0 : value >= SHADES - 1 ? SHADES - 1 : value | 0];
        value += dx;
      }
    }
  }
}
