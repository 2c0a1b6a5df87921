// Keyboard shortcuts.

/** @param onChange  called when channels or labels were switched */
export function followKeys(viewer, navigation, { onChange }) {
  const plane = (names, by) => {
    const slider = viewer.image.told.sliders.findIndex(({ name }) => names.includes(name));
    if (slider >= 0) viewer.showPlane(slider, viewer.planes[slider] + by);
  };
  const switchLabels = () => {
    const isAnyShown = viewer.labels.some(({ visible }) => visible);
    for (const label of viewer.labels) label.visible = !isAnyShown;
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
    Escape: () => navigation.plate && navigation.well && navigation.showPlate(),
  };
  document.addEventListener("keydown", async (event) => {
    if (!viewer.image || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches?.("input:not([type=checkbox]), select")) return; // they have keys of their own
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
