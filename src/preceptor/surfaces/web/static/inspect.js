// The bar and the parts of a context belong together: pointing at a kind of source in the one marks it in the other.
const marked = ".context rect[data-kind], .context a[data-kind]", parts = ".context .seg[data-kind]";
const lit = (kind, where) => {
  for (const one of document.querySelectorAll(`${marked}, ${parts}`)) one.classList.toggle("lit", one.dataset.kind === kind && one.matches(where));
};
for (const event of ["mouseover", "focusin"]) {
  document.addEventListener(event, ({ target }) => {
    const at = target.closest?.(`${marked}, ${parts}`);
    if (at) lit(at.dataset.kind, at.matches(parts) ? marked : parts);
    else if (document.querySelector(".lit")) lit("", parts);
  });
}
