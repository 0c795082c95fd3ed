// Page of a run: sliders set parameters, the run is repeated, and its curves are drawn with the curves of the exported run.
const FONT = '11px "Inter", "Segoe UI", "DejaVu Sans", Arial, sans-serif', LEFT = 58, RIGHT = 14, TOP = 8, FOOT = 34;
const $ = id => document.getElementById(id);
function make(tag, facts = {}, ...inside) { const node = document.createElement(tag); for (const [k, v] of Object.entries(facts)) node.setAttribute(k, v); node.append(...inside); return node; }
const dark = matchMedia("(prefers-color-scheme: dark)"), ofPage = name => getComputedStyle(document.body).getPropertyValue(`--${name}`);
const colour = k => ofPage(`curve${k % 6}`), dashed = k => k >= 6;
const values = new Map();
let first = null, now = null, pointer = null;
const panels = S.panels.map(panel => {
  const outputs = panel.curves.map(() => make("output", { "aria-live": "off" }));
  const legend = panel.curves.map((curve, k) => make("span", {}, make("i", { style: `color:var(--curve${k % 6});border-top-style:${dashed(k) ? "dashed" : "solid"}` }), withUnit(curve.name, panel.unit && `(${panel.unit})`) + " ", outputs[k]));
  const canvas = make("canvas", { role: "img", "aria-label": `${panel.curves.map(c => c.name).join(", ")} over time` });
  $("panels").append(make("section", { class: "panel" }, make("div", {}, ...legend), canvas));
  canvas.onpointermove = e => { const box = canvas.getBoundingClientRect(); pointer = (e.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT); draw(); };
  canvas.onpointerleave = () => { pointer = null; draw(); };
  return { ...panel, outputs, canvas };
});
function extent(runs, columns) {
  let low = Infinity, high = -Infinity;
  for (const run of runs) for (const k of columns) for (const v of run.curves.columns[k]) { if (v < low) low = v; if (v > high) high = v; }
  if (!(high >= low)) return [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high)), pad = high - low <= S.flat * size ? .5 * size || 1 : .06 * (high - low);
  return [low - pad, high + pad];
}
function drawPanel({ canvas, curves, outputs, unit }) {
  const scale = Math.min(2, window.devicePixelRatio || 1), w = canvas.clientWidth, h = canvas.clientHeight, g = canvas.getContext("2d");
  canvas.width = w * scale; canvas.height = h * scale; g.scale(scale, scale); g.font = FONT; g.lineJoin = "round";
  const start = S.span[0], end = S.span[1], [low, high] = extent([first, now], curves.map(c => c.column));
  const X = t => LEFT + (w - LEFT - RIGHT) * (t - start) / (end - start), Y = v => TOP + (h - TOP - FOOT) * (high - v) / (high - low);
  const line = (...points) => { g.beginPath(); points.forEach(([x, y]) => g.lineTo(x, y)); g.stroke(); };
  g.strokeStyle = ofPage("grid"); g.fillStyle = ofPage("muted"); g.lineWidth = 1; g.textAlign = "right"; g.textBaseline = "middle";
  const marks = ticks(low, high, Math.max(2, h / 45)), texts = tickLabels(marks);
  marks.forEach((v, k) => { line([LEFT, Y(v)], [w - RIGHT, Y(v)]); g.fillText(texts[k], LEFT - 6, Y(v), LEFT - 8); });
  g.textAlign = "center"; g.textBaseline = "top";
  timeTicks(g, start, end, w - LEFT - RIGHT).forEach(([t, text]) => { line([X(t), TOP], [X(t), h - FOOT]); g.fillText(text, Math.min(X(t), w - 1 - .5 * g.measureText(text).width), h - FOOT + 5); });
  g.fillText("time (s)", (LEFT + w - RIGHT) / 2, h - 14);
  g.strokeStyle = ofPage("frame"); g.strokeRect(LEFT + .5, TOP + .5, w - LEFT - RIGHT - 1, h - TOP - FOOT - 1);
  g.save(); g.beginPath(); g.rect(LEFT, TOP, w - LEFT - RIGHT, h - TOP - FOOT); g.clip();
  for (const [t] of now.events.slice(0, 400)) line([X(t), TOP], [X(t), TOP + 6]);
  for (const [run, alpha, width] of first === now ? [[now, 1, 1.8]] : [[first, .4, 1.4], [now, 1, 1.8]]) curves.forEach(({ column }, k) => {
    g.globalAlpha = alpha; g.lineWidth = width; g.strokeStyle = colour(k); g.setLineDash(dashed(k) ? [5, 3] : []);
    line(...Array.from(run.curves.columns[column], (v, i) => [X(run.curves.t[i]), Y(v)]));
  });
  g.globalAlpha = 1; g.setLineDash([]);
  const { t, columns } = now.curves, seen = pointer !== null && pointer >= 0 && pointer <= 1 && t.length;
  let at = t.length - 1;
  if (seen) { const found = t.findIndex(time => time >= start + pointer * (end - start)); at = found < 0 ? at : found; }
  if (seen) { g.strokeStyle = ofPage("muted"); g.lineWidth = 1; line([X(t[at]), TOP], [X(t[at]), h - FOOT]); }
  g.restore();
  curves.forEach(({ column }, k) => { outputs[k].textContent = t.length ? `${withUnit(written(Math.abs(columns[column][at]) < 1e-9 * (high - low) ? 0 : columns[column][at]), unit)} at ${written(t[at], order(end - start) - 3, end - start)} s` : ""; });
}
function draw() { if (now) panels.forEach(drawPanel); }
function show(run) {
  now = run; run.curves = curvesOf(run); first ??= run;
  showStatus($("status"), S, run);
  draw();
}
if (S.replay) show({ ...S.replay, events: [], jumps: [], wrong: "" });
else simulator(S).then(({ run }) => {
  const again = () => { show(run(values)); return now.milliseconds; };
  addSliders($("sliders"), S.live, values, again);
  again();
  globalThis.live = { run, S };
}, error => showStatus($("status"), S, { wrong: `this browser cannot simulate: ${error.message}` }));
dark.onchange = draw;
new ResizeObserver(draw).observe($("panels"));
