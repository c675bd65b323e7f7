// What goes on by itself tells its page how far it is, until it has ended; then the page is as a reload would show it.
import { follow } from "./live.js";
const page = document.querySelector("[data-stream]"), status = document.querySelector("#status");
const say = (text, turn) => { if (status) status.textContent = text; document.body.dataset.turn = turn; };
if (page) {
  document.body.dataset.turn = "running";
  follow(page.dataset.stream, { onDone: () => say(status.dataset.done, "done"), onQuiet: (seconds) => say(status.dataset.quiet.replace("%(num)s", seconds), "running"), onLost: () => say(status.dataset.lost, "lost") });
} else document.body.dataset.turn = "done";
