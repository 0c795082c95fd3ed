const $ = id => document.getElementById(id), M = JSON.parse($("motion").textContent), A = {};
const bytesOf = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
const KINDS = { Float32: Float32Array, Float64: Float64Array, Uint32: Uint32Array, Uint16: Uint16Array, Uint8: Uint8Array, Int8: Int8Array };
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
// A curve is packed as 16-bit steps from its minimum; it is unpacked when first shown. A constant curve has one value.
const unpacked = new Map();
function curve(k) {
  if (!unpacked.has(k)) {
    const [low, step, text, times] = M.curves[k], values = Float64Array.from(new Uint16Array(bytesOf(text)), v => v === 65535 ? NaN : low + step * v);
    let least = Infinity, most = -Infinity; for (const v of values) { if (v < least) least = v; if (v > most) most = v; }
    unpacked.set(k, { values, times: A[times], step, least, most });
  }
  return unpacked.get(k);
}
function before(times, t) { let low = 0, high = times.length - 1; while (high - low > 1) { const m = (low + high) >> 1; if (times[m] <= t) low = m; else high = m; } return low; }
function valueAt({ values, times }, t) {
  if (values.length === 1) return values[0];
  const i = before(times, t), s = Math.min(1, Math.max(0, (t - times[i]) / (times[i + 1] - times[i] || 1)));
  return s === 0 ? values[i] : s === 1 ? values[i + 1] : (1 - s) * values[i] + s * values[i + 1];
}
// The value of a switch, which holds from a sample until the next.
const valueFrom = ({ values, times }, t) => values[values.length === 1 ? 0 : Math.min(before(times, t) + (t >= END ? 1 : 0), values.length - 1)];
