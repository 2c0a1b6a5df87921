// Shows the progress of a conversion, and sends the user's clicks on buttons. All addresses are relative to the secret path.

const PAUSE = 250;
const find = (id) => document.getElementById(id);

const send = (name) => fetch(name, { method: "POST" });

function show(state) {
  find("text").textContent = state.text;
  if (state.fraction === null) {
    find("bar").removeAttribute("value");
  } else {
    find("bar").value = state.fraction;
  }
  const asks = state.question !== null;
  find("question").textContent = state.question ?? "";
  find("question").hidden = find("yes").hidden = find("no").hidden = !asks;
  find("yes").textContent = state.yes;
  find("cancel").hidden = state.ended;
  find("bar").hidden = state.ended;
}

async function follow() {
  try {
    const state = await (await fetch("state")).json();
    show(state);
    if (!state.ended) {
      setTimeout(follow, PAUSE);
    }
  } catch {
    find("text").textContent = "The conversion has ended. You can close this window.";
    find("buttons").hidden = find("bar").hidden = true;
  }
}

find("cancel").addEventListener("click", () => send("cancel"));
find("yes").addEventListener("click", () => send("answer?yes=1"));
find("no").addEventListener("click", () => send("answer?yes=0"));
// Hold a connection open until the page is closed. A browser may keep a page that the user has left, with its connections.
let connection = null;
const connect = () => {
  connection ??= new EventSource("alive");
};
window.addEventListener("pageshow", connect);
window.addEventListener("pagehide", () => {
  connection.close();
  connection = null;
});
connect();
follow();
