// Small vectors and column-major 4 by 4 matrices.
const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]], dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = a => Math.hypot(...a), unit = a => { const n = norm(a) || 1; return a.map(v => v / n); };
const mul = (a, b) => { const c = new Float32Array(16);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return c; };
const frame = (x, y, z, p) => new Float32Array([...x, 0, ...y, 0, ...z, 0, ...p, 1]);
const move = (H, p) => [0, 1, 2].map(i => H[i] * p[0] + H[4 + i] * p[1] + H[8 + i] * p[2] + H[12 + i]);
const column = (H, j) => [H[4 * j], H[4 * j + 1], H[4 * j + 2]];
function pose(q, p) {
  const n = Math.hypot(...q), [w, x, y, z] = q.map(v => v / n);
  return frame([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
    [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
    [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], p);
}

// Interpolation between samples; rotations take the shortest path or, above about 60 degrees, as at a chart change, the nearer sample.
function at(t) {
  let low = 0, high = N - 1;
  while (high - low > 1) { const m = (low + high) >> 1; if (T[m] <= t) low = m; else high = m; }
  const s = high > low ? Math.min(1, Math.max(0, (t - T[low]) / (T[high] - T[low] || 1))) : 0;
  // Constant data have one row.
  const rows = (name, n) => A[name].length === n ? [0, 0] : [n * low, n * high];
  const row = (name, n) => { const [a, b] = rows(name, n); return Array.from({ length: n }, (_, i) => (1 - s) * A[name][a + i] + s * A[name][b + i]); };
  const turn = name => {
    const [a, b] = rows(name, 4).map(i => A[name].slice(i, i + 4));
    const c = a.reduce((sum, v, i) => sum + v * b[i], 0);
    if (Math.abs(c) < .86) return [...(s < .5 ? a : b)];
    return [...a].map((v, i) => (1 - s) * v + s * Math.sign(c) * b[i]);
  };
  const place = thing => pose(turn(thing.pose + "_q"), row(thing.pose + "_p", 3));
  return { low, row, solids: M.solids.map(place), frames: M.frames.map(place),
    shown: M.frames.map(f => !f.shown || A[f.shown][Math.min(low, A[f.shown].length - 1)] > 0) };
}
