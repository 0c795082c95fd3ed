// WebGL: one program; "glass" is transparent where a surface is seen face on.
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
  $("scene").append(make("p", {}, "This browser provides no WebGL, so the bodies cannot be shown; the plots are complete."));
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
// A solid of revolution about x from a profile of (x, r, nx, nr).
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

// Camera: spherical about a centre. Initially everything that moves or touches fits above the legend, clear of the lens; `shift`
// moves the picture in the pane, in half panes. The camera can follow bodies that move far, with a margin around them.
const view = { back: unit(M.view), up: unit(M.up), centre: M.centre.slice(), distance: 0, shift: [0, 0] }, ANGLE = 14 * Math.PI / 180, EDGE = 16;
const MARGIN = 3, points = name => Array.from({ length: A[name].length / 3 }, (_, i) => [...A[name].slice(3 * i, 3 * i + 3)]);
const around = { false: { outline: points("outline"), centre: M.centre, reach: M.reach } };
if (M.followed.length) { const near = points("near").map(p => p.map(v => MARGIN * v)); around[true] = { outline: near, centre: [0, 0, 0], reach: Math.max(...near.map(norm)) }; }
$("following").hidden = !M.followed.length; $("follow").checked = M.far;
// The point that the camera looks at moves with the solids that it follows.
const middle = now => $("follow").checked ? M.followed.map(k => column(now.solids[k], 3)).reduce((a, b) => add(a, b)).map(v => v / M.followed.length) : [0, 0, 0];
function axes() { const right = unit(cross(view.up, view.back)); return [right, cross(view.back, right), view.back]; }
const paneScale = distance => canvas.clientHeight / 2 / Math.tan(ANGLE / 2) / distance;
function fit([left, top, right, bottom]) {
  const w = canvas.clientWidth, h = canvas.clientHeight, free = [Math.max(40, w - left - right), Math.max(40, h - top - bottom)], [x, y, z] = axes();
  const { outline, reach, ...start } = around[$("follow").checked];
  let { centre } = start, distance = 8 * reach / Math.tan(ANGLE / 2);
  for (let n = 0; n < 12; n++) {
    const box = boxAbout(outline.map(p => { const d = add(p, centre, -1), s = paneScale(distance - dot(z, d)); return [s * dot(x, d), s * dot(y, d)]; })), s = paneScale(distance);
    centre = add(add(centre, x, .5 * (box[0] + box[2]) / s), y, .5 * (box[1] + box[3]) / s);
    distance = Math.max(distance * Math.max((box[2] - box[0]) / free[0], (box[3] - box[1]) / free[1]), reach);
  }
  return { centre, distance, shift: [(left - right) / w, (bottom - top) / h] };
}
function frameAll() {
  const w = canvas.clientWidth, h = canvas.clientHeight, high = boxOf("legend")[1], [left, , , low] = boxOf("lens");
  const top = Math.max(EDGE, boxOf("help")[3] + 6) + (frames.some(f => f.label[0].length > 1) ? 16 : 0), foot = high < h ? h - high + 6 : EDGE, found = fit([EDGE, top, EDGE, foot]);
  const lensed = M.touches.length && paneScale(found.distance) * M.triad < SMALL;
  Object.assign(view, lensed ? [fit([EDGE, top, w - left + 8, foot]), fit([EDGE, low + 8, EDGE, foot])].sort((a, b) => a.distance - b.distance)[0] : found);
}
function lookAt(centre, distance, [right, up], w, h) {
  const [x, y, z] = axes(), eye = add(centre, z, distance), f = 1 / Math.tan(ANGLE / 2), scale = h / 2 * f / distance, near = .05 * distance, far = 5 * distance + 10 * M.reach;
  const V = frame([x[0], y[0], z[0]], [x[1], y[1], z[1]], [x[2], y[2], z[2]], [-dot(x, eye), -dot(y, eye), -dot(z, eye)]);
  const P = new Float32Array([f * h / w, 0, 0, 0, 0, f, 0, 0, -right, -up, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]);
  // Arrows and axes are thick enough to be visible; axes, which also become longer, at most five times as thick.
  return { eye, V, P, PV: mul(P, V), scale, thick: Math.max(1, 1 / (R * scale)), grown: Math.min(5, Math.max(1, .75 / (R * scale))) };
}
function look(now = at(t)) {
  if (!view.distance) frameAll();
  return lookAt(add(view.centre, middle(now)), view.distance, view.shift, canvas.clientWidth, Math.max(1, canvas.clientHeight));
}
// Arrows of forces; an arrow that would exceed the longest is cut, and has two heads.
const arrowScale = () => M.scales[+$("follow").checked];
const arrowsOf = row => M.forces.flatMap(f => {
  const { newtons_per_metre, longest } = arrowScale(), whole = row(f.newtons, 3).map(v => v / newtons_per_metre), size = norm(whole), length = Math.min(size, longest), at = row(f.at, 3), way = whole.map(v => v * length / size);
  return length <= 1.2 * HEAD ? [] : [{ start: f.pushing ? add(at, way, -1) : at, tip: f.pushing ? at : add(at, way), length, cut: size > 1.001 * length }]; });
// Distance travelled by each solid after the time from which its ghosts are shown.
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

function canvasSize() {
  const scale = Math.min(2, window.devicePixelRatio || 1), size = [canvas.clientWidth * scale | 0, canvas.clientHeight * scale | 0];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  return size;
}
function drawScene(now, eye, w, h, lens = false) {
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
  if (lens) gl.clear(gl.DEPTH_BUFFER_BIT);  // no body hides the axes there
  if ($("frames").checked) frames.forEach((f, k) => { if (f.shape && now.shown[k]) draw(f.shape, now.frames[k].map((v, i) => i < 12 ? v * eye.grown : v)); });
  for (const { start, tip, length, cut } of now.arrows) {
    const x = unit(add(tip, start, -1)), y = unit(cross(x, Math.abs(x[0]) < .7 ? [1, 0, 0] : [0, 1, 0])), z = cross(x, y), tint = rgb(M.force_colour);
    const big = Math.min(eye.thick, length / (1.2 * HEAD)), [a, b, c] = [x, y, z].map(v => v.map(u => u * big)), back = .9 * HEAD * big;
    draw(shapes.shaft, frame(x.map(v => v * (length - back)), b, c, start), { tint }); draw(shapes.head, frame(a, b, c, tip), { tint });
    if (cut) draw(shapes.head, frame(a, b, c, add(tip, x, -back)), { tint });
  }
  M.coils.forEach((o, k) => {
    const from = now.row(o.start, 3), way = add(now.row(o.end, 3), from, -1), length = norm(way), z = length ? unit(way) : [0, 0, 1];
    const x = unit(cross(Math.abs(z[0]) < .7 ? [1, 0, 0] : [0, 1, 0], z));
    draw(coils[k], frame(x, cross(z, x), z.map(v => v * Math.max(length / o.length, 1e-6)), from), { tint: rgb(o.colour) });
  });
  gl.depthMask(false); gl.enable(gl.CULL_FACE);
  // A closed body shows only its outside; an open body shows its far side through the near side.
  const shell = (m, H, open, look) => { if (open) { gl.cullFace(gl.FRONT); draw(m, H, look); gl.cullFace(gl.BACK); } draw(m, H, look); };
  const ghosts = () => $("ghosts").checked && solids.forEach((o, k) => ghostPoses(k, now.low).forEach((H, n) =>
    shell(o.shape, H, o.open, { tint: rgb(o.line_colour || o.colour), glass: [.02, .9, .8 ** n] })));
  const order = paintingOrder(now, eye.eye), first = order.findIndex(k => !solids[k].ground);
  order.forEach((k, n) => {
    // Objects above a ground are painted after it.
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
// Farther glass is painted first: the tangent plane orders two bodies in contact, the distance orders all other bodies.
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
