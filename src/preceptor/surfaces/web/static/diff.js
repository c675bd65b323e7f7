// n and p go from change to change.
const changes = [...document.querySelectorAll("tbody.change")];
const step = (by) => {
  const at = changes.indexOf(document.activeElement);
  const to = changes[at < 0 ? (by > 0 ? 0 : changes.length - 1) : Math.min(Math.max(at + by, 0), changes.length - 1)];
  to?.focus({ preventScroll: true });
  to?.scrollIntoView({ block: "center" });
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "n") step(1);
  else if (event.key === "p") step(-1);
  else return;
  event.preventDefault();
});
const bar = document.querySelector("[data-step]");
if (bar && changes.length) {
  bar.hidden = false;
  bar.addEventListener("click", (event) => {
    const button = event.target.closest("[data-by]");
    if (button) step(Number(button.dataset.by));
  });
}
