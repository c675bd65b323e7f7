// j and k move through a list, Enter opens (it is a link), n follows the page's main action.
const items = [...document.querySelectorAll("[data-list] [data-item]")];
const move = (by) => {
  const at = items.indexOf(document.activeElement);
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + by, 0), items.length - 1)];
  next?.focus();
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "n") document.querySelector(".bar .primary")?.click();
  else return;
  event.preventDefault();
});
