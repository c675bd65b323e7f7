// Enter sends, Shift+Enter is a new line. Loaded before there is a field to write in: no writer is too quick for it.
document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form[data-enter]");
  if (!form || event.target.tagName !== "TEXTAREA" || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!form.querySelector("#send")?.hidden) form.requestSubmit();
});
