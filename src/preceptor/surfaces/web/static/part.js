// Whether a form is as the server sent it: whoever is quick writes in it before the script is there that listens.
export function untouched(form) {
  return [...form.elements].every((one) => {
    if (one.options) return one.selectedIndex === Math.max(0, [...one.options].findLastIndex((option) => option.defaultSelected));
    if (one.type === "checkbox" || one.type === "radio") return one.checked === one.defaultChecked;
    return one.value === (one.defaultValue ?? one.value);
  });
}

// A part of a page, asked for with a form as it stands. Where none comes, it is said why: nothing else is lost.
export async function show(out, form, name, { body, signal, stale }) {
  let html = "", why = "";
  try {
    const answer = await fetch(form.action.split("#")[0], { method: "POST", body, headers: { "X-Part": name }, signal });
    if (answer.headers.get("Content-Type")?.startsWith("text/html")) html = await answer.text();
    else why = (await answer.json()).detail;
  } catch (error) {
    if (error.name === "AbortError") return;
    why = document.body.dataset.lost;
  }
  if (stale()) return; // a late answer never wins
  if (!why) out.innerHTML = html;
  else out.replaceChildren(Object.assign(document.createElement("p"), { className: "notice bad", textContent: why }));
}
