import { show, untouched } from "./part.js";

// The numbers of an experiment that runs are asked for again now and then, while someone looks and touches nothing.
const watched = document.querySelector("[data-watch]"), EVERY = 10_000;
const refresh = async () => {
  const old = document.querySelector("#results");
  if (document.hidden || old.contains(document.activeElement) || getSelection().toString()) return;
  try {
    const answer = await fetch(location.href, { headers: { "X-Part": "results" } });
    if (!answer.ok) return;
    const open = [...old.querySelectorAll("details")].map((one) => one.open), made = document.createElement("template");
    made.innerHTML = await answer.text();
    const fresh = made.content.querySelector("#results");
    for (const [at, one] of [...fresh.querySelectorAll("details")].entries()) one.open = open[at] ?? false;
    if (fresh.innerHTML !== old.innerHTML) old.replaceWith(fresh);
  } catch { /* the next time */ }
};
if (watched) {
  setInterval(refresh, EVERY);
  document.addEventListener("visibilitychange", refresh);
}

// What a design would take is said as its numbers change.
const form = document.querySelector("form[data-needed]");
let newest = 0, timer = 0;
const reckon = () => {
  const mine = ++newest, body = new URLSearchParams(new FormData(form));
  show(document.querySelector("#needed"), form, "needed", { body, stale: () => mine !== newest });
};
form?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(reckon, 200);
});
if (form && !untouched(form)) reckon();
