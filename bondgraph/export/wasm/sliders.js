// Sliders of parameters, and a button that resets them; `values` maps indices of parameters to values. A slow run is repeated only
// when the slider is released.
const SLOW_RUN = 300;  // ms
const withUnit = (text, unit) => unit ? `${text} ${unit}` : text;
function addSliders(form, live, values, run) {
  let waiting = false, took = 0;
  const changed = released => {
    if (waiting || (took > SLOW_RUN && !released)) return;
    waiting = true; requestAnimationFrame(() => { waiting = false; took = run(); });
  };
  const fields = live.map(({ index, name, unit, value, low, high }) => {
    const output = make("output"), slider = make("input", { type: "range", min: low, max: high, step: "any", "aria-label": name });
    const set = v => { values.set(index, v); output.textContent = withUnit(written(v), unit); slider.setAttribute("aria-valuetext", output.textContent); };
    const reset = () => { slider.value = value; set(value); };
    // Keys move by a two-hundredth of the range; its ends and the exported value are exact.
    slider.oninput = () => { set(Number(slider.value)); changed(false); };
    slider.onchange = () => { if (took > SLOW_RUN) changed(true); };
    slider.onkeydown = e => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -20, PageUp: 20, Home: -Infinity, End: Infinity }[e.key];
      if (steps === undefined) return;
      e.preventDefault(); e.stopPropagation();
      const next = Math.min(high, Math.max(low, Number(slider.value) + steps * (high - low) / 200));
      slider.value = next; set(next); changed(true);
    };
    form.append(make("label", {}, make("span", {}, name), output, slider, make("small", {}, withUnit(written(low), unit)), make("small", {}, withUnit(written(high), unit))));
    reset();
    return reset;
  });
  if (!fields.length) return;
  const button = make("button", { type: "button" }, "Reset");
  button.onclick = () => { fields.forEach(reset => reset()); changed(true); };
  form.append(button);
}
// Message about a run: why it ended early, or its steps and time; and the warnings of `simulate` for the exported run.
function showStatus(node, S, run) {
  const events = S.events ? `, ${run.events?.length} event${run.events?.length === 1 ? "" : "s"}` : "", end = run.t?.length ? run.t[run.t.length - 1] : null;
  const early = end === null ? run.wrong : `the run ended at ${written(end)} s: ${run.wrong}`;
  const time = run.milliseconds > 0 ? ` in ${run.milliseconds.toFixed(run.milliseconds < 10 ? 1 : 0)} ms` : "";  // 0 on a clock that is too coarse
  const took = S.replay ? S.why : `${run.steps} steps${events}${time}, solved in this page`;
  const doubts = S.doubts.map(doubt => `warning of simulate() for the exported run: ${doubt}`);
  node.textContent = [run.wrong ? early : took, ...doubts].join("; ");
  node.classList.toggle("wrong", Boolean(run.wrong || doubts.length));
}
