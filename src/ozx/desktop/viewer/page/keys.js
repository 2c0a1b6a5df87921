// Keyboard shortcuts.

/**
 * @param onChange  called when channels or labels were switched
 * @param onPlay  called when playback is to begin or end
 */
export function followKeys(viewer, navigation, { onChange, onPlay }) {
  const plane = (names, by) => {
    const slider = viewer.image.told.sliders.findIndex(({ name }) => names.includes(name));
    if (slider >= 0) viewer.showPlane(slider, viewer.planes[slider] + by);
  };
  const switchLabels = () => {
    const isAnyShown = viewer.labels.some(({ visible }) => visible);
    for (const label of viewer.labels) label.visible = !isAnyShown;
    viewer.changed();
  };
  const switchOutlines = () => {
    const isAnyOutlined = viewer.labels.some(({ layer }) => layer.outlines);
    for (const { layer } of viewer.labels) layer.outlines = !isAnyOutlined;
    viewer.changed();
  };
  const actions = {
    ArrowUp: () => plane(["z"], 1),
    ArrowDown: () => plane(["z"], -1),
    ArrowRight: () => plane(["t", "time", "field"], 1),
    ArrowLeft: () => plane(["t", "time", "field"], -1),
    "+": () => viewer.zoomBy(1.5),
    "=": () => viewer.zoomBy(1.5),
    "-": () => viewer.zoomBy(1 / 1.5),
    0: () => viewer.fit(),
    a: () => viewer.adjust(viewer.channels.filter(({ active }) => active)),
    l: switchLabels,
    o: switchOutlines,
    " ": onPlay,
    Escape: () => navigation.plate && navigation.well && navigation.showPlate(),
  };
  document.addEventListener("keydown", async (event) => {
    if (!viewer.image || isForElement(event)) return;
    const number = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : null;
    const channel = number === null ? undefined : viewer.channels[number];
    const action = channel ? () => { channel.active = !channel.active; viewer.changed(); }
      : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    await action();
    onChange();
  });
}

/** Whether a key is for the browser, or for the element that has the focus. */
function isForElement({ ctrlKey, metaKey, altKey, key, target }) {
  const own = key === " " ? "button, input, select, summary" : "input:not([type=checkbox]), select";
  return ctrlKey || metaKey || altKey || target.matches?.(own) || Boolean(target.closest?.("dialog"));
}
