// Labels of frames: each near its point, clear of other labels and of moving bodies that do not carry it and, if possible, of axes,
// arrows and everything else. A label without space appears beside the pointer. While the page plays, a label keeps its side if that is
// free.
const SERIF = '"STIX Two Text", "Times New Roman", "DejaVu Serif", serif', SANS = '"Inter", "Segoe UI", "DejaVu Sans", Arial, sans-serif';
const TURNS = [0, .35, -.35, .7, -.7, 1.2, -1.2, 1.8, -1.8, 2.6, -2.6, 3.1], STEPS = [9, 15, 22, 31, 44, 60, 80, 110, 150], sides = new Map();
function sheet(id) {
  const c = $(id), s = Math.min(2, window.devicePixelRatio || 1), w = c.clientWidth, h = c.clientHeight, g = c.getContext("2d");
  if (c.width !== (w * s | 0) || c.height !== (h * s | 0)) { c.width = w * s; c.height = h * s; }
  g.setTransform(s, 0, 0, s, 0, 0); g.clearRect(0, 0, w, h); return [g, w, h];
}
const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const boxOf = id => { const a = $(id).getBoundingClientRect(), b = canvas.getBoundingClientRect(); return [a.left - b.left, a.top - b.top, a.right - b.left, a.bottom - b.top]; };
const boxAbout = points => [Math.min, Math.max].flatMap(pick => [0, 1].map(i => pick(...points.map(p => p[i]))));
const between = (a, b, n = 6) => Array.from({ length: n + 1 }, (_, i) => [a[0] + i / n * (b[0] - a[0]), a[1] + i / n * (b[1] - a[1])]);
function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]), turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const half = list => list.reduce((s, p) => { while (s.length > 1 && turn(s[s.length - 2], s[s.length - 1], p) <= 0) s.pop(); s.push(p); return s; }, []).slice(0, -1);
  return [...half(sorted), ...half(sorted.reverse())];
}
// A box is clear of a convex body if an edge of either separates them.
function covers({ box, hull }, a) {
  return overlap(a, box) && !hull.some((p, i) => { const q = hull[(i + 1) % hull.length], n = [q[1] - p[1], p[0] - q[0]];
    return [[a[0], a[1]], [a[2], a[1]], [a[2], a[3]], [a[0], a[3]]].every(c => n[0] * (c[0] - p[0]) + n[1] * (c[1] - p[1]) > 0); });
}
const corners = M.solids.map(o => { const p = A[o.mesh], low = [1 / 0, 1 / 0, 1 / 0], high = low.map(v => -v);
  p.forEach((v, i) => { low[i % 3] = Math.min(low[i % 3], v); high[i % 3] = Math.max(high[i % 3], v); });
  return Array.from({ length: 8 }, (_, k) => [0, 1, 2].map(i => k >> i & 1 ? high[i] : low[i])); });
const projector = (eye, w, h) => p => { const q = [...p, 1], c = [0, 1, 3].map(i => q.reduce((s, v, k) => s + eye.PV[4 * k + i] * v, 0)); return [w / 2 * (1 + c[0] / c[2]), h / 2 * (1 - c[1] / c[2])]; };
const bodiesIn = (now, pixel) => M.solids.map((o, k) => { if (!o.seen) return null; const hull = convexHull(corners[k].map(p => pixel(move(now.solids[k], p)))); return { hull, box: boxAbout(hull), moves: A[o.pose + "_p"].length > 3 || A[o.pose + "_q"].length > 4 }; });
const inside = (p, a, edge = 0) => p[0] > a[0] - edge && p[0] < a[2] + edge && p[1] > a[1] - edge && p[1] < a[3] + edge;
// Points of the line from a point to a label at a distance.
const leader = (box, step, at) => step > 15 ? between(at, [0, 1].map(i => Math.min(box[i + 2], Math.max(box[i], at[i]))), 12) : [];
function putLabels(g, [w, h], labels, bodies, avoid, taken, last) {
  const kept = new Map(), left = [];
  for (const label of labels) {
    const { key, text, index, at, away, on = [], colour = "#1c2331" } = label;
    const word = text.length > 1, large = word ? `13px ${SANS}` : `italic 21px ${SERIF}`, small = `italic 14px ${SERIF}`;
    g.font = small; const tail = g.measureText(index).width; g.font = large; const wide = g.measureText(text).width, size = [wide + tail + 2, word ? 16 : 22];
    const others = bodies.filter((body, k) => body && !on.includes(k)), moving = others.filter(body => body.moves), first = Math.atan2(away[1], away[0]);
    const free = ([step, turn]) => {
      const [x, y] = [Math.cos, Math.sin].map((f, i) => at[i] + f(first + turn) * (step + size[i] / 2)), a = [x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2];
      return a[0] > 2 && a[1] > 2 && a[2] < w - 2 && a[3] < h - 2 && !taken.some(b => overlap(a, b)) && !moving.some(body => covers(body, a)) && !leader(a, step, at).some(p => taken.some(b => inside(p, b))) && a; };
    let best = playing && last.get(key), box = best && free(best), least = box ? 0 : Infinity;
    for (const step of STEPS) for (const turn of TURNS) {
      let cost = .25 * Math.abs(turn) + step / 18; const a = cost < least && free([step, turn]); if (!a) continue;
      if (others.some(body => !body.moves && covers(body, a))) cost += 1;
      for (const p of avoid) if (inside(p, a, 2)) cost += .7;
      if (cost < least) { least = cost; box = a; best = [step, turn]; }
    }
    if (!box) { left.push(label); continue; }
    const line = leader(box, best[0], at); kept.set(key, best); taken = [...taken, box]; avoid = [...avoid, ...line];
    if (line.length) { g.strokeStyle = "#667085"; g.lineWidth = 1; g.beginPath(); g.moveTo(...at); g.lineTo(...line[line.length - 1]); g.stroke(); }
    g.lineWidth = 4; g.lineJoin = "round"; g.strokeStyle = "rgba(255,255,255,.9)"; g.fillStyle = colour; g.textBaseline = "middle";
    for (const ink of ["strokeText", "fillText"]) { const y = .5 * (box[1] + box[3]); g.font = large; g[ink](text, box[0], word ? y : y - 2); g.font = small; g[ink](index, box[0] + wide + 1, y + 5); }
  }
  last.clear(); kept.forEach((side, key) => last.set(key, side));
  return left;
}
// Text beside the pointer: the nearest body under it, and labels without space on that body or near the pointer.
const pointed = { bodies: [], left: [], away: [] };
function tellPointed(x, y) {
  const box = [x - .5, y - .5, x + .5, y + .5], hit = pointed.bodies.flatMap((body, k) => body && covers(body, box) ? [k] : []).sort((a, b) => pointed.away[a] - pointed.away[b])[0];
  const names = pointed.left.filter(({ at, on }) => on.includes(hit) || Math.hypot(at[0] - x, at[1] - y) < 24).map(({ text, index }) => text + index);
  const words = [...new Set([...(hit === undefined ? [] : [M.solids[hit].name]), ...names])].filter(Boolean).join(", "), node = $("pointed");
  node.textContent = words; node.style.left = `${Math.max(4, Math.min(x + 14, canvas.clientWidth - node.offsetWidth - 4))}px`; node.style.top = `${Math.max(4, y - 26)}px`;
}
const tipsOf = (H, length, pixel) => [0, 1, 2].map(j => pixel(add(column(H, 3), column(H, j), length)));
function drawLabels(now, eye, near) {
  const [g, w, h] = sheet("labels"), pixel = projector(eye, w, h), taken = ["legend", "help"].map(boxOf), labels = [], avoid = [];
  if (M.forces.length) {
    const unit = document.querySelector("#legend .unit"), { unit_length, text } = arrowScale();
    unit.style.width = `${Math.max(4, eye.scale * unit_length)}px`; unit.nextSibling.data = text;
  }
  if (near) {
    const [x, y] = pixel(near.centre), r = near.reach * eye.scale, box = boxOf("lens"), R = .5 * (box[2] - box[0]), X = box[0] + R, Y = box[1] + R;
    const a = Math.atan2(Y - y, X - x), half = Math.acos((r - R) / Math.max(Math.hypot(X - x, Y - y), R + r));
    g.strokeStyle = "#98a2b3"; g.lineWidth = 1; g.beginPath(); g.arc(x, y, r, 0, 7);
    for (const c of [a - half, a + half]) { g.moveTo(x + r * Math.cos(c), y + r * Math.sin(c)); g.lineTo(X + R * Math.cos(c), Y + R * Math.sin(c)); }
    g.stroke(); taken.push(box);
  }
  if ($("frames").checked) frames.forEach((f, k) => {
    const [text, index] = f.label, H = now.frames[k]; if (!now.shown[k]) return;
    const o = pixel(column(H, 3)), tips = tipsOf(H, f.length * M.triad * eye.grown, pixel), z = [tips[2][0] - o[0], tips[2][1] - o[1]];
    if (f.length) tips.forEach(tip => avoid.push(...between(o, tip)));
    // Beside the z axis of a contact's frame; else words at its tip, single letters at the origin.
    const [at, away] = f.at_axis ? [[o[0] + .6 * z[0], o[1] + .6 * z[1]], [-z[1], z[0]]] : text.length > 1 ? [tips[2], f.length ? z : [1, 0]] : [o, [0, 1].map(i => 3 * o[i] - tips[0][i] - tips[1][i] - tips[2][i])];
    if (text) labels.push({ key: k, text, index, at, away, on: f.on });
  });
  now.arrows.forEach(arrow => avoid.push(...between(pixel(arrow.start), pixel(arrow.tip), 12)));
  pointed.bodies = bodiesIn(now, pixel); pointed.away = now.solids.map(H => norm(add(eye.eye, column(H, 3), -1)));
  pointed.left = putLabels(g, [w, h], labels, pointed.bodies, avoid, taken, sides);
}
// A lens, as on posters, for a contact whose axes are too short to be seen: the one with the largest force, or else the nearest.
const SMALL = 20;
function contactNear(now, eye) {
  if (eye.scale * M.triad >= SMALL) return null;
  const found = M.touches.map(({ plane }, k) => { const [a, b] = [0, 1].map(i => column(now.frames[plane + i], 3)), apart = norm(add(a, b, -1));
    return { plane, apart, centre: add(a, add(b, a, -1), .5), reach: 1.6 * M.triad + apart, force: norm(now.row(M.forces[k].newtons, 3)) }; });
  return found.filter(c => c.apart < M.triad).sort((a, b) => b.force - a.force || a.apart - b.apart)[0] ?? null;
}
function drawLens(now, near) {
  $("lens").style.visibility = near ? "" : "hidden"; if (!near) return;
  const [g, w] = sheet("lens"), d = $("lens").width, eye = lookAt(near.centre, near.reach / Math.tan(ANGLE / 2), [0, 0], w, w), pixel = projector(eye, w, w), labels = [], avoid = [];
  drawScene(now, eye, d, d, true); g.drawImage(canvas, 0, canvas.height - d, d, d, 0, 0, w, w);
  [1, 2].forEach(side => { const H = now.frames[near.plane + side - 1], o = pixel(column(H, 3)); tipsOf(H, M.triad, pixel).forEach((tip, j) => {
    avoid.push(...between(o, tip)); labels.push({ text: "xyz"[j], index: String(side), at: tip, away: [tip[0] - o[0], tip[1] - o[1]], colour: M.axes[j] }); }); });
  putLabels(g, [w, w], labels, [], avoid, [], new Map());
}
