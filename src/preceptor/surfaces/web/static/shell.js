// On every page: copying, and what only a script can offer becomes visible.
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const from = document.querySelector(button.dataset.copy), label = button.textContent;
  try {
    await navigator.clipboard.writeText(from.textContent.trim());
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = label; }, 1500);
  } catch {
    getSelection().selectAllChildren(from); // without leave for the clipboard: marked, so that Ctrl-C does it
  }
});

// A select that sends its form as soon as another is chosen; without a script its button does.
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

// ? shows the keys.
const keys = document.querySelector("#keys");
addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select") || keys.open) return;
  event.preventDefault();
  keys.showModal();
});
// On narrow screens the rail is a row: where we are is in sight, and where the keyboard is.
const rail = document.querySelector(".rail"), here = rail?.querySelector("[aria-current]");
if (here) rail.scrollLeft = here.offsetLeft - (rail.clientWidth - here.clientWidth) / 2;
rail?.addEventListener("focusin", ({ target }) => target.scrollIntoView({ block: "nearest", inline: "nearest" }));
document.documentElement.dataset.script = "1";
