// The picture at time t, and playback.
function render() {
  const now = at(t), shown = gl && canvas.clientWidth > 0;
  $("time").value = place(t);
  const time = `t = ${timeText(t, END - START)} s`; $("time").setAttribute("aria-valuetext", time);
  $("now").textContent = [...M.subtitle, time, pace()].join(" · ");
  if (shown) {
    const eye = look(now), near = contactNear(now, eye), size = canvasSize(); now.arrows = arrowsOf(now.row);
    drawLens(now, near); drawScene(now, eye, ...size); drawLabels(now, eye, near);
  }
  drawGraph(); drawPlots();
}

// Playing follows a table of times, slower during short contacts.
const S = Float64Array.from(A.playback, v => START + v), last = S.length - 1;
function place(time) { let i = 0; while (i < last - 1 && S[i + 1] < time) i++; return (i + Math.min(1, Math.max(0, (time - S[i]) / (S[i + 1] - S[i] || 1)))) / last; }
function timeAt(s) { const x = Math.min(last - 1e-9, Math.max(0, s * last)), i = Math.floor(x); return S[i] + (x - i) * (S[i + 1] - S[i]); }
function pace() { const i = Math.min(last - 1, Math.floor(place(t) * last)), v = (S[i + 1] - S[i]) * last / M.seconds * $("speed").value, f = Math.max(v, 1 / v);
  return Math.abs(v - 1) < .02 ? "real time" : `${v < 1 ? "slow motion" : "fast"} ${written(Number(f.toPrecision(2)))}×`; }
function play(on) { playing = on; $("play").setAttribute("aria-label", on ? "Pause" : "Play"); $("icon").setAttribute("d", on ? "M2 1h4v12H2zM8 1h4v12H8z" : "M2 0l11 7-11 7z"); if (on) { if (t >= END) t = START; stretch = 0; requestAnimationFrame(step); } }
function step(clock) {
  if (!playing) return;
  if (stretch) { const s = place(t) + (clock - stretch) / 1000 / M.seconds * $("speed").value; if (s >= 1) { t = END; play(false); } else t = timeAt(s); }
  stretch = clock; render(); if (playing) requestAnimationFrame(step);
}
const go = time => { t = Math.min(END, Math.max(START, time)); render(); };
$("play").onclick = () => play(!playing);
$("time").oninput = e => { play(false); go(timeAt(e.target.value)); };
for (const id of ["speed", "frames", "paths", "ghosts"]) $(id).onchange = render;
$("follow").onchange = () => { view.distance = 0; render(); };
// Keys: controls that use a key themselves keep it.
addEventListener("keydown", e => {
  const on = e.target, sliding = on.id === "time", typing = on.tagName === "SELECT" || on.id === "name";
  if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === " " && on.tagName !== "BUTTON" && on.type !== "checkbox") { play(!playing); e.preventDefault(); }
  const to = { ArrowLeft: t - (END - START) / 200, ArrowRight: t + (END - START) / 200, Home: START, End: END }[e.key];
  if (to !== undefined && !sliding) { play(false); go(to); e.preventDefault(); }
});
drag(canvas, (e, dx, dy) => {
  const [x, y] = axes();
  if (e.shiftKey) { const s = 2 * view.distance * Math.tan(ANGLE / 2) / canvas.clientHeight; view.centre = add(add(view.centre, x, -s * dx), y, s * dy); }
  else { const next = unit(add(add(view.back, x, -.008 * dx), y, .008 * dy)); if (Math.abs(dot(next, view.up)) < .995) view.back = next; }
  render(); }, by => { view.distance *= by; render(); });
for (const kind of ["pointermove", "pointerdown"]) canvas.addEventListener(kind, e => { if (e.buttons && kind === "pointermove") $("pointed").textContent = ""; else tellPointed(e.offsetX, e.offsetY); });
canvas.addEventListener("pointerleave", e => { if (e.pointerType === "mouse") $("pointed").textContent = ""; });
canvas.addEventListener("wheel", e => { e.preventDefault(); view.distance *= Math.exp(.0012 * e.deltaY); render(); }, { passive: false });
for (const [colour, words] of M.legend) { const line = document.createElement("div"); line.innerHTML = "<i></i>"; line.firstChild.style.background = colour; line.append(words); $("legend").append(line); }
if (M.forces.length) { const line = document.createElement("div"); line.innerHTML = '<i class="unit"></i>'; line.firstChild.style.color = M.force_colour;
  line.firstChild.style.backgroundColor = M.force_colour; line.append(M.scales[0].text); $("legend").append(line); }
$("shown").onchange = e => { document.body.classList.toggle("folded", !e.target.checked); };
M.open.forEach(([k, name]) => quantityPanels(k, name).forEach(plot => addPanel(plot))); M.plots.forEach(plot => { if (!plot.on_demand) addPanel(plot); });
document.body.classList.toggle("bare", !panels.length && !known.size && !$("run"));
let room = "";
const resized = new ResizeObserver(() => { const now = `${canvas.clientWidth}x${canvas.clientHeight}`; if (now !== room) { room = now; view.distance = 0; } render(); });
for (const id of ["panels", "scene"]) resized.observe($(id));
$("early").textContent = M.early;
play(false); go(START + (M.show - START)); if (location.hash.startsWith("#t=")) go(Number(location.hash.slice(3)));
