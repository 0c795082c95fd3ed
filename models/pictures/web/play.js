// What is shown at time t, and how time goes.
function render() {
  const now = at(t), shown = gl && document.body.classList.contains("scene");
  $("time").value = place(t);
  $("now").textContent = `${M.subtitle.map(words => words + " · ").join("")}t = ${t.toFixed(Math.max(0, Math.min(9, 4 - Math.floor(Math.log10(END - START || 1)))))} s · ${pace()}`;
  if (shown) { const eye = look(); drawScene(now, eye); drawLabels(now, eye); }
  drawGraph(); drawPlots();
}

// Playing follows a table of times, slower through short contacts.
const S = M.playback, last = S.length - 1;
function place(time) { let i = 0; while (i < last - 1 && S[i + 1] < time) i++; return (i + Math.min(1, Math.max(0, (time - S[i]) / (S[i + 1] - S[i] || 1)))) / last; }
function timeAt(s) { const x = Math.min(last - 1e-9, Math.max(0, s * last)), i = Math.floor(x); return S[i] + (x - i) * (S[i + 1] - S[i]); }
function pace() { const i = Math.min(last - 1, Math.floor(place(t) * last)), v = (S[i + 1] - S[i]) * last / M.seconds * $("speed").value, f = Math.max(v, 1 / v);
  return Math.abs(v - 1) < .02 ? "real time" : `${v < 1 ? "slow motion" : "fast"} ${Number(f.toPrecision(2))}×`; }
function play(on) { playing = on; $("icon").setAttribute("d", on ? "M2 1h4v12H2zM8 1h4v12H8z" : "M2 0l11 7-11 7z"); if (on) { if (t >= END) t = START; stretch = 0; requestAnimationFrame(step); } }
function step(clock) {
  if (!playing) return;
  if (stretch) { const s = place(t) + (clock - stretch) / 1000 / M.seconds * $("speed").value; if (s >= 1) { t = END; play(false); } else t = timeAt(s); }
  stretch = clock; render(); if (playing) requestAnimationFrame(step);
}
const go = time => { t = Math.min(END, Math.max(START, time)); render(); };
$("play").onclick = () => play(!playing);
$("time").oninput = e => { play(false); go(timeAt(e.target.value)); };
for (const id of ["speed", "frames", "paths", "ghosts"]) $(id).onchange = render;
addEventListener("keydown", e => { if (e.target.tagName === "SELECT" || e.target.id === "name") return;
  if (e.key === " " && e.target.tagName !== "BUTTON") { play(!playing); e.preventDefault(); }
  if (e.target.id !== "time" && (e.key === "ArrowLeft" || e.key === "ArrowRight")) { play(false); go(t + (e.key === "ArrowLeft" ? -1 : 1) * (END - START) / 200); } });
const drag = (node, act) => { node.addEventListener("pointerdown", e => { node.setPointerCapture(e.pointerId); act(e, true); });
  node.addEventListener("pointermove", e => { if (e.buttons) act(e, false); }); };
drag(canvas, (e, first) => { if (first) return;
  const [x, y] = axes();
  if (e.shiftKey) { const s = 2 * view.distance * Math.tan(ANGLE / 2) / canvas.clientHeight; view.centre = add(add(view.centre, x, -s * e.movementX), y, s * e.movementY); }
  else { const next = unit(add(add(view.back, x, -.008 * e.movementX), y, .008 * e.movementY)); if (Math.abs(dot(next, view.up)) < .995) view.back = next; }
  render(); });
canvas.addEventListener("wheel", e => { e.preventDefault(); view.distance *= Math.exp(.0012 * e.deltaY); render(); }, { passive: false });
for (const [colour, words] of M.legend) { const line = document.createElement("div"); line.innerHTML = "<i></i>"; line.firstChild.style.background = colour; line.append(words); $("legend").append(line); }
if (M.forces.length) { const line = document.createElement("div"); line.innerHTML = '<i class="unit"></i>'; line.firstChild.style.color = M.force_colour;
  line.firstChild.style.backgroundColor = M.force_colour; line.append(M.force_legend); $("legend").append(line); }
$("shown").onchange = e => { document.body.classList.toggle("folded", !e.target.checked); };
M.open.forEach(([k, name]) => quantityPanels(k, name).forEach(plot => addPanel(plot))); M.plots.forEach(plot => addPanel(plot));
let width = 0;
new ResizeObserver(() => { if (canvas.clientWidth !== width) { width = canvas.clientWidth; view.distance = 0; } render(); }).observe($("panels"));
new ResizeObserver(() => render()).observe($("scene"));
play(false); go(START + (M.show - START)); if (location.hash.startsWith("#t=")) go(Number(location.hash.slice(3)));
