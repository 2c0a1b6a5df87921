// Coordinates: pixels of the full resolution (x to the right, y down), and device pixels of the screen.
//
// A view is `{x, y, zoom}`: the image's point in the middle of the screen, and device pixels per pixel in x. A pixel may
// be higher than wide: `aspect` times.

export const MOST_ZOOM = 64;

/** The view that shows the whole image. */
export function fitView(size, screen, aspect) {
  const zoom = Math.min(screen.width / size.width, screen.height / (size.height * aspect));
  return { x: size.width / 2, y: size.height / 2, zoom: Math.min(zoom, MOST_ZOOM) };
}

export function toImage(view, screen, aspect, point) {
  return {
    x: view.x + (point.x - screen.width / 2) / view.zoom,
    y: view.y + (point.y - screen.height / 2) / (view.zoom * aspect),
  };
}

export function toScreen(view, screen, aspect, point) {
  return {
    x: (point.x - view.x) * view.zoom + screen.width / 2,
    y: (point.y - view.y) * view.zoom * aspect + screen.height / 2,
  };
}

/** Zoom by `factor`; what is under `point` stays there. */
export function zoomAt(view, screen, aspect, point, factor, size) {
  const least = fitView(size, screen, aspect).zoom / 4;
  const zoom = Math.min(Math.max(view.zoom * factor, least), MOST_ZOOM);
  const fixed = toImage(view, screen, aspect, point);
  return {
    x: fixed.x - (point.x - screen.width / 2) / zoom,
    y: fixed.y - (point.y - screen.height / 2) / (zoom * aspect),
    zoom,
  };
}

/** Move by device pixels; the middle of the screen stays on the image. */
export function moveBy(view, aspect, dx, dy, size) {
  const clamp = (value, most) => Math.min(Math.max(value, 0), most);
  return {
    ...view,
    x: clamp(view.x - dx / view.zoom, size.width),
    y: clamp(view.y - dy / (view.zoom * aspect), size.height),
  };
}

/** The part of the image on the screen. */
export function visiblePart(view, screen, aspect) {
  const corner = toImage(view, screen, aspect, { x: 0, y: 0 });
  const other = toImage(view, screen, aspect, { x: screen.width, y: screen.height });
  return { left: corner.x, top: corner.y, right: other.x, bottom: other.y };
}

/** The pixels on the screen, or the whole image if there are none. */
export function shownPart(view, screen, aspect, size) {
  const part = visiblePart(view, screen, aspect);
  const [top, left] = [Math.max(0, Math.floor(part.top)), Math.max(0, Math.floor(part.left))];
  const [bottom, right] = [Math.min(size.height, Math.ceil(part.bottom)), Math.min(size.width, Math.ceil(part.right))];
  const isAny = top < bottom && left < right;
  return isAny ? { top, left, bottom, right } : { top: 0, left: 0, bottom: size.height, right: size.width };
}

/** The lowest resolution whose pixels are at most as large as the screen's, else the full one. */
export function chooseLevel(levels, zoom, aspect) {
  let chosen = 0;
  levels.forEach((level, number) => {
    const [down, right] = level.factor;
    if (right * zoom <= 1 && down * zoom * aspect <= 1) chosen = number;
  });
  return chosen;
}

/** The tiles of a level that are in view, those next to the middle of the screen first. */
export function visibleTiles(level, tile, part) {
  const [down, right] = level.factor;
  const first = (start, factor) => Math.max(0, Math.floor(start / factor / tile));
  const last = (end, factor, length) => Math.min(Math.ceil(length / tile), Math.ceil(end / factor / tile)) - 1;
  const middle = { x: (part.left + part.right) / 2, y: (part.top + part.bottom) / 2 };
  const found = [];
  if (part.left >= level.width * right || part.top >= level.height * down) return found;
  for (let row = first(part.top, down); row <= last(part.bottom, down, level.height); row++) {
    for (let column = first(part.left, right); column <= last(part.right, right, level.width); column++) {
      const rect = tileRect(level, tile, row, column);
      const distance = Math.hypot(rect.x + rect.width / 2 - middle.x, rect.y + rect.height / 2 - middle.y);
      found.push({ row, column, rect, distance });
    }
  }
  return found.sort((one, other) => one.distance - other.distance);
}

/** The part of the image that a tile covers, and its size in samples. */
export function tileRect(level, tile, row, column) {
  const [down, right] = level.factor;
  const columns = Math.min(tile, level.width - column * tile);
  const rows = Math.min(tile, level.height - row * tile);
  return {
    x: column * tile * right,
    y: row * tile * down,
    width: columns * right,
    height: rows * down,
    columns,
    rows,
  };
}
