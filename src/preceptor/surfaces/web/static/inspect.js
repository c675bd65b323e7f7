// The bar and the parts of a context belong together: pointing at a kind of source in the one marks it in the other.
const lit = (kind) => {
  for (const one of document.querySelectorAll(".context [data-kind]")) one.classList.toggle("lit", one.dataset.kind === kind);
};
for (const event of ["mouseover", "focusin"]) {
  document.addEventListener(event, ({ target }) => {
    const at = target.closest?.(".context [data-kind]");
    if (at || document.querySelector(".lit")) lit(at?.dataset.kind);
  });
}
