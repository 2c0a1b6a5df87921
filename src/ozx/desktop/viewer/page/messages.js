// Messages over the picture: errors, damage, the end of the server.

import { setState } from "./state.js";

const DAMAGED = "Part of this image is damaged";
const LISTED = "`ozx validate --level data` lists it.";

export class Messages {
  constructor(box) {
    this.box = box;
    box.querySelector("button").onclick = () => this.say(null);
  }

  /** Show a text, of the kind `"error"`, `"damage"` or `"progress"`; hide the message if there is no text. */
  say(text, kind = "error") {
    const { box } = this;
    box.querySelector("p").textContent = text ?? "";
    box.dataset.kind = kind;
    box.hidden = !text;
  }

  complain(error) {
    this.say([error.message, error.hint].filter(Boolean).join("\n"));
    setState("failed");
  }

  /** Hide the message, because another picture is shown. */
  clear() {
    this.isDamageTold = false;
    this.say(null);
  }

  /** Say that a tile is damaged, and what is shown in its place: only once for each picture. */
  tellDamage(error, hasCoarser) {
    if (this.isDamageTold) return;
    this.isDamageTold = true;
    const instead = hasCoarser ? "is shown from a coarser level" : "stays black";
    this.say(`${DAMAGED} and ${instead}; ${LISTED}\n${error.message}`, "damage");
  }
}
