// Numbers and the ticks of axes as text.
// The power of ten of the last digit shown: the fourth significant digit or a hundredth of the range,
// but no finer than the resolution of the data.
const order = v => Math.floor(Math.log10(v) + 1e-9);
const lastDigit = (v, range = 0, known = 0) => Math.max(Math.min(order(Math.abs(v)) - 3, range > 0 ? order(range) - 2 : Infinity), known > 0 ? order(known) : -Infinity);
// A number as text, with a power of ten if `size` is very large or very small.
function written(v, last = lastDigit(v), size = Math.abs(v)) {
  if (!Number.isFinite(v)) return "–";
  const a = Math.abs(v), large = size >= 1e5 || size < 1e-3, digits = Math.max(0, Math.min(12, large ? order(a) - last : -last));
  if (!a || a < .5 * 10 ** last) return "0";
  const text = large ? a.toExponential(digits) : last > 0 ? String(Math.round(a / 10 ** last) * 10 ** last) : a.toFixed(digits);
  const short = text.includes(".") ? text.replace(/^([^e]*?)\.?0+(?=e|$)/, "$1") : text;
  return (v < 0 ? "−" : "") + short.replace("e+", "e").replace("e-", "e−");
}
// A time of a run, with as many digits at all times.
function timeText(t, span) { const text = Math.abs(t).toFixed(Math.max(0, Math.min(9, 4 - order(span || 1)))); return (t < 0 && Number(text) ? "−" : "") + text; }
function ticks(a, b, n) {
  const raw = (b - a) / n || 1, p = 10 ** Math.floor(Math.log10(raw)), step = p * ([1, 2, 5, 10].find(m => m * p >= raw * (1 - 1e-9)) || 10), out = [];
  for (let k = Math.ceil(a / step - 1e-9); k * step <= b + 1e-9 * step; k++) out.push(Math.abs(k * step) < 1e-9 * step ? 0 : k * step);
  return out;
}
const tickLabels = (marks, size = Math.max(...marks.map(Math.abs))) => marks.map(v => written(v, order(marks[1] - marks[0] || Math.abs(v) || 1), size));
// As many times as fit, each with its label.
function timeTicks(g, start, end, width, unit = "") {
  for (let count = Math.max(2, width / 70); ; count *= .7) {
    const marks = ticks(start, end, count), texts = tickLabels(marks, end - start).map(text => text + unit), widest = Math.max(...texts.map(text => g.measureText(text).width));
    if (count <= 1 || 1.5 * widest + 4 <= width / (marks.length - 1)) return marks.map((v, k) => [v, texts[k]]);
  }
}
