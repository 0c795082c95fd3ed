// Page of a run: sliders set parameters, the run is done again, and its curves are drawn beside those of the run as exported.
const S = JSON.parse(document.getElementById("run").textContent);
const COLOURS = ["#1e3a8a", "#c2410c", "#14a3a8", "#937ee6", "#b28262", "#5c2410"], FONT = '11px "Inter", "Segoe UI", "DejaVu Sans", Arial, sans-serif';
const LEFT = 58, RIGHT = 14, TOP = 8, FOOT = 34;
const $ = id => document.getElementById(id);
function make(tag, facts = {}, ...inside) { const node = document.createElement(tag); for (const [k, v] of Object.entries(facts)) node.setAttribute(k, v); node.append(...inside); return node; }
const written = v => { const text = String(Number(v.toPrecision(5))); return text.length > 9 ? v.toExponential(2) : text; };
const withUnit = (text, unit) => unit ? `${text} ${unit}` : text;
function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw)), step = power * [1, 2, 5, 10].find(m => m * power >= raw * (1 - 1e-9)), out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out.map(v => Number(v.toPrecision(12)));
}
const values = new Map(S.live.map(parameter => [parameter.index, parameter.value]));
let first = null, now = null, pointer = null;
const panels = S.panels.map(panel => {
  const outputs = panel.curves.map(() => make("output"));
  const legend = panel.curves.map((curve, k) => make("span", {}, make("i", { style: `color:${COLOURS[k % COLOURS.length]}` }), withUnit(curve.name, panel.unit && `(${panel.unit})`) + " ", outputs[k]));
  const canvas = make("canvas", { role: "img", "aria-label": `${panel.curves.map(c => c.name).join(", ")} over time` });
  $("panels").append(make("section", { class: "panel" }, make("div", {}, ...legend), canvas));
  canvas.onpointermove = e => { const box = canvas.getBoundingClientRect(); pointer = (e.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT); draw(); };
  canvas.onpointerleave = () => { pointer = null; draw(); };
  return { ...panel, outputs, canvas };
});
function extent(runs, columns) {
  let low = Infinity, high = -Infinity;
  for (const run of runs) for (const k of columns) for (const v of run.columns[k]) { if (v < low) low = v; if (v > high) high = v; }
  if (!(high >= low)) return [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high)), pad = high - low <= 1e-9 * size ? .5 * size || 1 : .06 * (high - low);
  return [low - pad, high + pad];
}
function drawPanel({ canvas, curves, outputs, unit }) {
  const scale = Math.min(2, window.devicePixelRatio || 1), w = canvas.clientWidth, h = canvas.clientHeight, g = canvas.getContext("2d");
  canvas.width = w * scale; canvas.height = h * scale; g.scale(scale, scale); g.font = FONT; g.lineJoin = "round";
  const start = S.span[0], end = S.span[1], [low, high] = extent([first, now], curves.map(c => c.column));
  const X = t => LEFT + (w - LEFT - RIGHT) * (t - start) / (end - start), Y = v => TOP + (h - TOP - FOOT) * (high - v) / (high - low);
  g.strokeStyle = "#e4e7ec"; g.fillStyle = "#667085"; g.lineWidth = 1; g.textAlign = "right"; g.textBaseline = "middle";
  for (const v of ticks(low, high, Math.max(2, h / 45))) { g.beginPath(); g.moveTo(LEFT, Y(v)); g.lineTo(w - RIGHT, Y(v)); g.stroke(); g.fillText(written(v), LEFT - 6, Y(v), LEFT - 8); }
  g.textAlign = "center"; g.textBaseline = "top";
  for (const t of ticks(start, end, Math.max(2, w / 110))) { g.beginPath(); g.moveTo(X(t), TOP); g.lineTo(X(t), h - FOOT); g.stroke(); g.fillText(written(t), X(t), h - FOOT + 5); }
  g.fillText("time (s)", (LEFT + w - RIGHT) / 2, h - 14);
  g.strokeStyle = "#98a2b3"; g.strokeRect(LEFT + .5, TOP + .5, w - LEFT - RIGHT - 1, h - TOP - FOOT - 1);
  g.save(); g.beginPath(); g.rect(LEFT, TOP, w - LEFT - RIGHT, h - TOP - FOOT); g.clip();
  g.strokeStyle = "#98a2b3";
  for (const [t] of now.events.slice(0, 400)) { g.beginPath(); g.moveTo(X(t), TOP); g.lineTo(X(t), TOP + 6); g.stroke(); }
  for (const [run, alpha, width] of first === now ? [[now, 1, 1.8]] : [[first, .28, 1.4], [now, 1, 1.8]]) curves.forEach(({ column }, k) => {
    g.globalAlpha = alpha; g.lineWidth = width; g.strokeStyle = COLOURS[k % COLOURS.length]; g.beginPath();
    run.columns[column].forEach((v, i) => g.lineTo(X(run.t[i]), Y(v)));
    g.stroke();
  });
  g.globalAlpha = 1;
  const count = now.t.length, seen = pointer !== null && pointer >= 0 && pointer <= 1 && count;
  let at = count - 1;
  if (seen) { const time = start + pointer * (end - start); at = now.t.findIndex(t => t >= time); if (at < 0) at = count - 1; }
  if (seen) { g.strokeStyle = "#667085"; g.lineWidth = 1; g.beginPath(); g.moveTo(X(now.t[at]), TOP); g.lineTo(X(now.t[at]), h - FOOT); g.stroke(); }
  g.restore();
  curves.forEach(({ column }, k) => { outputs[k].textContent = count ? `${withUnit(written(now.columns[column][at]), unit)} at ${written(now.t[at])} s` : ""; });
}
function draw() { if (now) panels.forEach(drawPanel); }
function say(text, isWrong = false) { $("told").textContent = text; $("told").classList.toggle("wrong", isWrong); }
function show(run) {
  now = run; first ??= run;
  const events = S.events ? `, ${run.events.length} event${run.events.length === 1 ? "" : "s"}` : "";
  if (run.wrong) say(`the run ended at ${written(run.t[run.t.length - 1] ?? S.span[0])} s: ${run.wrong}`, true);
  else if (!S.replay) say(`${run.steps} steps${events} in ${run.milliseconds.toFixed(run.milliseconds < 10 ? 1 : 0)} ms, solved in this page`);
  draw();
}
function addSliders(changed) {
  const fields = S.live.map(parameter => {
    const { index, name, unit, value, low, high } = parameter, output = make("output", {}, withUnit(written(value), unit));
    const slider = make("input", { type: "range", min: low, max: high, step: "any", value, "aria-label": withUnit(name, unit && `(${unit})`) });
    const set = v => { values.set(index, v); output.textContent = withUnit(written(v), unit); changed(); };
    slider.oninput = () => set(Number(slider.value));
    $("sliders").append(make("label", {}, make("span", {}, name), output, slider, make("small", {}, written(low)), make("small", {}, written(high))));
    return () => { slider.value = value; values.set(index, value); output.textContent = withUnit(written(value), unit); };
  });
  if (fields.length) {
    const button = make("button", { type: "button" }, "Reset");
    button.onclick = () => { fields.forEach(reset => reset()); changed(); };
    $("sliders").append(button);
  }
}
if (S.replay) {
  say(S.why);
  show({ t: S.replay.t, columns: S.replay.columns, events: [], wrong: "" });
} else simulator(S).then(({ run }) => {
  let waiting = false;
  const again = () => { waiting = false; show(run(values)); };
  addSliders(() => { if (!waiting) { waiting = true; requestAnimationFrame(again); } });
  again();
  globalThis.live = { run, S };
}, error => say(`this browser cannot simulate: ${error.message}`, true));
new ResizeObserver(draw).observe($("panels"));
