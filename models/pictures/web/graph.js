// The bond graph: on each bond a band whose width follows the square root of its power, with dashes that move with the power.
// A graph that is too large to read in its pane is shown with its parts folded, if there is such a drawing; at full width it is
// shown unfolded.
const SVG = "http://www.w3.org/2000/svg", [whole, brief] = document.querySelectorAll("#drawing > svg"), views = new Map();
let drawing = null, bonds = [], switches = [], picked = null, home = null, see = null;
const phone = () => innerWidth <= 820, wide = () => document.body.classList.contains("alone");
function use(svg) {
  drawing = svg; [whole, brief].forEach(each => { if (each) each.style.display = each === svg ? "block" : "none"; });
  if (!views.has(svg)) views.set(svg, startGraph());
  ({ bonds, switches, home } = views.get(svg)); divide(); show(home.slice());
}
function useDrawing() {
  use(whole); if (brief && !wide() && !isLegible()) use(brief);
  markPicked(); showReadable();
}
function middleLine(lines) {
  const numbers = lines.map(line => line.getAttribute("d").match(/-?[\d.]+/g).map(Number)), mean = numbers[0].map((_, i) => numbers.reduce((sum, n) => sum + n[i], 0) / numbers.length);
  let k = 0; return lines[0].getAttribute("d").replace(/-?[\d.]+/g, () => mean[k++].toFixed(1));
}
const traced = (d, kind) => { const path = document.createElementNS(SVG, "path"); path.setAttribute("d", d); path.setAttribute("class", kind); path.setAttribute("fill", "none"); return path; };
function startGraph() {
  const bonds = [], switches = [];
  drawing.removeAttribute("width"); drawing.removeAttribute("height"); drawing.querySelector("title")?.remove();
  const groups = new Map([...drawing.querySelectorAll("[data-bond]")].map(node => [node.getAttribute("data-bond"), node]));
  M.bonds.forEach((bond, k) => {
    const node = groups.get(bond.name), lines = node ? [...node.querySelectorAll("path.line")] : [];
    if (!lines.length) return;
    const d = middleLine(lines), band = traced(d, "band"), flow = traced(d, "flow"), hit = traced(d, "hit");
    hit.setAttribute("tabindex", "0"); hit.setAttribute("role", "button"); hit.setAttribute("aria-label", `Plot the bond ${bond.name}`);
    const words = document.createElementNS(SVG, "title"); words.textContent = bond.name; hit.append(words);
    node.prepend(band, flow); node.append(hit);
    hit.addEventListener("click", () => pick(k)); hit.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); e.stopPropagation(); pick(k); } });
    hit.addEventListener("focus", () => tell(k));
    hit.addEventListener("pointerenter", () => tell(k)); hit.addEventListener("pointerleave", () => tell(picked));
    bonds.push({ k, node, band, flow, hit, power: curve(bond.power) });
  });
  const nodes = new Map([...drawing.querySelectorAll("[data-name]")].map(node => [node.getAttribute("data-name"), node]));
  for (const own of M.switches) {
    const node = nodes.get(own.node); if (!node) continue;
    const box = node.getBBox(), text = document.createElementNS(SVG, "text");
    text.setAttribute("class", "state"); text.setAttribute("x", box.x + box.width / 2); text.setAttribute("y", box.y - 5); node.append(text);
    switches.push({ ...own, node, text, modes: curve(own.mode) });
  }
  const all = drawing.querySelector("g"), box = all.getBBox(), { e, f } = all.transform.baseVal.consolidate().matrix;
  bonds.forEach(own => { const line = own.band.getBBox(); own.box = [line.x + e, line.y + f, line.width, line.height]; });
  return { bonds, switches, home: [box.x + e - 12, box.y + f - 16, box.width + 24, box.height + 28] };
}
function markPicked() {
  bonds.forEach(own => { own.node.classList.toggle("picked", own.k === picked); own.hit.setAttribute("aria-pressed", own.k === picked); }); tell(picked);
}
// A second click on a bond removes its plots.
function pick(k) {
  panels.filter(panel => panel.bond !== null).forEach(removePanel);
  picked = picked === k ? null : k;
  if (picked !== null) {
    const bond = M.bonds[k], named = `${bond.name}: `;
    const power = { title: `${named}power (W)`, curves: [{ curve: bond.power, colour: M.ink, name: "", dash: false }] };
    [...quantityPanels(bond.effort, named + bond.words[0]), ...quantityPanels(bond.flow, named + bond.words[1]), power].forEach(plot => addPanel(plot, true, k));
    $("plots").scrollTop = 0;
  }
  markPicked(); render();
}
let told = null;
// Value of a quantity with its unit; for a vector, the magnitude in each unit.
function valueText(k) {
  const [, unit, first, count] = M.quantities[k], units = count > 1 && unit ? unit.split(", ") : [unit], size = count / units.length;
  return units.map((each, b) => {
    const own = Array.from({ length: size }, (_, i) => curve(first + b * size + i)), values = own.map(c => valueAt(c, t)), v = count > 1 ? Math.hypot(...values) : values[0];
    const text = written(v, lastDigit(v, Math.max(...own.map(c => c.most - c.least)), Math.max(...own.map(c => c.step))));
    return (count > 1 ? `|${text}|` : text) + (each && each !== "1" ? ` ${each}` : ""); }).join(", ");
}
function tell(k) { told = k; drawTold(); }
function drawTold() {
  const line = $("bond"); line.replaceChildren();
  if (told !== null) {
    const bond = M.bonds[told], own = curve(bond.power), power = valueAt(own, t), where = power > 0 ? `to ${bond.head}` : power < 0 ? `to ${bond.tail}` : "";
    line.append(make("b", {}, bond.name), ` · ${bond.words[0]} ${valueText(bond.effort)} · ${bond.words[1]} ${valueText(bond.flow)} · power ${written(Math.abs(power), lastDigit(power, own.most - own.least, own.step))} W ${where}`);
  } else if (bonds.length) {
    const uses = ["click plots", ...(isPart() ? ["drag moves", "⤢ shows all"] : []), ...(drawing === brief ? ["↔ unfolds"] : [])];
    line.append(make("i", { style: "color:var(--along)" }), " power along the half arrow ", make("i", { style: "color:var(--against)" }),
      ` against it · width: √power, up to ${written(M.most_power)} W · ${uses.join(" · ")}`);
  }
}
function drawGraph() {
  for (const { node, band, flow, power } of bonds) {
    const watts = valueAt(power, t), part = M.most_power > 0 ? Math.min(1, Math.sqrt(Math.abs(watts) / M.most_power)) : 0, width = part < 3e-3 ? 0 : 5 + 11 * part;
    band.setAttribute("stroke-width", width.toFixed(2)); flow.setAttribute("stroke-width", (.6 * width).toFixed(2));
    band.style.display = flow.style.display = width ? "" : "none"; node.classList.toggle("against", watts < 0);
  }
  for (const { node, text, modes, states, on } of switches) {
    const mode = Math.round(valueFrom(modes, t)); text.textContent = states[mode] ?? ""; node.classList.toggle("off", !(on[mode] ?? true));
  }
  drawTold();
}
// Wheel, fingers and buttons zoom; dragging moves.
const isPart = () => see[2] < .98 * home[2] || see[3] < .98 * home[3];
// A vertical swipe scrolls the page, unless the drawing extends above or below its pane.
function show(part) { see = part; drawing.setAttribute("viewBox", see.join(" ")); $("drawing").classList.toggle("near", see[3] < .98 * home[3]); }
function zoom(by, x = .5, y = .5) {
  const part = by ? [see[0] + x * see[2] * (1 - by), see[1] + y * see[3] * (1 - by), see[2] * by, see[3] * by] : home;
  show(part[2] > 2 * home[2] ? home.slice() : part.slice());
}
function place_in(e) { const m = drawing.getScreenCTM().inverse(), p = new DOMPoint(e.clientX, e.clientY).matrixTransform(m); return [(p.x - see[0]) / see[2], (p.y - see[1]) / see[3]]; }
// The pane is high enough for a legible graph, if that leaves space for the bodies beside it, or for the plots below it, or fits
// the window of a phone; on a phone, a graph that is too wide is dragged sideways only.
function divide() {
  const pane = $("graph"), { clientHeight: all } = pane.parentNode; pane.style.flex = ""; document.body.style.removeProperty("--graph"); pane.style.height = phone() ? "300px" : "";
  const words = pane.clientHeight - drawing.clientHeight + 1, fitting = drawing.clientWidth / home[2];
  if (phone()) {
    const scale = fitting < least() ? READABLE : Math.min(1.2, fitting);
    pane.style.height = `${Math.min(Math.max(.72 * innerHeight, 300), Math.max(170, scale * home[3] + words))}px`;
  } else if (wide()) {
    const room = all + $("plots").clientHeight, need = Math.min(1.2, Math.max(READABLE, fitting)) * home[3] + words;
    document.body.style.setProperty("--graph", `${Math.min(.7 * room, Math.max(.35 * room, need))}px`);
  } else if (beside()) {
    const scale = Math.min(READABLE, fitting, Math.max(1.001 * WHOLE, (.52 * all - words) / home[3])), need = scale * home[3] + words;
    if (scale > WHOLE && need > pane.clientHeight && need < .62 * all) pane.style.flex = `0 0 ${need}px`;
  }
}
// Where the whole would be too small to read, show a part around the chosen bond, or around the one with the largest power.
// At READABLE, the smallest letters have 9 px; beside a scene, the whole is shown if they have 8 px.
const READABLE = .8, WHOLE = .711, beside = () => $("scene").clientHeight > 0, least = () => beside() ? WHOLE : READABLE;
const scaleOf = () => Math.min(drawing.clientWidth / home[2], drawing.clientHeight / home[3]), isLegible = () => !(scaleOf() < least());
function showReadable() {
  if (isLegible() || !bonds.length) return;
  const size = [drawing.clientWidth / READABLE, drawing.clientHeight / READABLE], { box } = bonds.find(own => own.k === picked) ?? bonds.reduce((a, b) => M.bonds[a.k].most >= M.bonds[b.k].most ? a : b);
  const from = [0, 1].map(i => { const room = home[2 + i] - size[i], start = box[i] + .5 * (box[2 + i] - size[i]) - home[i]; return home[i] + (room < 0 ? .5 * room : Math.min(room, Math.max(0, start))); });
  show([...from, ...size]);
}
function spread(on) { document.body.classList.toggle("alone", on); $("alone").setAttribute("aria-pressed", on); useDrawing(); }
if (whole) useDrawing();
// Without bodies a graph that cannot be read beside the plots opens above them, if it is larger there.
if (drawing && !beside() && !phone() && drawing === whole && !isLegible()) { const scale = scaleOf(); spread(true); if (scaleOf() <= scale) spread(false); }
if (drawing) {
  // On a phone, the height changes while the page scrolls.
  const size = () => phone() ? `${innerWidth}` : `${innerWidth} ${innerHeight}`; let before = size();
  addEventListener("resize", () => { if (size() !== before) { before = size(); useDrawing(); drawGraph(); } });
  $("drawing").addEventListener("wheel", e => { e.preventDefault(); zoom(Math.exp(.0012 * e.deltaY), ...place_in(e)); }, { passive: false });
  $("drawing").addEventListener("dblclick", () => zoom(0));
  drag($("drawing"), (e, x, y) => { const scale = 1 / drawing.getScreenCTM().a; show([see[0] - scale * x, see[1] - scale * y, see[2], see[3]]); },
    (by, e) => zoom(by, ...place_in(e)));
  document.querySelectorAll("#zoom [data-zoom]").forEach(button => { button.onclick = () => zoom(Number(button.dataset.zoom)); });
  brief?.querySelectorAll(".folded").forEach(node => node.addEventListener("click", () => { spread(true); render(); }));
  $("alone").onclick = () => { spread(!wide()); render(); };
}
