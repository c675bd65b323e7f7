// What a change of an assignment would do is shown as soon as it is made in the form.
import { show, untouched } from "./part.js";
for (const form of document.querySelectorAll("form.assign")) {
  const out = form.querySelector(".effect");
  let newest = 0, timer = 0;
  const refresh = () => {
    const mine = ++newest, body = new URLSearchParams(new FormData(form));
    if (body.get("instructionId") === "") { out.replaceChildren(); return; }
    body.set("do", "preview");
    show(out, form, "effect", { body, stale: () => mine !== newest });
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 200);
  });
  if (!untouched(form)) refresh();
}
