// The page: requests the description of the file, and connects the viewer with its panels.

import { askFile, makeEnd, stayAlive } from "./api.js";
import { ChannelPanel } from "./channel_panel.js";
import { byId } from "./elements.js";
import { keepAfterAsking } from "./keeping.js";
import { followKeys } from "./keys.js";
import { followGrowth } from "./live.js";
import { Messages } from "./messages.js";
import { Navigation } from "./navigation.js";
import { drawOverlay, wellAt, wellName } from "./overlay.js";
import { followAddress, parseView, restoreView } from "./link.js";
import { followPointer } from "./pointer.js";
import { Readout } from "./readout.js";
import { LabelPanel, PlanePanel, showMetadata } from "./side_panels.js";
import { Tools } from "./tools.js";
import { Viewer } from "./viewer.js";

const MOST_LOSSES = 3;

async function start(messages) {
  let wasThere = true;
  stayAlive((isThere) => {
    if (isThere && !wasThere) messages.say(null);
    if (!isThere) messages.complain(makeEnd());
    wasThere = isThere;
  });
  const file = await askFile();
  showName(file.name);
  showLosses(file.recovered);

  const viewer = new Viewer(byId("picture"), file.tile, (event, ...told) => events[event](...told));
  const open = async (source, isAlike) => {
    messages.clear();
    try {
      await viewer.open(source, isAlike);
    } catch (error) {
      messages.complain(error);
    }
  };
  const navigation = new Navigation(byId("navigation"), file, open);
  const readout = new Readout(byId("readout"), viewer);
  const channels = new ChannelPanel(byId("channels"), viewer, () => keepAfterAsking(viewer, file.name, messages));
  const planes = new PlanePanel(byId("planes"), viewer);
  const labels = new LabelPanel(byId("labels"), viewer);
  const overlay = byId("overlay");
  const tools = new Tools(byId("tools"), viewer, { overlay, file, messages });
  let asked = parseView(window.location.hash);
  const keepAddress = followAddress(viewer, (terms) => {
    asked = terms;
    navigation.start(terms.get("image"));
  });
  const shownPlate = () => (navigation.isOverview ? navigation.plate : null);
  const events = {
    opened: () => {
      if (asked) restoreView(viewer, asked);
      asked = null;
      for (const panel of [channels, planes, labels]) panel.build();
      showMetadata(byId("metadata").querySelector("dl"), file, viewer);
      overlay.classList.toggle("choosing", navigation.isOverview);
      readout.show(null);
    },
    adjusted: () => channels.update(),
    changed: () => planes.update(),
    drawn: () => {
      drawOverlay(overlay, viewer, shownPlate());
      tools.update();
      channels.updateHistograms();
      keepAddress();
    },
    failed: (error) => {
      planes.stop();
      messages.complain(error);
    },
    damaged: (error, { layer, level }) => messages.tellDamage(error, level < layer.levels.length - 1),
  };

  followPointer(overlay, viewer, {
    onChoose: (point) => {
      const well = navigation.isOverview ? wellAt(viewer, navigation.plate, point) : undefined;
      if (well) navigation.showWell(well);
    },
    onHover: (point) => {
      const well = point && navigation.isOverview ? wellAt(viewer, navigation.plate, point) : undefined;
      readout.show(point, well ? wellName(navigation.plate, well) : "");
    },
  });
  followKeys(viewer, navigation, {
    onChange: () => {
      channels.update();
      labels.update();
    },
    onPlay: () => planes.togglePlay(),
  });

  followScreen(overlay, viewer);
  navigation.start(asked?.get("image"));
  if (file.live) followStream(file, viewer, messages);
}

function showName(name) {
  document.title = `${name} – ozx`;
  byId("title").textContent = name;
}

/** Say which pixels are missing, because nothing tells them from dark ones. */
function showLosses(losses) {
  const more = losses.length > MOST_LOSSES ? [`… ${losses.length - MOST_LOSSES} more: “ozx info” lists them.`] : [];
  byId("recovered").textContent = ["This file was recovered.", ...losses.slice(0, MOST_LOSSES), ...more].join("\n");
  byId("recovered").hidden = !losses.length;
}

/** Show new frames of a file that is still being written, and how its stream ends. */
function followStream(file, viewer, messages) {
  followGrowth(viewer, {
    onGrown: () => showMetadata(byId("metadata").querySelector("dl"), file, viewer),
    onState: (state, message) => {
      byId("title").textContent = state === "growing" ? `${file.name} (growing)` : file.name;
      if (message) messages.say(message);
    },
  });
}

/** Give the picture as many pixels as its area on the screen has. */
function followScreen(overlay, viewer) {
  const fit = () => {
    const ratio = window.devicePixelRatio || 1;
    const box = overlay.getBoundingClientRect();
    const [width, height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
    Object.assign(overlay, { width, height });
    viewer.resize(width, height);
  };
  fit();
  new ResizeObserver(fit).observe(byId("stage"));
}

const messages = new Messages(byId("message"));
start(messages).catch((error) => messages.complain(error));
