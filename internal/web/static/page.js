// Improvements for pages that also work without it: forms post, pages reload.
// Nothing is stored in the browser. Only live panels set markup; it comes from
// the own server, rendered by the template of the page.

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// announce gives a text to screen readers.
function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}

// Times are shown in the reader's zone and format; words stay English, as the page is.

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const formats = {
  datetime: new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }),
  date: new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }),
  time: new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }),
};
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const units = [["day", 86400], ["hour", 3600], ["minute", 60]];

function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? "in a moment" : "just now";
}

// Messages have times in UTC, such as 2026-03-01 12:30 UTC.
const stamp = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC\b/g;

function localize(root = document) {
  const texts = document.createTreeWalker(root.body ?? root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode: node } = texts;
    if (!node.data.includes(" UTC") || node.parentElement.closest("time, textarea, script, .grid bdi")) continue;
    node.data = node.data.replace(stamp, (_, on, at) => formats.datetime.format(new Date(`${on}T${at}Z`)));
  }
  for (const element of all("time[data-local]", root)) {
    const text = element.dateTime;
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) continue;
    if (text.length === 10) { // a calendar date: the same in every zone
      element.textContent = day.format(date);
      continue;
    }
    const kind = element.dataset.local;
    element.textContent = kind === "ago" ? ago(date) : (formats[kind] ?? formats.datetime).format(date);
    element.title = full.format(date);
  }
}

// Ids get a copy button.

function copyButtons(root = document) {
  if (!navigator.clipboard) return; // not a secure origin
  for (const element of all("[data-copy]", root)) {
    const text = element.dataset.copy || element.textContent.trim();
    const itself = element.tagName === "BUTTON";
    const button = itself ? element : make("button", { type: "button", className: "copy", textContent: "Copy" });
    if (!itself) button.setAttribute("aria-label", `Copy ${text}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
        announce("Copied");
      } catch {
        button.textContent = "Not copied";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    if (!itself) element.after(button);
  }
}

// Tables drawn as cards keep their roles for screen readers.

function roles(root = document) {
  for (const table of all("table.cards", root)) {
    table.setAttribute("role", "table");
    all("thead, tbody, tfoot", table).forEach((e) => e.setAttribute("role", "rowgroup"));
    all("tr", table).forEach((e) => e.setAttribute("role", "row"));
    all("td", table).forEach((e) => e.setAttribute("role", "cell"));
    all("th", table).forEach((e) => e.setAttribute("role", e.scope === "row" ? "rowheader" : "columnheader"));
  }
}

function dress(root) {
  localize(root);
  copyButtons(root);
  roles(root);
}

// again returns a link that reloads the page, also if its address ends in a fragment.
function again(text) {
  const link = make("a", { href: location.href, textContent: text });
  link.addEventListener("click", (event) => {
    event.preventDefault();
    location.reload();
  });
  return link;
}

// Tabs with data-tally update their row counts silently. The list of rows does not change while it is
// read; a link beside the tabs refreshes it.

const tabs = all("[data-tally]");
const tallyOf = (tab) => Number(tab.querySelector(".n").textContent.replaceAll(",", ""));
const listed = Object.fromEntries(tabs.map((tab) => [tab.dataset.tally, tallyOf(tab)]));
const shown = tabs.find((tab) => tab.querySelector("[aria-current]"))?.dataset.tally;
const changed = make("p", { className: "changed", hidden: true }, make("span"), again("Refresh"));
tabs[0]?.closest("nav").append(changed);

function tally(counts) {
  for (const tab of tabs) {
    const n = counts[tab.dataset.tally] ?? 0;
    tab.querySelector(".n").textContent = n.toLocaleString("en");
    tab.hidden = n === 0 && !["", shown].includes(tab.dataset.tally) && !tab.contains(document.activeElement);
  }
  const more = (name) => (counts[name] ?? 0) - listed[name];
  const n = shown ? Math.abs(more(shown)) : Object.keys(listed).filter((name) => name).reduce((sum, name) => sum + Math.max(0, more(name)), 0);
  changed.hidden = shown === undefined || n === 0;
  changed.firstChild.textContent = `${n.toLocaleString("en")} ${n === 1 ? "row has" : "rows have"} changed. `;
}

// Live panels: <section data-live="/path">. While the page is seen, it asks for its state: "panel" (markup of
// the whole panel), "tally" (the row counts of the tabs), "say" (a sentence for screen readers), and "gone"
// (the page is out of date: reload it). A request that fails is repeated until it works.

const pollEvery = 2_000;
const pollWithin = 30_000;
const sayEvery = 10_000;

class Live {
  constructor(element) {
    this.element = element;
    this.lost = make("p", { className: "lost", hidden: true }, "Connection lost. Reconnecting…");
    element.before(this.lost);
    this.tries = 0;
    this.poll();
  }

  close() { clearTimeout(this.timer); }

  async poll() {
    this.close();
    let wait = pollEvery;
    try {
      const response = await fetch(this.element.dataset.live, { signal: AbortSignal.timeout(pollWithin) });
      const answer = response.ok && await response.json();
      if (answer ? answer.gone : [401, 403, 404].includes(response.status)) {
        this.leave();
        return;
      }
      if (!answer) throw new Error(`status ${response.status}`);
      if (!this.lost.hidden) announce("Connected again.");
      this.lost.hidden = true;
      this.tries = 0;
      this.show(answer.panel);
      tally(answer.tally);
      this.say(answer.say);
    } catch {
      this.tries++;
      if (this.tries === 2) { // a single failure is common
        this.lost.hidden = false;
        announce("Connection lost. Reconnecting.");
      }
      wait = Math.min(1000 * 2 ** (this.tries - 1), 15_000);
    }
    this.close(); // another poll may have begun
    if (!document.hidden) this.timer = setTimeout(() => this.poll(), wait);
  }

  // show replaces the panel and keeps its open details and its focus.
  show(html) {
    if (html === this.html) return;
    this.html = html;
    const focused = this.element.contains(document.activeElement) && document.activeElement.id;
    const opened = all("details[id][open]", this.element).map((e) => e.id);
    this.element.innerHTML = html;
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    dress(this.element);
  }

  say(text) {
    if (text === this.said || Date.now() - (this.saidAt ?? 0) < sayEvery) return;
    if (this.said) announce(text);
    this.said = text;
    this.saidAt = Date.now();
  }

  leave() {
    if (document.querySelector("form[data-sent]:not([data-stay])")) return; // the next page is on its way
    if (!typing()) {
      location.reload();
      return;
    }
    this.element.before(make("p", { className: "lost" }, "This page is out of date. ", again("Refresh")));
    announce("This page is out of date.");
  }
}

// typing reports whether a reload would lose input or an open confirmation.
function typing() {
  const fields = all("form:not([method=get]) :is(input:not([type=hidden]), textarea)");
  return fields.some((f) => f.value !== f.defaultValue || f.checked !== f.defaultChecked)
    || document.querySelector("dialog[open], details.confirm[open]") !== null;
}

const panels = all("[data-live]").map((element) => new Live(element));
const reopen = () => panels.forEach((panel) => panel.poll());
document.addEventListener("visibilitychange", () => { if (!document.hidden) reopen(); });
addEventListener("online", reopen);
addEventListener("pagehide", () => panels.forEach((panel) => panel.close()));

// An element with data-fresh is loaded again while the page is seen, and when the reader returns to it.

async function freshen() {
  const part = document.querySelector("[data-fresh]");
  if (!part || document.hidden || part.contains(document.activeElement)) return;
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok || response.redirected) return;
  const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(part.id);
  if (!next || next.innerHTML === freshen.seen || part.contains(document.activeElement)) return;
  freshen.seen = next.innerHTML;
  part.replaceChildren(...next.childNodes);
  dress(part);
}
setInterval(freshen, 10_000);
document.addEventListener("visibilitychange", freshen);
addEventListener("pageshow", (event) => { if (event.persisted) freshen(); });

// Uploads: <form data-uploads> takes any number of files, which start at once and go one after the
// other. <body data-uploads="/sheets"> says that this person may upload, on every page. Any other
// form.drop takes one file, and is sent by its button. The whole page is the target of a dropped file: it
// never replaces the page in the browser.

const maxUpload = Number(document.body.dataset.maxUpload || Infinity);
const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
const percent = (part, whole) => `${Math.floor((100 * part) / whole)}%`;

class Uploads {
  constructor(path, list) {
    this.path = path;
    this.list = list;
    this.waiting = [];
    this.row = []; // of this go: since the queue was empty
  }

  add(files) {
    if (!this.running) this.row = [];
    for (const file of files) {
      const item = { file, once: hex(crypto.getRandomValues(new Uint8Array(16))) };
      item.bar = make("progress", { max: 1, hidden: true });
      item.bar.setAttribute("aria-label", `Upload of ${file.name}`);
      item.text = make("span", { className: "soft", textContent: "Waiting" });
      item.actions = make("span", { className: "actions" });
      item.element = make("li", {}, make("span", { className: "name" }, make("bdi", { textContent: file.name }), ` ${size(file.size)}`),
        item.text, item.actions, item.bar);
      this.list.append(item.element);
      this.row.push(item);
      this.waiting.push(item);
    }
    this.list.hidden = false;
    this.list.parentElement.hidden = false;
    this.next();
  }

  async next() {
    if (this.running) return;
    this.running = true;
    for (let item = this.waiting.shift(); item; item = this.waiting.shift()) await this.upload(item);
    this.running = false;
    this.finish();
  }

  async upload(item) {
    item.element.className = "current";
    item.actions.replaceChildren();
    if (item.file.size > maxUpload) {
      this.refuse(item, `${item.file.name} has more than ${Math.floor(maxUpload / 2 ** 20)} MiB. Nothing was saved. Split the file.`);
      return;
    }
    const answer = await this.send(item);
    item.bar.hidden = true;
    if (answer.path) {
      item.path = answer.path;
      item.element.className = "done";
      item.text.textContent = "Uploaded";
      const link = make("a", { href: answer.path, textContent: "Review" });
      link.setAttribute("aria-label", `Review ${item.file.name}`);
      item.actions.replaceChildren(link);
      return;
    }
    this.refuse(item, answer.text, answer);
  }

  // send uploads a file. The answer has a path, or a text that says what is wrong.
  send(item) {
    const { bar, text, file } = item;
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      const body = new FormData();
      body.append("once", item.once);
      body.append("file", file);
      const stop = make("button", { type: "button", className: "quiet", textContent: "Cancel" });
      stop.setAttribute("aria-label", `Cancel the upload of ${file.name}`);
      stop.addEventListener("click", () => request.abort());
      item.actions.replaceChildren(stop);
      bar.hidden = false;
      bar.value = 0;
      text.textContent = "Uploading";
      request.upload.addEventListener("progress", (event) => {
        if (!event.lengthComputable) return;
        bar.value = event.loaded / event.total;
        text.textContent = `Uploading ${percent(event.loaded, event.total)}`;
      });
      request.upload.addEventListener("load", () => {
        bar.removeAttribute("value");
        text.textContent = "Reading";
      });
      request.addEventListener("load", () => resolve(read(request)));
      request.addEventListener("error", () => resolve({ text: "The connection was lost during the upload. Nothing was saved.", again: true }));
      request.addEventListener("abort", () => resolve({ text: "Upload canceled. Nothing was saved.", again: true }));
      request.open("POST", this.path);
      request.setRequestHeader("X-Upload", "script");
      request.send(body);
    });
  }

  refuse(item, text, { title, signIn, again } = {}) {
    item.element.className = "refused";
    item.text.textContent = title && title !== "Invalid input" ? `${title}. ${text}` : text;
    item.actions.replaceChildren();
    if (signIn) item.actions.append(make("a", { href: signIn, textContent: "Sign in" }));
    if (again) {
      const button = make("button", { type: "button", className: "small", textContent: "Try again" });
      button.addEventListener("click", () => {
        if (!this.running) this.row = [];
        this.row.push(item);
        this.waiting.push(item);
        item.text.textContent = "Waiting";
        this.next();
      });
      item.actions.append(button);
    }
    const remove = make("button", { type: "button", className: "quiet", textContent: "Dismiss" });
    remove.setAttribute("aria-label", `Dismiss ${item.file.name}`);
    remove.addEventListener("click", () => {
      item.element.remove();
      this.list.hidden = this.list.childElementCount === 0;
      if (this.list.parentElement.matches(".tray")) this.list.parentElement.hidden = this.list.hidden;
    });
    item.actions.append(remove);
    announce(item.text.textContent);
  }

  // finish leads to the page of a single file. Several stay listed, each with its link.
  finish() {
    const [only] = this.row;
    if (this.row.length === 1 && this.list.childElementCount === 1 && only.path && !typing()) {
      location.assign(only.path);
      return;
    }
    const done = this.row.filter((item) => item.path).length;
    if (done) announce(`${done} of ${this.row.length} ${this.row.length === 1 ? "file" : "files"} uploaded.`);
  }
}

// read reads the answer to a file: JSON, or nothing of use where a proxy answers.
function read(request) {
  const again = [429, 502, 503, 504].includes(request.status);
  try {
    const { path, title, text, signIn } = JSON.parse(request.responseText);
    if (request.status < 300 && path) return { path };
    if (text) return { title, text, signIn, again };
  } catch { /* not JSON */ }
  return { text: `The file was not uploaded (status ${request.status}).`, again };
}

const fileForms = "form.drop:not([data-uploads]), form[data-file-form]";
const single = () => document.querySelector(fileForms);
const uploads = (() => {
  const path = document.body.dataset.uploads;
  if (!path) return null;
  const form = document.querySelector("form[data-uploads]");
  const list = make("ul", { className: "uploads", hidden: true });
  list.setAttribute("aria-label", "Uploads");
  if (form) form.append(list);
  else document.body.append(make("aside", { className: "tray", hidden: true }, make("h2", { textContent: "Uploads" }), list));
  const queue = new Uploads(path, list);
  const input = form?.querySelector("input[type=file]");
  if (!input) return queue;
  input.multiple = true;
  input.required = false;
  input.addEventListener("change", () => {
    queue.add([...input.files]);
    input.value = "";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.files.length) input.dispatchEvent(new Event("change"));
    else input.click();
  });
  return queue;
})();
addEventListener("beforeunload", (event) => { if (uploads?.running) event.preventDefault(); });

{
  const overlay = make("div", { className: "dropping", hidden: true }, make("p", {
    textContent: single() ? "Drop the file to choose it" : "Drop spreadsheets to upload them",
  }));
  overlay.setAttribute("aria-hidden", "true");
  document.body.append(overlay);
  const takes = () => Boolean(single() || uploads) && !document.querySelector("dialog[open]");
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const over = (is) => {
    overlay.hidden = !is || !takes();
    single()?.classList.toggle("over", is);
  };
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    over(true);
  });
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = takes() ? "copy" : "none";
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(false); });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    over(false);
    if (!takes()) return;
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const folder = items.some((item) => item.webkitGetAsEntry?.()?.isDirectory);
    const files = [...event.dataTransfer.files].filter((_, i) => !items[i]?.webkitGetAsEntry?.()?.isDirectory);
    if (single()) single().dispatchEvent(new CustomEvent("take", { detail: files }));
    else if (files.length) uploads.add(files);
    if (folder) announce("Folders are not uploaded. Drop the spreadsheets in them.");
  });
}

// A form for one file is sent with a progress bar.

function withProgress(form) {
  const input = form.querySelector("input[type=file]");
  const note = make("div", { className: "sent" });
  note.setAttribute("role", "status");
  form.append(note);
  input.addEventListener("change", () => {
    const file = input.files[0];
    note.textContent = file ? `${file.name}, ${size(file.size)}` : "";
  });
  form.addEventListener("take", ({ detail: files }) => {
    if (form.classList.contains("sending")) return;
    if (files.length > 1) {
      note.textContent = "Choose one file at a time.";
      return;
    }
    const list = new DataTransfer();
    for (const file of files) list.items.add(file);
    input.files = list.files;
    input.dispatchEvent(new Event("change"));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!form.classList.contains("sending")) send(form, input, note);
  });
}
all(fileForms).forEach(withProgress);

// showAgain shows the answer to a form that was refused, and keeps its file.
function showAgain(html, files) {
  const main = document.getElementById("main");
  main.replaceChildren(...new DOMParser().parseFromString(html, "text/html").getElementById("main").childNodes);
  dress(main);
  const form = single();
  withProgress(form);
  form.dispatchEvent(new CustomEvent("take", { detail: files }));
  form.querySelector("[aria-invalid]")?.focus();
}

// send posts the form. The server answers with a redirect, or with a text or the form again that says what
// is wrong.
function send(form, input, note) {
  const name = input.files[0]?.name ?? "The form";
  const request = new XMLHttpRequest();
  const body = new FormData(form);
  const bar = make("progress", { max: 1 });
  const text = make("p", { textContent: `Uploading ${name}…` });
  const stop = make("button", { type: "button", className: "quiet", textContent: "Cancel upload" });
  bar.setAttribute("aria-label", `Uploading ${name}`);
  stop.addEventListener("click", () => request.abort());
  note.replaceChildren(text, bar, stop);
  const busy = (is) => {
    form.classList.toggle("sending", is);
    all("input[type=file], button:not([type=button])", form).forEach((e) => { e.disabled = is; });
  };
  const fail = (why) => {
    busy(false);
    note.replaceChildren(make("p", { className: "error", textContent: why }));
  };
  busy(true);
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    bar.value = event.loaded / event.total;
    text.textContent = event.loaded < event.total
      ? `${name}: ${size(event.loaded)} of ${size(event.total)} uploaded`
      : `${name} is uploaded and being read…`;
  });
  request.addEventListener("load", () => {
    if (request.status < 400) {
      location.assign(request.getResponseHeader("Location") ?? request.responseURL);
      return;
    }
    if (request.getResponseHeader("Content-Type")?.startsWith("text/html")) showAgain(request.responseText, [...input.files]);
    else fail(read(request).text);
  });
  request.addEventListener("error", () => fail("The connection was lost during the upload. Nothing was saved. Upload the file again."));
  request.addEventListener("abort", () => fail("Upload canceled. Nothing was saved."));
  request.open("POST", form.action);
  request.setRequestHeader("X-Upload", "script");
  request.send(body);
}

function size(bytes) {
  for (const [unit, length] of [["MB", 1e6], ["kB", 1e3]]) {
    if (bytes >= length) return `${(bytes / length).toLocaleString("en", { maximumFractionDigits: 1 })} ${unit}`;
  }
  return `${bytes} bytes`;
}

// A button with data-confirm asks for a confirmation in a dialog.

function ask(button) {
  const dialog = make("dialog", {}, make("p", { id: "ask", textContent: button.dataset.confirm }));
  const confirm = make("button", { type: "button", className: `${button.className} primary`, textContent: button.textContent.trim() });
  const cancel = make("button", { type: "button", textContent: "Cancel" });
  dialog.setAttribute("aria-labelledby", "ask");
  dialog.append(make("div", { className: "actions" }, cancel, confirm));
  document.body.append(dialog);
  cancel.addEventListener("click", () => dialog.close());
  confirm.addEventListener("click", () => {
    dialog.close();
    button.dataset.confirmed = "";
    button.form.requestSubmit(button);
  });
  dialog.addEventListener("close", () => { dialog.remove(); button.focus(); });
  dialog.showModal();
  cancel.focus();
}

// A form is sent once: its buttons are disabled until the next page loads, and the pressed one shows
// data-busy. A form with data-stay leads to a download or another window; no event reports the end of
// these, so its buttons are enabled again after a while.

const awhile = 5_000;
const resting = new Map(); // sent forms, with the function that enables their buttons

function rest(form, pressed) {
  const buttons = [...form.elements].filter((e) => e.type === "submit" && !e.disabled);
  const content = [...pressed?.childNodes ?? []];
  const focused = document.activeElement;
  for (const button of buttons) button.disabled = true;
  if (pressed) {
    pressed.setAttribute("aria-busy", "true");
    pressed.textContent = pressed.dataset.busy ?? "Working…";
    announce(pressed.textContent);
  }
  resting.set(form, () => {
    for (const button of buttons) button.disabled = false;
    if (!pressed) return;
    pressed.removeAttribute("aria-busy");
    pressed.replaceChildren(...content);
    delete pressed.dataset.confirmed; // the next press asks again
    announce("");
    if (focused === pressed && document.activeElement === document.body) pressed.focus({ preventScroll: true });
  });
}

function wake(form) {
  resting.get(form)?.();
  resting.delete(form);
  delete form.dataset.sent;
}

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented) return;
  if (submitter?.dataset.confirm && !("confirmed" in submitter.dataset)) {
    event.preventDefault();
    ask(submitter);
    return;
  }
  if (form.method === "get") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "1";
  setTimeout(() => rest(form, submitter)); // after the browser has read the form with the pressed button
  if (form.hasAttribute("data-stay")) setTimeout(() => wake(form), awhile);
});

addEventListener("pageshow", (event) => { // the reader went back to a cached page
  if (!event.persisted) return;
  all("form[data-sent]").forEach(wake);
  reopen();
});

// An open confirmation closes with Escape or a click elsewhere.

const shut = (details, focus) => {
  details.open = false;
  if (focus) details.querySelector("summary").focus();
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") all("details.confirm[open]").forEach((d) => shut(d, d.contains(document.activeElement)));
});
document.addEventListener("click", (event) => {
  all("details.confirm[open]").forEach((d) => { if (!d.contains(event.target)) shut(d, false); });
  if (event.target.closest?.("[data-print]")) print();
  if (event.target.closest?.("[data-close]")) shut(event.target.closest("details"), true);
});

// "/" leads to the search field, unless the reader is typing.

document.addEventListener("keydown", (event) => {
  const find = document.getElementById("find");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !find || !find.checkVisibility()) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable], [role=grid]")) return;
  event.preventDefault();
  find.focus();
  find.select();
});

// Forms with data-autosubmit are sent on load, or when a field with it changes.

for (const zones of all("select[data-zone]")) { // the reader's own zone
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!all("option", zones).some((option) => option.value === zone)) zones.prepend(make("option", { textContent: zone }));
  zones.value = zone;
}

all("form[data-autosubmit]").forEach((form) => form.requestSubmit());
document.addEventListener("change", (event) => {
  const { target } = event;
  if (target.matches("select[data-autosubmit], input[data-autosubmit]")) target.form.requestSubmit();

  // A checkbox with data-all="name" selects all of that name in its form or table.
  const boxes = (name) => all(`input[type=checkbox][name="${CSS.escape(name)}"]:not(:disabled)`, target.closest("form, table"));
  if (target.dataset.all) boxes(target.dataset.all).forEach((box) => { box.checked = target.checked; });
  const name = target.dataset.all ?? target.name;
  for (const head of name ? all(`[data-all="${CSS.escape(name)}"]`) : []) {
    const chosen = boxes(name).filter((box) => box.checked).length;
    head.checked = chosen > 0 && chosen === boxes(name).length;
    head.indeterminate = chosen > 0 && !head.checked;
    all(`[data-chosen="${CSS.escape(name)}"]`).forEach((e) => { e.textContent = chosen; });
  }
});

dress(document);
setInterval(() => localize(), 30_000);
