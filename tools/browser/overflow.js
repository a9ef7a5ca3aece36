// What makes the page wider than its window, or covers a link of its head, in sentences.
(() => {
  const boxes = [...document.querySelectorAll(".frame nav li, .frame > :not(nav)")].filter((e) => e.checkVisibility())
    .map((e) => [e.innerText.trim() || e.className, e.getBoundingClientRect()]);
  const covered = boxes.flatMap(([a, r], i) => boxes.slice(i + 1)
    .filter(([, s]) => Math.min(r.right, s.right) - Math.max(r.left, s.left) > 1 && Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > 1)
    .map(([b]) => `${a} and ${b} overlap in the head`));
  if (covered.length) return covered;
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  const scrolls = (e) => {
    for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
      if (getComputedStyle(up).overflowX !== "visible") return true;
    }
    return false;
  };
  const wide = [...document.body.querySelectorAll("*")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > room + 1 && !scrolls(e));
  return [`the page is ${document.documentElement.scrollWidth} wide in ${room}`, ...wide.slice(0, 5).map((e) => e.outerHTML.slice(0, 160).replace(/\s+/g, " "))];
})()
