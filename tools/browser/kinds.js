// The kinds of visible elements on the page: their tags, classes, roles and types; see person.inspect.
(() => {
  const kind = (e) => [e.localName, ...[...e.classList].sort(), e.getAttribute("role") ?? "", e.getAttribute("type") ?? ""].join(" ");
  const all = [...document.body.querySelectorAll("*")].filter((e) => e.checkVisibility() && !e.closest(".fix-table, svg"));
  return [...new Set(all.map(kind))].sort();
})()
