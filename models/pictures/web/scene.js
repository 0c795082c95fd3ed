// WebGL: one program; "glass" lets light through where a surface is seen from the front.
const canvas = $("gl"), gl = canvas.getContext("webgl", { antialias: true, alpha: true, premultipliedAlpha: true });
let locate = null;
if (gl) {
  const program = gl.createProgram(), shaders = [[gl.VERTEX_SHADER, `
    attribute vec3 p, n; attribute vec3 c; uniform mat4 H, V, P; varying vec3 normal, colour, at;
    void main() { vec4 eye = V * H * vec4(p, 1.); at = eye.xyz; gl_Position = P * eye;
      normal = mat3(V) * mat3(H) * n; colour = c; }`], [gl.FRAGMENT_SHADER, `
    precision highp float; varying vec3 normal, colour, at; uniform vec4 tint; uniform vec3 glass; uniform float light;
    void main() { vec3 n = normalize(normal), view = normalize(-at); if (dot(n, view) < 0.) n = -n;
      float key = max(dot(n, normalize(vec3(-.6, 1.2, 1.))), 0.), fill = max(dot(n, normalize(vec3(1.2, .2, .8))), 0.);
      float foot = max(dot(n, normalize(vec3(.1, -1., .4))), 0.);
      float shine = pow(max(dot(reflect(-normalize(vec3(-.6, 1.2, 1.)), n), view), 0.), 40.);
      vec3 base = tint.a < 0. ? colour : tint.rgb;
      vec3 lit = mix(base, base * (.42 + .5 * key + .22 * fill + .2 * foot) + .2 * shine, light);
      float rim = 1. - abs(dot(n, view)), a = glass.z * mix(glass.x, glass.y, rim * rim);
      gl_FragColor = vec4(lit * a, a); }`]];
  for (const [kind, text] of shaders) {
    const shader = gl.createShader(kind); gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
  }
  ["p", "n", "c"].forEach((name, i) => gl.bindAttribLocation(program, i, name));
  gl.linkProgram(program); gl.useProgram(program); gl.getExtension("OES_element_index_uint");
  locate = Object.fromEntries(["H", "V", "P", "tint", "glass", "light"].map(u => [u, gl.getUniformLocation(program, u)]));
  gl.enable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA); gl.enable(gl.POLYGON_OFFSET_FILL);
} else if (document.body.classList.contains("scene")) {
  document.body.classList.add("flat");
  $("scene").append(make("p", {}, "WebGL is switched off in this browser, so that the bodies cannot be shown; what is plotted is all there."));
}

function mesh(points, normals, index, colours) {
  if (!gl) return null;
  const buffer = (kind, values) => { const b = gl.createBuffer(); gl.bindBuffer(kind, b); gl.bufferData(kind, values, gl.STATIC_DRAW); return b; };
  const numbers = values => ArrayBuffer.isView(values) ? values : new Float32Array(values), whole = ArrayBuffer.isView(index) ? index : new Uint32Array(index);
  const attribute = values => { const v = numbers(values); return { buffer: buffer(gl.ARRAY_BUFFER, v), kind: v instanceof Int8Array ? gl.BYTE : v instanceof Uint8Array ? gl.UNSIGNED_BYTE : gl.FLOAT }; };
  return { p: attribute(points), n: attribute(normals), c: colours && attribute(colours), i: buffer(gl.ELEMENT_ARRAY_BUFFER, whole),
    count: index.length, short: whole instanceof Uint16Array };
}
function draw(m, H, { tint = null, glass = [1, 1, 1], light = 1, count = m.count, lines = false } = {}) {
  [m.p, m.n, m.c].forEach((b, i) => {
    if (!b) { gl.disableVertexAttribArray(i); return; }
    gl.bindBuffer(gl.ARRAY_BUFFER, b.buffer); gl.enableVertexAttribArray(i); gl.vertexAttribPointer(i, 3, b.kind, b.kind !== gl.FLOAT, 0, 0);
  });
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, m.i); gl.uniformMatrix4fv(locate.H, false, H);
  gl.uniform4f(locate.tint, ...(tint || [0, 0, 0]), tint ? 1 : -1); gl.uniform3f(locate.glass, ...glass); gl.uniform1f(locate.light, light);
  gl.drawElements(lines ? gl.LINES : gl.TRIANGLES, count, m.short ? gl.UNSIGNED_SHORT : gl.UNSIGNED_INT, 0);
}
// A solid turned about x from a profile of (x, r, nx, nr), with one colour or none.
function turned(profile, sides = 20) {
  const p = [], n = [], index = [];
  profile.forEach(([x, r, nx, nr], k) => {
    for (let s = 0; s < sides; s++) { const a = 2 * Math.PI * s / sides, c = Math.cos(a), d = Math.sin(a);
      p.push(x, r * c, r * d); n.push(nx, nr * c, nr * d);
      if (k % 2) { const o = k * sides, u = (s + 1) % sides; index.push(o - sides + s, o + s, o + u, o - sides + s, o + u, o - sides + u); } }
  });
  return { p, n, index };
}
const arrow = (length, r, head) => turned([[0, r, 0, 1], [length - head, r, 0, 1], [length - head, .42 * head, -1, 0],
  [length - head, 0, -1, 0], [length - head, .42 * head, .4, .92], [length, 0, .4, .92]]);
function triad(length, r) {
  const one = arrow(length, r, .26 * length), p = [], n = [], c = [], index = [];
  M.axes.map(rgb).forEach((colour, k) => {
    const turn = v => { for (let i = 0; i < v.length; i += 3) for (let j = 0; j < 3; j++) (v === one.p ? p : n).push(v[i + (j - k + 3) % 3]); };
    one.index.forEach(i => index.push(i + p.length / 3)); turn(one.p); turn(one.n);
    for (let i = 0; i < one.p.length; i += 3) c.push(...colour);
  });
  return mesh(p, n, index, c);
}
const R = M.radius, HEAD = 5.6 * R, head = turned([[-HEAD, .35 * HEAD, -1, 0], [-HEAD, 0, -1, 0], [-HEAD, .35 * HEAD, .33, .94], [0, 0, .33, .94]]);
const shaft = turned([[0, .62 * R, 0, 1], [1, .62 * R, 0, 1]]), ball = turned(Array.from({ length: 22 }, (_, k) => {
  const a = Math.PI * ((k >> 1) + (k % 2)) / 11; return [-Math.cos(a), Math.sin(a), -Math.cos(a), Math.sin(a)]; }), 16);
const shapes = gl && { head: mesh(head.p, head.n, head.index), shaft: mesh(shaft.p, shaft.n, shaft.index), ball: mesh(ball.p, ball.n, ball.index) };
const meshes = {}, packedMesh = (name, index) => gl && (meshes[name + index] ??= mesh(A[name], A[name + "_normal"], A[name + index], A[name + "_colour"]));
const solids = M.solids.map(o => ({ ...o, shape: packedMesh(o.mesh, "_index"), lines: o.line_colour && packedMesh(o.mesh, "_line_index") }));
const frames = M.frames.map(f => ({ ...f, shape: gl && f.length ? triad(f.length * M.triad, f.thickness * R) : null }));
const coils = M.coils.map(o => packedMesh(o.mesh, "_index"));
const paths = M.paths.map(o => ({ ...o, shape: packedMesh(o.mesh, "_index") }));
const IDENTITY = frame([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]);

// Camera: spherical about a centre.
const view = { back: unit(M.view), up: unit(M.up), centre: M.centre.slice(), distance: 0 }, ANGLE = 14 * Math.PI / 180;
function axes() { const right = unit(cross(view.up, view.back)); return [right, cross(view.back, right), view.back]; }
function aspect() { return canvas.clientWidth / Math.max(1, canvas.clientHeight); }
function look() {
  if (!view.distance) view.distance = 1.08 * M.reach / Math.tan(ANGLE / 2) / Math.min(1, aspect());
  const [x, y, z] = axes(), eye = add(view.centre, z, view.distance), f = 1 / Math.tan(ANGLE / 2);
  const near = .05 * view.distance, far = 5 * view.distance + 10 * M.reach;
  const V = frame([x[0], y[0], z[0]], [x[1], y[1], z[1]], [x[2], y[2], z[2]], [-dot(x, eye), -dot(y, eye), -dot(z, eye)]);
  const P = new Float32Array([f / aspect(), 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]);
  return { eye, V, P, PV: mul(P, V) };
}
// Way that each solid with ghosts has gone since its ghosts count.
const travelled = () => M.solids.map(o => { if (o.ghosts === null) return null; const s = [0], p = A[o.pose + "_p"];
  for (let i = 1; i < p.length / 3; i++) s.push(s[i - 1] + (T[i] > o.ghosts ? Math.hypot(p[3 * i] - p[3 * i - 3], p[3 * i + 1] - p[3 * i - 2], p[3 * i + 2] - p[3 * i - 1]) : 0)); return s; });
let travel = travelled();
function ghostPoses(k, low) {
  const s = travel[k], { pose: name, ghosts } = M.solids[k], gap = M.ghost_spacing, found = [];
  if (!s || T[low] < ghosts) return found;
  const here = s[Math.min(low, s.length - 1)], first = Math.max(0, T.findIndex(v => v >= ghosts)), p = A[name + "_p"], q = A[name + "_q"];
  for (let n = Math.floor(here / gap); n >= 0 && found.length < 4; n--) {
    if (here - n * gap < .45 * gap) continue;
    const i = Math.max(first, s.findIndex(v => v >= n * gap)), j = q.length === 4 ? 0 : 4 * i;
    found.push(pose([...q.slice(j, j + 4)], [...p.slice(3 * i, 3 * i + 3)]));
  }
  return found;
}

function drawScene(now, eye) {
  const scale = Math.min(2, window.devicePixelRatio || 1), w = canvas.clientWidth * scale | 0, h = canvas.clientHeight * scale | 0;
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  gl.viewport(0, 0, w, h); gl.depthMask(true); gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  gl.uniformMatrix4fv(locate.V, false, eye.V); gl.uniformMatrix4fv(locate.P, false, eye.P); gl.disable(gl.CULL_FACE);
  solids.forEach((o, k) => { if (o.look === "OPAQUE") {
    draw(o.shape, now.solids[k], { tint: o.painted ? null : rgb(o.colour) });
    if (o.lines) draw(o.lines, now.solids[k], { tint: rgb(o.line_colour), glass: [.6, .6, 1], light: 0, lines: true });
  } });
  if ($("paths").checked) paths.forEach(o => {
    const H = o.on === null ? IDENTITY : now.solids[o.on], tint = rgb(o.colour), r = M.tube;
    draw(o.shape, H, { tint, count: Math.min(o.shape.count, now.low * M.sides * 6) });
    if (o.ahead) draw(packedMesh(o.mesh, "_line_index"), H, { tint, glass: [.5, .5, 1], light: 0, lines: true });
    draw(shapes.ball, frame([r, 0, 0], [0, r, 0], [0, 0, r], move(H, now.row(o.end, 3))), { tint });
  });
  if ($("frames").checked) frames.forEach((f, k) => { if (f.shape && now.shown[k]) draw(f.shape, now.frames[k]); });
  for (const f of M.forces) {
    const force = now.row(f.newtons, 3).map(v => v / M.newtons_per_metre), length = norm(force), at = now.row(f.at, 3);
    if (length <= 1.2 * HEAD) continue;
    const start = f.pushing ? add(at, force, -1) : at, x = unit(force), y = unit(cross(x, Math.abs(x[0]) < .7 ? [1, 0, 0] : [0, 1, 0])), z = cross(x, y), tint = rgb(M.force_colour);
    draw(shapes.shaft, frame(x.map(v => v * (length - .9 * HEAD)), y, z, start), { tint }); draw(shapes.head, frame(x, y, z, add(start, force)), { tint });
  }
  M.coils.forEach((o, k) => {
    const from = now.row(o.start, 3), way = add(now.row(o.end, 3), from, -1), length = norm(way), z = length ? unit(way) : [0, 0, 1];
    const x = unit(cross(Math.abs(z[0]) < .7 ? [1, 0, 0] : [0, 1, 0], z));
    draw(coils[k], frame(x, cross(z, x), z.map(v => v * Math.max(length / o.length, 1e-6)), from), { tint: rgb(o.colour) });
  });
  gl.depthMask(false); gl.enable(gl.CULL_FACE);
  // Of a closed body only the outside is seen; an open one shows its far side through the near one.
  const shell = (m, H, open, look) => { if (open) { gl.cullFace(gl.FRONT); draw(m, H, look); gl.cullFace(gl.BACK); } draw(m, H, look); };
  const ghosts = () => $("ghosts").checked && solids.forEach((o, k) => ghostPoses(k, now.low).forEach((H, n) =>
    shell(o.shape, H, o.open, { tint: rgb(o.colour), glass: [.02, .75, .8 ** (n + 1)] })));
  const order = paintingOrder(now, eye.eye), first = order.findIndex(k => !solids[k].ground);
  order.forEach((k, n) => {
    // What is above a ground is not painted before it.
    if (n === first) ghosts();
    const o = solids[k], H = now.solids[k], tint = o.painted ? null : rgb(o.colour), line = { tint: rgb(o.line_colour || o.colour), light: 0, lines: true };
    if (o.look === "VEIL") {
      gl.disable(gl.CULL_FACE); draw(o.shape, H, { tint, glass: [.3, .3, 1], light: 0 }); gl.enable(gl.CULL_FACE);
      if (o.lines) draw(o.lines, H, { ...line, glass: [.6, .6, 1] });
    } else {
      shell(o.shape, H, o.open, { tint, glass: o.ground ? [.4, .4, 1] : [.2, .95, 1] });
      if (o.lines) draw(o.lines, H, { ...line, glass: [.35, .35, 1] });
    }
  });
}
// Glass that is behind is painted first: of two that touch, the tangent plane tells which that is; of others, the distance.
function paintingOrder(now, eye) {
  const away = now.solids.map(H => norm(add(eye, column(H, 3), -1))), order = [];
  const behind = M.touches.map(({ solids: pair, plane }) => { const C = now.frames[plane];
    return dot(add(eye, column(C, 3), -1), column(C, 2)) > 0 ? pair : [pair[1], pair[0]]; });
  let left = solids.map((o, k) => k).filter(k => solids[k].look !== "OPAQUE").sort((a, b) => away[b] - away[a]);
  while (left.length) {
    const next = left.find(k => !left.some(other => behind.some(([a, b]) => a === other && b === k))) ?? left[0];
    order.push(next); left = left.filter(k => k !== next);
  }
  return order;
}
function sheet(id) {
  const c = $(id), s = Math.min(2, window.devicePixelRatio || 1), w = c.clientWidth, h = c.clientHeight, g = c.getContext("2d");
  if (c.width !== (w * s | 0) || c.height !== (h * s | 0)) { c.width = w * s; c.height = h * s; }
  g.setTransform(s, 0, 0, s, 0, 0); g.clearRect(0, 0, w, h); return [g, w, h];
}
function drawLabels(now, eye) {
  const [g, w, h] = sheet("labels");
  const pixel = p => { const q = [...p, 1], c = [0, 1, 3].map(i => q.reduce((s, v, k) => s + eye.PV[4 * k + i] * v, 0)); return [w / 2 * (1 + c[0] / c[2]), h / 2 * (1 - c[1] / c[2]), c[2]]; };
  if (M.forces.length) {
    const start = pixel(now.row(M.forces[0].at, 3)), length = h / 2 / Math.tan(ANGLE / 2) / start[2] * M.unit_length;
    document.querySelector("#legend .unit").style.width = `${Math.max(4, length)}px`;
  }
  if (!$("frames").checked) return;
  g.lineWidth = 4; g.lineJoin = "round"; g.strokeStyle = "rgba(255,255,255,.9)"; g.fillStyle = "#1c2331"; g.textAlign = "center"; g.textBaseline = "middle";
  const put = (name, index, x, y) => { for (const ink of ["strokeText", "fillText"]) {
    g.font = 'italic 21px "STIX Two Text", "Times New Roman", "DejaVu Serif", serif'; g[ink](name, x - 4, y);
    g.font = 'italic 14px "STIX Two Text", "Times New Roman", "DejaVu Serif", serif'; g[ink](index, x + 8, y + 6); } };
  frames.forEach((f, k) => {
    const [text, index] = f.label, H = now.frames[k]; if (!text || !now.shown[k]) return;
    const o = pixel(column(H, 3)), tip = j => pixel(add(column(H, 3), column(H, j), (f.length || .1) * M.triad));
    if (text.length === 1 && f.at_axis) {
      const z = tip(2), d = [z[0] - o[0], z[1] - o[1]], n = Math.hypot(...d) || 1;
      put(text, index, o[0] + .6 * d[0] - 19 * d[1] / n, o[1] + .6 * d[1] + 19 * d[0] / n);
    } else if (text.length === 1) {
      const a = [0, 0]; for (let j = 0; j < 3; j++) { const e = tip(j); a[0] -= e[0] - o[0]; a[1] -= e[1] - o[1]; }
      const n = Math.hypot(...a) || 1; put(text, index, o[0] + 20 * a[0] / n, o[1] + 20 * a[1] / n);
    } else {
      // Words stand beside the tip of the z axis, on the right and on the left in turn.
      const at = f.length ? tip(2) : o, side = k % 2 ? -12 : 12;
      g.font = '13px "Inter", "Segoe UI", "DejaVu Sans", Arial, sans-serif'; g.textAlign = k % 2 ? "right" : "left";
      for (const ink of ["strokeText", "fillText"]) g[ink](text, at[0] + side, at[1]);
      g.textAlign = "center";
    }
  });
}
