// The editor: items by button and key, a live preview in which a late answer never wins, nothing lost by leaving.
import { show, untouched } from "./part.js";
const form = document.querySelector("#editor");
const out = document.querySelector("#told");
const key = (path) => `draft:${path}`;

const told = (form) => new URLSearchParams(new FormData(form)).toString();

if (form) {
  const saved = document.querySelector("#saved");
  const kept = document.querySelector("#kept");
  const here = key(new URL(form.action).pathname);
  const start = told(form);
  let dirty = Boolean(form.dataset.dirty), leaving = false, timer = 0, newest = 0, running = null;

  const touch = () => {
    dirty = true;
    saved.textContent = form.dataset.changed;
    if (kept) localStorage.setItem(here, told(form));
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  };

  function refresh() {
    const mine = ++newest, body = new URLSearchParams(new FormData(form));
    running?.abort();
    running = new AbortController();
    body.set("do", "preview");
    show(out, form, "told", { body, signal: running.signal, stale: () => mine !== newest });
  }

  const fresh = (list) => 1 + Math.max(-1, ...[...list.querySelectorAll("[name]")].map((one) => Number(one.name.split(".")[1]) || 0));
  const field = (item) => item?.querySelector("textarea, input:not([type=hidden])");

  function add(box) {
    const list = box.querySelector("ol"), next = fresh(list);
    list.append(box.querySelector("template").content.cloneNode(true));
    for (const one of list.lastElementChild.querySelectorAll("[name]")) {
      one.name = one.name.replace(".KEY.", `.${next}.`);
      one.value = one.value.replace(/:KEY$/, `:${next}`);
    }
    field(list.lastElementChild).focus();
  }

  function move(item, by) {
    if (by < 0) item.previousElementSibling?.before(item);
    else item.nextElementSibling?.after(item);
  }

  form.addEventListener("click", (event) => {
    const button = event.target.closest("button"), box = button?.closest("[data-list]"), item = button?.closest("li");
    if (!box) return;
    event.preventDefault();
    if ("add" in button.dataset) add(box);
    else if ("remove" in button.dataset) {
      const next = item.nextElementSibling ?? item.previousElementSibling;
      item.remove();
      (field(next) ?? box.querySelector("[data-add]")).focus();
    } else {
      move(item, Number(button.dataset.move));
      button.focus();
    }
    touch();
  });

  form.addEventListener("keydown", (event) => {
    const item = event.target.closest("li.item");
    if (!item || !event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    move(item, event.key === "ArrowUp" ? -1 : 1);
    event.target.focus();
    touch();
  });

  form.addEventListener("input", (event) => {
    if (event.target.name === "type") {
      const box = form.querySelector("[data-list=variables]");
      if (box) box.hidden = event.target.value !== "template" && !box.querySelector("li");
    }
    touch();
  });
  document.querySelector("select[form=editor]")?.addEventListener("change", refresh);
  document.querySelector("[data-refresh]").addEventListener("click", (event) => { event.preventDefault(); refresh(); });

  form.addEventListener("submit", (event) => {
    leaving = true;
    if (kept && event.submitter?.value === "save") localStorage.removeItem(here);
  });
  addEventListener("beforeunload", (event) => { if (dirty && !leaving) event.preventDefault(); });
  addEventListener("pageshow", () => { leaving = false; });

  if (dirty) saved.textContent = form.dataset.changed;
  const before = kept && localStorage.getItem(here);
  if (before && before !== start && !dirty) {
    kept.hidden = false;
    kept.addEventListener("click", (event) => {
      if (event.target.dataset.kept === "drop") { localStorage.removeItem(here); kept.hidden = true; }
      else if (event.target.dataset.kept === "take") send(before);
    });
  }
  if (!untouched(form)) touch();

  // What was written before comes back the way it would without a script: as a form that the server shows again.
  function send(text) {
    const again = document.createElement("form");
    again.method = "post";
    again.action = form.action;
    const now = new FormData(form).get("revision");
    for (const [name, value] of new URLSearchParams(text)) {
      const one = document.createElement("input");
      Object.assign(one, { type: "hidden", name, value: name === "revision" ? now : value });
      again.append(one);
    }
    document.body.append(again);
    leaving = true;
    again.submit();
  }
}

const review = document.querySelector("#review");
review?.addEventListener("submit", (event) => {
  if (event.submitter?.value === "save") localStorage.removeItem(key(new URL(review.action).pathname));
});
document.documentElement.dataset.editor = "1";
