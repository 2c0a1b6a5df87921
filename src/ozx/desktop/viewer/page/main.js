// The page: requests the description of the file, and connects the viewer with its panels.

import { askFile, stayAlive } from "./api.js";
import { ChannelPanel } from "./channel_panel.js";
import { byId } from "./elements.js";
import { followKeys } from "./keys.js";
import { followGrowth } from "./live.js";
import { Navigation } from "./navigation.js";
import { drawOverlay, wellAt, wellName } from "./overlay.js";
import { followPointer } from "./pointer.js";
import { Readout } from "./readout.js";
import { LabelPanel, PlanePanel, showMetadata } from "./side_panels.js";
import { setState, Viewer } from "./viewer.js";

const NO_WEBGL = `This is a still picture: WebGL 2 is missing or switched off in this browser.
Current versions of Firefox, Chrome, Edge and Safari have it; look for "hardware acceleration" or "graphics" in the settings.
ozx view --with napari needs no browser.`;
const GONE = "ozx view has ended. This window can be closed.";

function say(text) {
  const message = byId("message");
  message.querySelector("p").textContent = text ?? "";
  message.hidden = !text;
}

function complain(error) {
  say([error.message, error.hint].filter(Boolean).join("\n"));
  setState("failed");
}

async function start() {
  byId("message").querySelector("button").onclick = () => say(null);
  let wasThere = true;
  stayAlive((isThere) => {
    if (isThere !== wasThere) say(isThere ? null : GONE);
    wasThere = isThere;
  });
  const file = await askFile();
  document.title = `${file.name} – ozx`;
  byId("title").textContent = file.name;

  const viewer = new Viewer(byId("picture"), file.tile, (event, error) => events[event](error));
  if (!viewer.canDraw) {
    say(NO_WEBGL);
    byId("metadata").hidden = byId("help").hidden = true;
    const still = byId("still");
    still.onload = still.onerror = () => setState("failed");
    Object.assign(still, { src: "api/still", hidden: false });
    return;
  }
  const open = async (source, isAlike) => {
    say(null);
    try {
      await viewer.open(source, isAlike);
    } catch (error) {
      complain(error);
    }
  };
  const navigation = new Navigation(byId("navigation"), file, open);
  const readout = new Readout(byId("readout"), viewer);
  const channels = new ChannelPanel(byId("channels"), viewer);
  const planes = new PlanePanel(byId("planes"), viewer);
  const labels = new LabelPanel(byId("labels"), viewer);
  const overlay = byId("overlay");
  const shownPlate = () => (navigation.isOverview ? navigation.plate : null);
  const events = {
    opened: () => {
      for (const panel of [channels, planes, labels]) panel.build();
      showMetadata(byId("metadata").querySelector("dl"), file, viewer.image.told);
      overlay.classList.toggle("choosing", navigation.isOverview);
      readout.show(null);
    },
    adjusted: () => channels.update(),
    changed: () => planes.update(),
    drawn: () => drawOverlay(overlay, viewer, shownPlate()),
    failed: complain,
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
  });

  const fitScreen = () => {
    const ratio = window.devicePixelRatio || 1;
    const box = overlay.getBoundingClientRect();
    const [width, height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
    Object.assign(overlay, { width, height });
    viewer.resize(width, height);
  };
  fitScreen();
  new ResizeObserver(fitScreen).observe(byId("stage"));
  navigation.start();
  if (file.live) {
    followGrowth(viewer, {
      onGrown: () => showMetadata(byId("metadata").querySelector("dl"), file, viewer.image.told),
      onState: (state, message) => {
        byId("title").textContent = state === "growing" ? `${file.name} (growing)` : file.name;
        if (message) say(message);
      },
    });
  }
}

start().catch(complain);
