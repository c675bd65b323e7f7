// On every page: copying, and what only a script can offer becomes visible.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const from = document.querySelector(button.dataset.copy);
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(from.textContent.trim());
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = label; }, 1500);
    } catch {
      getSelection().selectAllChildren(from); // without leave for the clipboard: marked, so that Ctrl-C does it
    }
  });
}

// A select that sends its form as soon as another is chosen; without a script its button does.
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", () => form.requestSubmit());
}
document.documentElement.dataset.script = "1";
