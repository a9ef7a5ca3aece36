// What makes the page wider than its window, in sentences.
(() => {
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
