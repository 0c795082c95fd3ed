// Sliders of parameters: the page repeats the run, and its samples replace the stored samples.
const L = JSON.parse($("run").textContent), fixed = new Set(L.rules.flatMap(([rule], k) => rule === "fixed" ? [k] : []));
const E = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], turned3 = (H, v) => [0, 1, 2].map(i => H[i] * v[0] + H[4 + i] * v[1] + H[8 + i] * (v[2] ?? 0));
// Poses at sample i of the columns C; H holds the poses of the preceding rules.
const rules = {
  fixed: (H, C, i, pose) => new Float32Array(pose),
  pose: (H, C, i, c) => pose([0, 1, 2, 3].map(k => C[c + k][i]), [4, 5, 6].map(k => C[c + k][i])),
  matrix: (H, C, i, c) => Float32Array.from({ length: 16 }, (_, k) => C[c + 4 * (k % 4) + (k >> 2)][i]),
  at: (H, C, i, c) => frame(...E, [0, 1, 2].map(k => C[c + k][i])),
  plane: (H, C, i, x, y, angle) => { const [u, v, a] = [x, y, angle].map(c => c === null ? 0 : C[c][i]), k = Math.cos(a), s = Math.sin(a); return frame([k, s, 0], [-s, k, 0], E[2], [u, v, 0]); },
  product: (H, C, i, a, b) => mul(H[a], H[b]),
  freedom: (H, C, i, before, start, axis, sign, turns, pitch, q, factor, offset) => {
    const x = factor * C[q][i] + offset, move = E[axis].map(v => sign * (turns ? pitch : 1) * x * v), axes = [...E], [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
    if (turns) { const k = Math.cos(x), s = sign * Math.sin(x); axes[a] = add(E[a].map(v => k * v), E[b], s); axes[b] = add(E[b].map(v => k * v), E[a], -s); }
    return mul(mul(H[before], start), frame(...axes, move));
  },
};
function quaternion(H) {
  const m = (i, j) => H[4 * j + i], trace = [1 + m(0, 0) + m(1, 1) + m(2, 2), ...[0, 1, 2].map(i => 1 + 2 * m(i, i) - m(0, 0) - m(1, 1) - m(2, 2))], best = trace.indexOf(Math.max(...trace));
  const w = [m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)], s = (i, j) => m(i, j) + m(j, i);
  const q = [[trace[0], ...w], [w[0], trace[1], s(0, 1), s(0, 2)], [w[1], s(0, 1), trace[2], s(1, 2)], [w[2], s(0, 2), s(1, 2), trace[3]]][best], size = norm4(q);
  return q.map(v => v / size);
}
const norm4 = q => Math.hypot(...q);
// The tube of a path on a surface: points and normals in the axes of its solid, and radii, at all samples.
function tube(points, normals, radii) {
  const along = points.map((p, i) => { const way = add(points[Math.min(i + 1, N - 1)], points[Math.max(i - 1, 0)], -1); return add(way, normals[i], -dot(way, normals[i])); });
  const most = Math.max(...along.map(norm)), p = [], n = [];
  let last = along.find(v => norm(v) > 1e-9 * most) ?? cross(normals[0], E[normals[0].map(Math.abs).indexOf(Math.min(...normals[0].map(Math.abs)))]);
  points.forEach((at, i) => {
    if (most > 1e-30 && norm(along[i]) > 1e-9 * most) last = along[i];
    const side = unit(cross(normals[i], unit(last)));
    for (let k = 0; k < M.sides; k++) { const a = 2 * Math.PI * k / M.sides, out = add(side.map(v => Math.cos(a) * v), normals[i], Math.sin(a)); n.push(...out); p.push(...add(at, out, radii[i])); }
  });
  return [p, n];
}
const newTubes = new Map();
function replace(run) {
  const samples = run.t.length, C = run.columns, rows = (name, size) => A[name].length === size * N ? A[name] : (A[name] = new Float32Array(size * N)), still = [];
  const seen = L.touches.map(() => ({ frames: [[], []], points: [[], []], normals: [[], []], on: [] }));
  const solidRows = M.solids.map(({ pose: name }, k) => fixed.has(L.solids[k]) ? null : [rows(name + "_p", 3), rows(name + "_q", 4)]);
  const frameRows = M.frames.map(({ pose: name }, k) => fixed.has(L.frames[k]) ? null : [rows(name + "_p", 3), rows(name + "_q", 4)]);
  const coilRows = M.coils.map(({ start, end }) => [rows(start, 3), rows(end, 3)]);
  const forceRows = M.forces.map(({ at, newtons }) => [rows(at, 3), rows(newtons, 3)]), first = M.frames.length - 2 * L.touches.length;
  for (let i = 0; i < N; i++) {
    const j = Math.min(i, samples - 1), H = [];  // a run that ended early keeps its last state
    L.rules.forEach(([rule, ...arguments_], k) => { H[k] = still[k] ?? rules[rule](H, C, j, ...arguments_); if (fixed.has(k)) still[k] = H[k]; });
    const put = (list, k, node) => { if (list[k]) { list[k][0].set(column(H[node], 3), 3 * i); list[k][1].set(quaternion(H[node]), 4 * i); } };
    L.solids.forEach((node, k) => put(solidRows, k, node));
    L.frames.forEach((node, k) => put(frameRows, k, node));
    L.coils.forEach((ends, k) => ends.forEach((node, side) => coilRows[k][side].set(column(H[node], 3), 3 * i)));
    L.forces.forEach((force, k) => [force.at, force.newtons].forEach((columns, side) => forceRows[L.touches.length + k][side].set(columns.map(c => C[c][j]), 3 * i)));
    L.touches.forEach(({ force, gap, off }, k) => {
      const own = seen[k], frames = [0, 1].map(side => H[L.frames[first + 2 * k + side]]);
      own.on.push(off.length ? off.every(([c, mode]) => C[c][j] !== mode) : C[gap][j] < 0);
      M.touches[k].solids.forEach((solid, side) => {
        const B = H[L.solids[solid]], inside = v => [0, 1, 2].map(a => dot(column(B, a), v));
        own.points[side].push(inside(add(column(frames[side], 3), column(B, 3), -1))); own.normals[side].push(inside(column(frames[side], 2)));
      });
      forceRows[k][0].set(column(frames[1], 3), 3 * i);
      forceRows[k][1].set(force.length ? turned3(frames[1], force.map(c => -C[c][j])) : [0, 0, 0], 3 * i);
      [0, 1].forEach(side => { const name = M.frames[first + 2 * k + side].shown; if (name) rows(name, 1)[i] = own.on[i] || C[gap][j] < 0 ? 1 : 0; });
    });
  }
  seen.forEach((own, k) => [0, 1].forEach(side => {
    const number = 2 * k + side, [p, n] = tube(own.points[side], own.normals[side], own.on.map(on => (on ? 1 : M.open_thickness) * M.tube));
    rows(M.paths[number].end, 3).set(own.points[side].flat());
    if (!gl) return;
    const old = newTubes.get(number); if (old) [old.p.buffer, old.n.buffer, old.i].forEach(buffer => gl.deleteBuffer(buffer));
    paths[number].shape = mesh(p, n, A[M.paths[number].mesh + "_index"]); newTubes.set(number, paths[number].shape);
  }));
  travel = travelled();
  M.contacts = seen.flatMap(({ on }) => on.flatMap((is, i) => is && !on[i - 1] ? [[T[i], T[on.indexOf(false, i) < 0 ? N - 1 : on.indexOf(false, i) - 1]]] : [])).sort((a, b) => a[0] - b[0]);
}
function replaceCurves(run) {
  const { t: times, columns } = curvesOf(run), reach = times[times.length - 1] < END - 1e-9 * (END - START);
  const ending = reach ? [...times, times[times.length - 1]] : times;  // nothing is drawn after an early end of the run
  const put = (k, values) => {
    let least = Infinity, most = -Infinity; for (const v of values) { if (v < least) least = v; if (v > most) most = v; }
    Object.assign(curve(k), { values: reach ? [...values, NaN] : values, times: ending, step: 0, least, most });
  };
  M.quantities.forEach(([, , k, count], q) => { for (let i = 0; i < count; i++) put(k + i, columns[L.quantities[q] + i]); });
  M.switches.forEach(({ mode }, k) => put(mode, columns[L.switches[k]]));
  const largest = M.bonds.map(({ effort, flow, power }, k) => {
    const [, , e, count] = M.quantities[effort], f = M.quantities[flow][2], watts = Array(times.length).fill(0);
    for (let i = 0; i < count; i++) { const efforts = curve(e + i).values, flows = curve(f + i).values; watts.forEach((_, j) => { watts[j] += (L.pseudo[k] ? 1 : efforts[j]) * flows[j]; }); }
    put(power, watts);
    const sizes = watts.map(Math.abs).sort((a, b) => a - b); return sizes[Math.floor(.99 * (sizes.length - 1))] || sizes[sizes.length - 1];
  });
  M.most_power = Math.max(0, ...largest);
  const seen = run.events.filter(([, name]) => !L.internal.includes(name)); M.events = seen.length > M.most_marks ? [] : seen.map(([time]) => time);
  panels.forEach(panel => { panel.key = ""; });
}
const values = new Map();
function show_run(run) {
  if (run.t.length > 1) { replace(run); replaceCurves(run); }
  showStatus($("status"), L, run); render();
}
if (L.replay) showStatus($("status"), L, {});
else simulator(L).then(({ run }) => {
  const again = () => { const latest = run(values); show_run(latest); return latest.milliseconds; };
  addSliders($("sliders"), L.live, values, again);
  again();
  globalThis.live = { run, S: L, again: changes => { for (const [k, v] of changes) values.set(k, v); again(); } };
}, error => showStatus($("status"), L, { wrong: `this browser cannot simulate: ${error.message}` }));
