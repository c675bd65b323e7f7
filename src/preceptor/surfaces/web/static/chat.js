import { follow } from "./live.js";
const $ = (selector) => document.querySelector(selector);
const thread = $("#thread"), say = $("#say"), stop = $("#stop"), halt = $("#halt"), send = $("#send"), status = $("#status");
const language = document.documentElement.lang;

// The names of chosen files, beside the button.
for (const attach of document.querySelectorAll(".attach input")) {
  const named = () => { attach.parentElement.querySelector(".names").textContent = [...attach.files].map((file) => file.name).join(", "); };
  attach.addEventListener("change", named);
  named();
}

if (thread) {
  // A reader at the end is taken along; one who scrolled up is left alone.
  const jump = $("#jump");
  let stick = !location.hash || location.hash === "#end";
  const atEnd = () => thread.scrollHeight - thread.scrollTop - thread.clientHeight < 48;
  const toEnd = () => { thread.scrollTop = thread.scrollHeight; };
  const settle = () => { if (stick) toEnd(); jump.hidden = stick || atEnd(); };
  thread.addEventListener("scroll", () => { stick = atEnd(); jump.hidden = stick; }, { passive: true });
  new ResizeObserver(settle).observe(thread); // what is below it grows and shrinks
  jump.addEventListener("click", () => { stick = true; settle(); thread.focus(); });

  // What a reader opened or closed stays so.
  thread.addEventListener("click", (event) => {
    const summary = event.target.closest("summary");
    if (summary) summary.parentElement.dataset.touched = "1";
  });

  const busy = (on) => {
    if (on) thread.setAttribute("aria-busy", "true"); else thread.removeAttribute("aria-busy");
    if (send) send.hidden = false;
    if (halt) halt.hidden = !on;
    if (say) $("#split").classList.toggle("writable", !on);
    status.textContent = on ? status.dataset.busy : status.dataset.done;
    document.body.dataset.turn = on ? "running" : "done";
    const select = $("#select");
    if (select) select.hidden = on || !thread.querySelector(".intermediate");
  };
  let answering = null; // until the answer that is being written is whole
  const listen = (url) => {
    busy(true);
    const ended = Promise.withResolvers(), over = () => { answering = null; busy(false); ended.resolve(); };
    answering = ended.promise;
    follow(url, {
      onBatch() { if (!stays) trouble(""); settle(); },
      onQuiet(seconds) { trouble(status.dataset.quiet.replace("%(num)s", seconds)); },
      onDone() { over(); settle(); },
      onLost() { over(); trouble(status.dataset.lost); },
    });
  };
  const box = $("#trouble");
  let stays = false; // what was refused is told until the next try, whatever else happens on the page
  const trouble = (text, refused = false) => { if (box) { box.textContent = text; box.hidden = !text; stays = refused; } };

  const post = (form, { also = {}, signal } = {}) => {
    const given = new FormData(form), files = form.enctype === "multipart/form-data";
    for (const [name, value] of Object.entries(also)) given.set(name, value);
    return fetch(form.action, { method: "POST", body: files ? given : new URLSearchParams(given), headers: { "X-Part": "none" }, signal });
  };
  // What is sent while an answer is written waits for its end: the request does, so it is taken back by ending that.
  const area = say?.querySelector("textarea"), attach = say?.querySelector("[type=file]"), waiting = $("#waiting");
  let queued = null;
  const written = (text, files) => {
    area.value = text;
    attach.files = files;
    attach.dispatchEvent(new Event("change"));
  };
  const waits = (text) => {
    queued = text ? new AbortController() : null;
    waiting.querySelector("span").textContent = text;
    waiting.hidden = !text;
    return queued?.signal;
  };
  say?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = area.value, files = attach.files, behind = answering !== null;
    if (send.disabled || (!text.trim() && !files.length)) return; // the one before is on its way
    if (queued) { trouble(status.dataset.waits, true); return; }
    send.disabled = !behind;
    trouble("");
    const label = text.trim() || [...files].map((file) => file.name).join(", ");
    const sent = behind ? post(say, { also: { queue: "1" }, signal: waits(label) }) : post(say);
    written("", new DataTransfer().files);
    let refused = "";
    try {
      const answer = await sent, told = await answer.json();
      if (answer.ok) {
        if (behind) waits("");
        trouble("");
        await answering;
        $("#nothing")?.remove();
        $("#undo")?.remove();
        stick = true;
        listen(told.stream);
        return;
      }
      refused = behind && told.code === "turn_in_progress" ? status.dataset.full : told.detail;
    } catch (error) {
      refused = error.name === "AbortError" ? "" : status.dataset.unsent;
    } finally {
      send.disabled = false;
    }
    if (behind) waits("");
    written([text, area.value].filter(Boolean).join("\n\n"), attach.files.length ? attach.files : files);
    if (!refused) area.focus();
    trouble(refused, true);
  });
  waiting?.querySelector("button").addEventListener("click", () => queued?.abort());
  addEventListener("beforeunload", (event) => { if (queued) event.preventDefault(); });
  stop?.addEventListener("submit", async (event) => {
    event.preventDefault();
    halt.disabled = true;
    trouble("");
    try { await post(stop); } catch { trouble(status.dataset.lost, true); } finally { halt.disabled = false; }
  });
  addEventListener("keydown", (event) => {
    const writing = event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select");
    if (event.key === "i" && !writing) [...thread.querySelectorAll(".final [data-inspect]")].at(-1)?.click();
    if (event.key === "c" && !writing && select && !select.hidden) select.click();
    if (event.key !== "Escape" || $("#keys").open) return;
    const menu = $(".menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); return; }
    if (!$("#inspector").hidden) { closePanel(); return; }
    if (halt && !halt.hidden) stop.requestSubmit();
    else if (document.querySelector(".cleaning")) cleaning(false);
  });

  // Selecting intermediate steps.
  const split = $("#split"), bar = $("#cleanup"), select = $("#select");
  const boxes = () => [...thread.querySelectorAll("input[form=cleanup]")];
  const worded = (element, number) => {
    const forms = JSON.parse(element.dataset.forms), kind = new Intl.PluralRules(language).select(number);
    element.textContent = (forms[kind] ?? forms.many).replace("%(num)s", number.toLocaleString(language));
  };
  const count = () => {
    const picked = boxes().filter((one) => one.checked);
    const whole = picked.filter((one) => "group" in one.dataset && !one.closest(".delegation").parentElement.closest(".delegation")?.querySelector("[data-group]").checked);
    const inWhole = (one) => one.closest(".delegation")?.querySelector("[data-group]").checked;
    const alone = picked.filter((one) => !("group" in one.dataset) && !inWhole(one));
    worded(bar.querySelector(".count"), picked.filter((one) => !("group" in one.dataset)).length);
    worded(bar.querySelector(".freed"), [...whole, ...alone].reduce((sum, one) => sum + Number(one.dataset.tokens), 0));
    for (const button of bar.querySelectorAll("button")) button.disabled = picked.length === 0;
  };
  const cleaning = (on) => {
    split.classList.toggle("cleaning", on);
    bar.hidden = !on;
    for (const one of thread.querySelectorAll(".delegation")) if (on) one.open = true;
    for (const one of boxes()) one.checked = on;
    count();
    (on ? bar.querySelector("button") : select)?.focus();
  };
  const choose = (event) => {
    const one = event.target;
    if (one.form !== bar) return;
    const group = one.closest(".delegation");
    if ("group" in one.dataset) for (const inner of group.querySelectorAll("input[form=cleanup]")) inner.checked = one.checked;
    for (let at = group; at; at = at.parentElement.closest(".delegation")) {
      const whole = at.querySelector("[data-group]");
      whole.checked = [...at.querySelectorAll("input[form=cleanup]")].every((inner) => inner === whole || inner.checked);
    }
    count();
  };
  select?.addEventListener("click", (event) => { event.preventDefault(); cleaning(true); });
  thread.addEventListener("change", choose);
  bar.querySelector("[data-cancel]").addEventListener("click", (event) => { event.preventDefault(); cleaning(false); });
  if (split.classList.contains("cleaning")) cleaning(true);

  // The inspector beside the thread; without a script its link is a page.
  const panel = $("#inspector");
  let opener = null;
  // The address says which panel is open, so that it can be sent to someone.
  const addressed = (message) => {
    const address = new URL(location.href);
    if (message) address.searchParams.set("panel", message); else address.searchParams.delete("panel");
    history.replaceState(null, "", address);
  };
  // In a narrow window it lies over the conversation, which the keyboard then passes by.
  const narrow = matchMedia("(max-width: 900px)");
  const cover = () => { $(".conv").inert = narrow.matches && !panel.hidden; };
  narrow.addEventListener("change", cover);
  const closePanel = () => { panel.hidden = true; cover(); split.classList.remove("inspecting"); addressed(""); opener?.focus(); };
  const openPanel = async (href) => {
    trouble("");
    const answer = await fetch(href, { headers: { "X-Part": "context" } }).catch(() => null);
    if (!answer) { trouble(status.dataset.lost, true); return; }
    if (!answer.ok) { location.href = href; return; }
    panel.innerHTML = await answer.text();
    panel.hidden = false;
    cover();
    split.classList.add("inspecting");
    panel.focus();
  };
  thread.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-inspect]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    opener = link;
    await openPanel(link.href);
    addressed(link.closest("article").id.slice(2));
  });
  panel.addEventListener("click", (event) => {
    const link = event.target.closest("[data-panel]");
    if (event.target.closest("[data-close]")) closePanel();
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    openPanel(link.href);
  });
  const shown = document.querySelector(`#m-${CSS.escape(new URLSearchParams(location.search).get("panel") ?? "")} [data-inspect]`);
  shown?.click();

  if (thread.dataset.stream) listen(thread.dataset.stream);
  else document.body.dataset.turn = "done";
  settle();
}
document.body.dataset.ready = "1";
