// What is wrong with the page as it stands, in sentences; see person.inspect.
(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (e) => e.checkVisibility({ visibilityProperty: true });
  const show = (e) => e.outerHTML.slice(0, 120).replace(/\s+/g, " ");
  const text = (id) => document.getElementById(id)?.textContent.trim() ?? "";
  const name = (e) => (e.getAttribute("aria-labelledby") ?? "").split(" ").map(text).join(" ").trim()
    || e.getAttribute("aria-label")?.trim() || e.textContent.trim()
    || [...e.querySelectorAll("img[alt]")].map((i) => i.alt).join("") || e.title;

  if (document.documentElement.lang === "") wrong.push("the page has no lang");
  if (document.title.trim() === "") wrong.push("the page has no title");
  if (all("h1").length !== 1) wrong.push(`${all("h1").length} h1`);
  if (all("main").length !== 1) wrong.push(`${all("main").length} main`);
  for (const e of all("input:not([type=hidden]), select, textarea")) {
    const labels = [...e.labels].map((l) => l.textContent.trim()).join("");
    if (!labels && !e.getAttribute("aria-label") && !name(e)) wrong.push(`no label: ${show(e)}`);
  }
  for (const e of all("a[href], button, summary, [role=button]")) if (!name(e)) wrong.push(`no name: ${show(e)}`);
  for (const e of all("img")) if (!e.hasAttribute("alt")) wrong.push(`no alt: ${show(e)}`);
  for (const e of all("svg[role=img]")) if (!name(e)) wrong.push(`no name: ${show(e)}`);
  const ids = all("[id]").map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) wrong.push(`the id ${id} is there twice`);
  for (const attribute of ["aria-labelledby", "aria-describedby", "for"]) {
    for (const e of all(`[${attribute}]`)) {
      for (const id of e.getAttribute(attribute).split(" ")) {
        if (!document.getElementById(id)) wrong.push(`${attribute} names ${id}, which is not there: ${show(e)}`);
      }
    }
  }
  for (const e of all("[style], [onclick], body script:not([src])")) if (!e.closest("svg, .fix-table") && e.id !== "fix") wrong.push(`inline: ${show(e)}`); // the grid's script places its cells
  for (const e of all("table")) if (seen(e) && !e.querySelector("th")) wrong.push(`a table without headers: ${show(e)}`);
  let level = 0;
  for (const e of all("main h1, main h2, main h3, main h4").filter(seen)) {
    const now = Number(e.tagName[1]);
    if (now > level + 1) wrong.push(`h${now} after h${level}: ${show(e)}`);
    level = now;
  }
  return wrong;
})()
