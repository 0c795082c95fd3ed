// One pointer drags: act(event, dx, dy in px, true when it goes down). Two pointers pinch: pinch(factor, event).
function drag(node, act, pinch = null) {
  const fingers = new Map(), apart = () => { const [a, b] = fingers.values(); return b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 1; };
  node.addEventListener("pointerdown", e => { fingers.set(e.pointerId, e); if (fingers.size === 1) act(e, 0, 0, true); });
  node.addEventListener("pointermove", e => {
    const from = fingers.get(e.pointerId); if (!from || !e.buttons) return;
    const wide = apart(), way = [e.clientX - from.clientX, e.clientY - from.clientY];
    if (!node.hasPointerCapture(e.pointerId)) { if (Math.hypot(...way) < 3) return; node.setPointerCapture(e.pointerId); }
    fingers.set(e.pointerId, e);
    if (fingers.size === 1) act(e, ...way, false); else if (pinch && fingers.size === 2) pinch(wide / (apart() || 1), e);
  });
  for (const kind of ["pointerup", "pointercancel"]) node.addEventListener(kind, e => fingers.delete(e.pointerId));
  node.addEventListener("pointerleave", e => { if (!node.hasPointerCapture(e.pointerId)) fingers.delete(e.pointerId); });
}
