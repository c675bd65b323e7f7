// What a change of an assignment would do is shown as soon as it is made in the form; a late answer never wins.
for (const form of document.querySelectorAll("form.assign")) {
  const out = form.querySelector(".effect");
  let newest = 0, timer = 0;
  const refresh = async () => {
    const mine = ++newest;
    const body = new URLSearchParams(new FormData(form));
    if (body.get("instructionId") === "") return;
    body.set("do", "preview");
    const answer = await fetch(form.action.split("#")[0], { method: "POST", body, headers: { "X-Part": "effect" } });
    const html = await answer.text();
    if (mine === newest) out.innerHTML = html;
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 200);
  });
}
