// A dry run whose answers are shown as they come: one line of JSON for each piece, and the whole result at the end.
const form = document.querySelector("#trial");
const results = document.querySelector("#results");
const status = document.querySelector("#trial-status");
const problem = document.querySelector("#trial-problem");

const sides = (count) => {
  results.replaceChildren(Object.assign(document.createElement("div"), { className: "sides" }));
  return Array.from({ length: count }, () => {
    const card = Object.assign(document.createElement("section"), { className: "card trial" });
    const text = Object.assign(document.createElement("div"), { className: "body raw answer" });
    card.append(text);
    results.firstChild.append(card);
    return text;
  });
};

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const found = (rest + value).split("\n");
    rest = found.pop();
    for (const line of found) yield JSON.parse(line);
  }
}

form.addEventListener("submit", async (event) => {
  if (event.submitter?.value !== "run") return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  body.set("mode", "run");
  const shown = sides(body.get("against") ? 2 : 1);
  status.textContent = status.dataset.busy;
  problem.hidden = true;
  event.submitter.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { "X-Part": "trial" } });
    if (!answer.ok) throw new Error((await answer.json()).detail);
    for await (const told of lines(answer.body)) {
      if ("text" in told) shown[told.side].append(told.text);
      else if ("html" in told) results.innerHTML = told.html;
      else throw new Error(told.problem);
    }
    status.textContent = status.dataset.done;
  } catch (error) {
    problem.textContent = error instanceof TypeError ? status.dataset.lost : error.message; // the line, or what we were told
    problem.hidden = false;
    status.textContent = "";
  } finally {
    form.querySelector("[value=run]").disabled = false;
  }
});
