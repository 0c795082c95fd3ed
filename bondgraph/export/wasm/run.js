// A run in WebAssembly: the modules of solver and model share a memory, in which the image of the run follows the stack.
async function simulator(S) {
  const [instruction, sums, solver, model, planes] = await Promise.all([S.instruction, S.sums, S.solver, S.model, S.image].map(inflate));
  const image = new Uint8Array(8 * S.words), count = planes.length / 12;
  for (let k = 0, word = 0; k < count; k++) {
    for (let byte = 0; byte < 4; byte++) word += planes[byte * count + k] << (8 * byte);
    for (let byte = 0; byte < 8; byte++) image[8 * word + byte] = planes[(4 + byte) * count + k];
  }
  const n = S.dates.count, base = S.stack, since = base + 8 * S.words, dates = since + 8 * n, rows = dates + 8 * n;
  const modes = rows + 8 * n * S.width, out = modes + 8 * n * S.modes, end = out + 8 * S.shown;
  const memory = new WebAssembly.Memory({ initial: Math.ceil((end + 64) / 65536) });
  const table = new WebAssembly.Table({ initial: S.calls.length + 1, element: "anyfunc" });
  const stack = new WebAssembly.Global({ value: "i32", mutable: true }, base);
  const env = { __linear_memory: memory, __indirect_function_table: table, __stack_pointer: stack, sin: Math.sin, cos: Math.cos, tan: Math.tan };
  // Multiply-add with the processor's instruction, if this browser supports it and rounds once.
  const fused = async bytes => (await WebAssembly.instantiate(bytes, { env })).instance.exports.multiply_add, tiny = 2 ** -30;
  env.multiply_add = WebAssembly.validate(instruction) ? await fused(instruction) : null;
  if (env.multiply_add?.(1 + tiny, 1 - tiny, -1) !== -tiny * tiny) env.multiply_add = await fused(sums);
  const tables = Object.fromEntries(Object.entries(S.tables).map(([name, value]) => [name, new WebAssembly.Global({ value: "i32", mutable: true }, value)]));
  const linked = async bytes => (await WebAssembly.instantiate(bytes, { env, "GOT.mem": tables })).instance.exports;
  const [A, B] = [await linked(solver), await linked(model)];
  S.calls.forEach((name, k) => table.set(k + 1, B[name] || A[name]));
  const bytes = new Uint8Array(memory.buffer), reals = new Float64Array(memory.buffer), words = new BigInt64Array(memory.buffer);
  const at = name => base / 8 + S.at[name], read = name => Number(words[at(name)]);
  const [T, D, P, held, R, M] = [since / 8, dates / 8, at("p"), at("held"), rows / 8, modes / 8];
  for (const [times, place] of [[S.times, T], [S.dates, D]]) {
    if (times.packed) bytes.set(await inflate(times.packed), 8 * place);
    else for (let k = 0; k < n; k++) reals[place + k] = k < n - 1 ? times.step * k : times.end;
  }
  // Shown values at this time, for the states and modes at these addresses.
  function shown(time, x, m) {
    if (S.shown) B.shown(time, x, 8 * P, m, out);
    const from = { states: x / 8, modes: m / 8, outputs: out / 8, parameters: P };
    return S.columns.map(([block, i]) => reals[from[block] + i]);
  }
  // Values of parameters by index -> dates of samples, columns of values at these dates, dates and names of events with the values
  // on both sides (`jumps`), number of steps and time. A run of more than `patience` milliseconds is abandoned.
  function run(values, patience = 20000) {
    const start = performance.now(), events = [], jumps = [];
    let status = -1, patient = true;
    bytes.set(image, base);
    stack.value = base;
    for (const [index, value] of values) reals[P + index] = value;
    if (S.prepares) B.prepare(8 * P, 8 * (P + S.parameters));
    if (S.events) words[at("all_held")] = BigInt(modes);
    words[at("budget")] = 4000n;
    const begun = A[S.begin](8 * at("table"), 8 * at("x"), 8 * at("m"), since, rows, BigInt(n));
    if (begun) do {
      status = Number(A[S.advance](8 * at("table")));
      words[at("tried")] = 0n;
      patient = performance.now() - start < patience;
      if (!S.events) continue;
      const log = read("log"), logged = read("logged");
      for (let k = 0; k < logged; k++) {
        const row = log + 8 * S.event.width * k, word = name => row + 8 * S.event[name];
        events.push([reals[word("time") / 8], S.transitions[reals[word("transition") / 8]]]);
        if (events.length <= 1000) jumps.push([shown(word("time"), word("x_before"), word("m_before")), shown(word("time"), word("x_after"), word("m_after"))]);
      }
      words[at("events_left")] -= BigInt(logged);
      words[at("logged")] = 0n;
    } while (status === S.log_full || (status === S.pause && patient));
    const samples = begun ? read("written") + 1 : 0, filled = S.events && begun ? read("held_rows") + 1 : 0;
    for (let k = filled; k < samples; k++) for (let i = 0; i < S.modes; i++) reals[M + S.modes * k + i] = reals[read("held") / 8 + i];
    const columns = S.columns.map(() => new Float64Array(samples));
    for (let k = 0; k < samples; k++) shown(8 * (D + k), rows + 8 * S.width * k, modes + 8 * S.modes * k).forEach((v, j) => { columns[j][k] = v; });
    const why = !begun ? S.not_started : S.outcomes[S.events ? read("outcome") : 0] || S.endings[status] || "";
    const wrong = begun && status === S.done ? "" : status === S.pause && begun ? "it takes too long in a browser" : why;
    return { status, wrong, t: reals.slice(D, D + samples), columns, events, jumps, steps: read("steps"), milliseconds: performance.now() - start };
  }
  return { run };
}
// Times and columns of a run for curves, with the values before and after the events at each time.
function curvesOf({ t, columns, events, jumps }) {
  if (!jumps.length) return { t, columns };
  const times = [], rows = [];
  let k = 0;
  const samplesUntil = time => { for (; k < t.length && t[k] <= time; k++) { times.push(t[k]); rows.push(columns.map(column => column[k])); } };
  jumps.forEach(([before, after], j) => {
    const time = events[j][0];
    samplesUntil(time);
    if (!j || events[j - 1][0] < time) { times.push(time); rows.push(before); } else { times.pop(); rows.pop(); }
    times.push(time); rows.push(after);
  });
  samplesUntil(Infinity);
  return { t: times, columns: columns.map((_, j) => rows.map(row => row[j])) };
}
