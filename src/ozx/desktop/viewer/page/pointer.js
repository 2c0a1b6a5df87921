// Mouse, touch and wheel on the picture: moving, zooming, choosing, hovering.

import { moveBy, toImage, zoomAt } from "./geometry.js";

// If the pointer moves further than this during a click, the picture moves.
const STEADY = 4;

/**
 * @param onChoose  called with the clicked point of the image
 * @param onHover  called with the point of the image under the pointer, or null
 */
export function followPointer(canvas, viewer, { onChoose, onHover }) {
  const pointers = new Map();
  let moved = 0;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    const ratio = viewer.screen.width / box.width;
    return { x: (event.clientX - box.left) * ratio, y: (event.clientY - box.top) * ratio };
  };
  const point = (event) => toImage(viewer.view, viewer.screen, viewer.aspect, place(event));

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    if (pointers.size === 1) moved = 0;
    canvas.classList.add("moving");
    canvas.focus();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!viewer.image) return;
    const before = pointers.get(event.pointerId);
    const now = place(event);
    if (before) {
      pointers.set(event.pointerId, now);
      moved += Math.hypot(now.x - before.x, now.y - before.y);
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, where]) => where);
      if (other) {
        const factor = distance(now, other) / (distance(before, other) || 1);
        viewer.moveTo(zoomAt(viewer.view, viewer.screen, viewer.aspect, other, factor, viewer.size));
      } else if (moved > STEADY) {
        viewer.moveTo(moveBy(viewer.view, viewer.aspect, now.x - before.x, now.y - before.y, viewer.size));
      }
    }
    onHover(point(event));
  });
  const release = (event) => {
    const wasDown = pointers.delete(event.pointerId);
    if (pointers.size) return;
    canvas.classList.remove("moving");
    if (event.type === "pointerup" && wasDown && moved <= STEADY && viewer.image) onChoose(point(event));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => onHover(null));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (!viewer.image) return;
    const factor = 2 ** (-event.deltaY * (event.deltaMode ? 20 : 1) / 240);
    viewer.moveTo(zoomAt(viewer.view, viewer.screen, viewer.aspect, place(event), factor, viewer.size));
    onHover(point(event));
  }, { passive: false });
}

function distance(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
