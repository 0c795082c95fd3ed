const $ = id => document.getElementById(id), M = JSON.parse($("motion").textContent), A = {};
const bytesOf = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
const KINDS = { Float32: Float32Array, Uint32: Uint32Array, Uint16: Uint16Array, Uint8: Uint8Array, Int8: Int8Array };
for (const [name, packed] of Object.entries(M.arrays)) {
  const [kind, text] = Array.isArray(packed) ? packed : ["Float32", packed]; A[name] = new KINDS[kind](bytesOf(text));
}
const T = A.t, N = T.length, START = T[0], END = T[N - 1];
let t = START, playing = false, stretch = 0;
const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255);
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag); for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children); return node;
};
const written = v => { const a = Math.abs(v), text = Number.isFinite(v) ? a && (a < 1e-3 || a >= 1e5) ? a.toExponential(2) : Number.parseFloat(a.toPrecision(4)).toString() : "–";
  return (v < 0 ? "−" : "") + text.replace(/\.?0*e([+-])/, (_, sign) => sign === "-" ? "e−" : "e"); };

// A curve is packed as 16-bit steps from its least value; it is unpacked when it is first shown. What does not change has one value.
const unpacked = new Map();
function curve(k) {
  if (!unpacked.has(k)) {
    const [low, step, text] = M.curves[k], steps = new Uint16Array(bytesOf(text));
    unpacked.set(k, Float32Array.from(steps, v => v === 65535 ? NaN : low + step * v));
  }
  return unpacked.get(k);
}
const timesOf = values => values.length === N ? T : A.tq;
function before(times, t) { let low = 0, high = times.length - 1; while (high - low > 1) { const m = (low + high) >> 1; if (times[m] <= t) low = m; else high = m; } return low; }
function valueAt(values, t) {
  if (values.length === 1) return values[0];
  const times = timesOf(values), i = before(times, t), s = Math.min(1, Math.max(0, (t - times[i]) / (times[i + 1] - times[i] || 1)));
  return s === 0 ? values[i] : s === 1 ? values[i + 1] : (1 - s) * values[i] + s * values[i + 1];
}
// The value that holds from a sample on: of switches.
const valueFrom = (values, t) => values.length === 1 ? values[0] : values[Math.min(before(timesOf(values), t) + (t >= END ? 1 : 0), values.length - 1)];

