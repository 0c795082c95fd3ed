// Plots: a panel for each title; its curves are drawn once per size, then the cursor moves over them.
const PLOT_FONT = `11px ${SANS}`, LEFT = 58, RIGHT = 12, TOP = 6, FOOT = 18;
const panels = [];
// One panel for each unit of a quantity; `units` names those of its components, or of blocks of them.
function quantityPanels(k, words = "") {
  const [name, unit, first, count, axes] = M.quantities[k], units = unit ? unit.split(", ") : [""], size = count % units.length ? 0 : count / units.length;
  const unitOf = i => size ? units[Math.floor(i / size)] : unit, all = Array.from({ length: count }, (_, i) => i);
  return [...new Set(all.map(unitOf))].map(own => { const parts = all.filter(i => unitOf(i) === own), spatial = axes && size === 3 && parts.length === 3; return {
    title: (words || name) + (own && own !== "1" ? ` (${own})` : ""),
    curves: parts.map((i, n) => ({ curve: first + i, colour: parts.length === 1 ? M.ink : M.palette[n % M.palette.length],
      name: count === 1 ? "" : spatial ? "xyz"[n] : String(i), dash: n >= M.palette.length })) }; });
}
function addPanel(plot, first = false, bond = null) {
  const own = plot.curves.map(c => curve(c.curve)), outputs = own.map(() => make("output", { "aria-live": "off" })), close = make("button", { type: "button", "aria-label": `Remove ${plot.title}` }, "×");
  const legend = plot.curves.map((c, k) => { const mark = make("i", { class: "swatch", style: `color:${c.colour};border-top-style:${c.dash ? "dashed" : "solid"}` });
    return make("span", {}, ...(plot.curves.length > 1 || c.name ? [mark, c.name + " "] : []), outputs[k]); });
  const canvas = make("canvas", { role: "img", "aria-label": `${plot.title} over time` }), node = make("div", { class: "panel" + (bond === null ? "" : " ofbond") }, make("div", {}, make("b", { title: plot.title }, plot.title), ...legend, close), canvas);
  const panel = { plot, own, outputs, canvas, node, bond, key: "", still: document.createElement("canvas") };
  close.onclick = () => { removePanel(panel); render(); };
  // Plots of a bond come first, then the latest choices.
  const at = first ? panels.filter(p => p.bond !== null).length : panels.length;
  $("panels").insertBefore(node, panels[at]?.node ?? null); panels.splice(at, 0, panel);
  drag(canvas, e => { play(false); const box = canvas.getBoundingClientRect(); go(START + (e.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT) * (END - START)); });
  return panel;
}
function removePanel(panel) { panel.node.remove(); panels.splice(panels.indexOf(panel), 1); }
function drawPanel(panel) {
  const { canvas, still, plot, own } = panel, s = Math.min(2, window.devicePixelRatio || 1), w = canvas.clientWidth, h = canvas.clientHeight;
  if (w < 40 || h < 30) return;
  const X = time => LEFT + (w - LEFT - RIGHT) * (time - START) / (END - START || 1), key = `${w}x${h}x${s}`;
  const shown = plot.log ? v => v > 0 ? Math.log10(v) : NaN : v => v;
  if (panel.key !== key) {
    let low = Infinity, high = -Infinity;
    for (const { values, least, most } of own) for (const v of plot.log ? values : [least, most]) { const y = shown(v); if (y < low) low = y; if (y > high) high = y; }
    if (!(high >= low)) { low = 0; high = 1; }
    const size = Math.max(Math.abs(low), Math.abs(high)), flat = high - low <= M.flat * size, pad = flat ? .55 * size || 1.1 : .08 * (high - low); low -= pad; high += pad;
    const Y = panel.Y = v => TOP + (h - TOP - FOOT) * (high - shown(v)) / (high - low);
    for (const c of [canvas, still]) { c.width = w * s; c.height = h * s; }
    const g = still.getContext("2d"); g.scale(s, s); g.font = PLOT_FONT; g.lineWidth = 1;
    g.fillStyle = "#eef1f7"; M.contacts.forEach(([a, b]) => g.fillRect(X(a), TOP, Math.max(1, X(b) - X(a)), h - TOP - FOOT));
    g.strokeStyle = "#d5d9e0"; g.fillStyle = "#667085"; g.textAlign = "right"; g.textBaseline = "middle";
    const few = Math.max(3, (h - TOP - FOOT) / 30), coarse = ticks(low, high, few), marks = coarse.length > 2 ? coarse : ticks(low, high, 2 * few), texts = tickLabels(marks);
    marks.forEach((v, k) => { const y = TOP + (h - TOP - FOOT) * (high - v) / (high - low);
      g.beginPath(); g.moveTo(LEFT, y); g.lineTo(w - RIGHT, y); g.stroke(); g.fillText(plot.log ? written(10 ** v) : texts[k], LEFT - 6, y, LEFT - 8); });
    g.textAlign = "center"; g.textBaseline = "top";
    timeTicks(g, START, END, w - LEFT - RIGHT, " s").forEach(([v, text]) => { g.beginPath(); g.moveTo(X(v), TOP); g.lineTo(X(v), h - FOOT); g.stroke(); g.fillText(text, Math.min(X(v), w - 1 - .5 * g.measureText(text).width), h - FOOT + 4); });
    g.strokeStyle = "#98a2b3"; g.setLineDash([2, 3]); M.events.forEach(v => { g.beginPath(); g.moveTo(X(v), TOP); g.lineTo(X(v), h - FOOT); g.stroke(); });
    plot.curves.forEach((c, k) => {
      const { values: list, times } = own[k]; g.strokeStyle = c.colour; g.lineWidth = 1.6; g.setLineDash(c.dash ? [5, 3] : []); g.beginPath();
      if (list.length === 1) { g.moveTo(X(START), Y(list[0])); g.lineTo(X(END), Y(list[0])); }
      else { let pen = "moveTo"; list.forEach((v, i) => { const y = Y(v); if (Number.isFinite(y)) { g[pen](X(times[i]), y); pen = "lineTo"; } else pen = "moveTo"; }); }
      g.stroke();
    });
    panel.key = key;
  }
  const g = canvas.getContext("2d"); g.setTransform(1, 0, 0, 1, 0, 0); g.clearRect(0, 0, canvas.width, canvas.height); g.drawImage(still, 0, 0); g.setTransform(s, 0, 0, s, 0, 0);
  g.strokeStyle = "#1c2331"; g.lineWidth = 1.5; g.beginPath(); g.moveTo(X(t), TOP - 3); g.lineTo(X(t), h - FOOT); g.stroke();
  plot.curves.forEach((c, k) => { const y = panel.Y(valueAt(own[k], t));
    if (Number.isFinite(y)) { g.fillStyle = c.colour; g.strokeStyle = "#fff"; g.beginPath(); g.arc(X(t), y, 4, 0, 7); g.fill(); g.stroke(); } });
}
// Text first: it determines the space for the curves.
function drawPlots() {
  panels.forEach(({ own, outputs }) => {
    const least = Math.min(...own.map(c => c.least)), most = Math.max(...own.map(c => c.most)), size = Math.max(-least, most);
    outputs.forEach((output, k) => { const v = valueAt(own[k], t); output.textContent = written(v, lastDigit(v, most - least, Math.max(own[k].step, 1e-6 * size))); });
  });
  panels.forEach(drawPanel);
}

// Every quantity can be plotted, by its name or a unique part of it.
M.quantities.forEach(([name]) => $("names").append(make("option", { value: name })));
for (const [name] of M.also) $("names").append(make("option", { value: name }));
const known = new Map([...M.also, ...M.quantities.map(([name], k) => [name, k])].map(([name, k]) => [name, () => quantityPanels(k, name)]));
for (const plot of M.plots) if (plot.on_demand) { known.set(plot.title, () => [plot]); $("names").append(make("option", { value: plot.title })); }
$("name").placeholder = `plot a quantity: type a part of its name (${known.size}${M.left_out ? `; ${M.left_out} more are in the result only` : ""})`;
function choose(text) {
  const near = known.has(text) ? [text] : [...known.keys()].filter(name => text && name.includes(text));
  if (!known.has(text) && near.length !== 1) {
    if (text) { $("name").setCustomValidity(near.length ? `${near.length} names contain this` : "no name contains this"); $("name").reportValidity(); }
    return;
  }
  known.get(near[0])().reverse().forEach(plot => addPanel(plot, true)); $("plots").scrollTop = 0; $("name").value = ""; render();
}
$("name").oninput = e => { e.target.setCustomValidity(""); if (known.has(e.target.value) && e.inputType !== "insertText" && e.inputType !== "deleteContentBackward") choose(e.target.value); };
$("choice").onsubmit = e => { e.preventDefault(); choose($("name").value.trim()); };
if (!M.quantities.length) $("choice").hidden = true;

