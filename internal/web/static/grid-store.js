// The rows of the Fix page: fetched page by page as one scrolls, and changed by edits that are saved at once.
//
// An edit is shown before it is saved. Edits wait in a queue, which is kept for the tab until the server has
// confirmed them: a lost connection, a reload or another page loses none. Each request has an identifier, so
// that the server makes its change once, however often it arrives.

const pageRows = 200; // rows fetched at once
const mostShown = 500; // rows that an answer returns

// hidden reports whether a text may be a Social Security number, by its shape or by the header of its column.
const hidden = (header, text) => /ssn|itin|social|soc.?sec|^ss.?n/i.test(header ?? "") || /\d{3}\D{0,3}\d{2}\D{0,3}\d{4}/.test(text ?? "");

class Refusal extends Error {
  constructor(message, status, signIn) {
    super(message);
    this.status = status;
    this.signIn = signIn;
  }
}

class Rows extends EventTarget {
  constructor(base) {
    super();
    this.base = base;
    this.unsaved = `unsaved ${base}`;
    this.view = { show: "errors" };
    this.index = []; // rows by their place in the view; holes where they are not fetched
    this.places = new Map(); // place by row number
    this.asked = new Map(); // pages that are fetched, or on their way
    this.total = 0;
    this.version = 0;
    this.generation = 0;
    this.columns = [];
    this.counts = {};
    this.groups = [];
    this.typed = new Map(); // texts that are not confirmed, by cell
    this.conflicts = new Map();
    this.queue = this.restore();
    this.visible = () => [0, 0];
    addEventListener("pagehide", () => this.leave());
    addEventListener("beforeunload", (event) => { if (this.queue.length) event.preventDefault(); });
  }

  emit(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  // Requests

  async ask(path, body) {
    const options = { headers: { Accept: "application/json" } };
    if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body), headers: { ...options.headers, "Content-Type": "application/json" } });
    const response = await fetch(this.base + path, options);
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) {
      if (response.status >= 500 || response.status === 429) throw new TypeError(`status ${response.status}`);
      throw new Refusal(answer.text ? `${answer.title}. ${answer.text}` : `The server refused the request (status ${response.status}).`, response.status, answer.signIn);
    }
    return answer;
  }

  page(view, from) {
    const query = new URLSearchParams({ show: view.show ?? "all", from, limit: pageRows });
    for (const name of ["group", "column", "q", "sort", "dir"]) if (view[name] || view[name] === 0) query.set(name, view[name]);
    return this.ask(`/rows?${query}`);
  }

  // Reading

  // open shows another view from its beginning.
  async open(view) {
    const generation = ++this.generation;
    const answer = await this.page(view, 0);
    if (generation !== this.generation) return false;
    this.view = view;
    this.reset();
    this.place(answer);
    this.emit("reset", { opened: true });
    return true;
  }

  // reload fetches what is visible again, and forgets the rest.
  async reload() {
    const generation = ++this.generation;
    let [first, last] = this.visible();
    for (;;) {
      const wanted = [];
      for (let n = Math.floor(first / pageRows); n <= Math.floor(last / pageRows); n++) wanted.push(n);
      const answers = await Promise.all(wanted.map((n) => this.page(this.view, n * pageRows)));
      if (generation !== this.generation) return;
      if (this.editing?.()) { // begun while the answer was on its way: it would be closed
        this.refresh();
        return;
      }
      const { total } = answers[0];
      if (first > 0 && first >= total) { // the view has become shorter than its place
        last = Math.max(0, total - 1);
        first = Math.max(0, last - 50);
        continue;
      }
      this.reset();
      for (const answer of answers) this.place(answer);
      this.emit("reset", {});
      return;
    }
  }

  reset() {
    this.index = [];
    this.places.clear();
    this.asked.clear();
  }

  place(answer) {
    this.asked.set(Math.floor(answer.from / pageRows), Promise.resolve());
    this.total = answer.total;
    if (this.changesColumns(answer)) {
      this.columns = answer.columns;
      this.emit("columns");
    }
    answer.rows.forEach((row, i) => {
      this.index[answer.from + i] = row;
      this.places.set(row.row, answer.from + i);
    });
    this.accept(answer);
  }

  changesColumns(answer) { return JSON.stringify(answer.columns) !== JSON.stringify(this.columns); }

  // accept stores the parts of an answer that are of the whole spreadsheet.
  accept(answer) {
    this.version = Math.max(this.version, answer.version);
    for (const part of ["counts", "groups", "state", "cost"]) this[part] = answer[part];
    this.emit("summary");
  }

  // need fetches the pages of some places that are not there yet.
  need(first, last) {
    const waits = [];
    const generation = this.generation;
    for (let n = Math.floor(Math.max(0, first) / pageRows); n <= Math.floor(Math.min(last, this.total - 1) / pageRows); n++) {
      if (!this.asked.has(n)) {
        this.asked.set(n, this.page(this.view, n * pageRows).then((answer) => {
          if (generation !== this.generation) return;
          if (this.editing?.() && this.changesColumns(answer)) { // other columns would close the editor
            this.asked.delete(n);
            this.refresh();
            return;
          }
          this.place(answer);
          this.emit("rows", answer.rows.map((row) => row.row));
        }).catch((error) => {
          if (generation === this.generation) this.asked.delete(n);
          this.failed(error);
        }));
      }
      waits.push(this.asked.get(n));
    }
    return Promise.all(waits);
  }

  failed(error) {
    this.emit("status", { kind: "bad", text: error instanceof Refusal ? error.message : "The connection was lost. Scroll or edit to try again.", signIn: error.signIn });
  }

  // Cells

  key(row, column, header) { return column < 0 ? `${row} ${header}` : `${row} ${column}`; }

  text(row, column) {
    return this.typed.get(this.key(row.row, column))?.text ?? row.cells[column] ?? "";
  }

  saving(row, column) { return this.typed.has(this.key(row.row, column)); }

  // Writing

  // put changes cells: [{row, column, header, text}], row being the row's number.
  put(cells) {
    const changed = [];
    for (const cell of cells) {
      const row = this.index[this.places.get(cell.row)];
      const key = this.key(cell.row, cell.column, cell.header);
      const column = this.columns.find((c) => c.index === cell.column);
      const secret = column?.secret;
      const header = cell.header ?? (column?.added ? column.header : undefined);
      // What a secret cell holds is not known here.
      const was = secret ? undefined : cell.was ?? this.typed.get(key)?.text ?? (cell.column < 0 ? "" : row?.cells[cell.column]) ?? "";
      if (was === cell.text && !secret) continue;
      changed.push({ row: cell.row, column: cell.column, header, text: cell.text, was, secret });
    }
    if (!changed.length) return Promise.resolve(null);
    const last = this.queue.at(-1);
    let job = last;
    if (!last?.cells || last.sent || last.cells.length + changed.length > 4000) {
      job = this.job({ cells: [] });
    }
    for (const cell of changed) {
      const key = this.key(cell.row, cell.column, cell.header);
      const before = job.cells.find((c) => this.key(c.row, c.column, c.header) === key);
      if (before) before.text = cell.text;
      else job.cells.push(cell);
      this.typed.set(key, { text: cell.secret ? "•••" : cell.text, job });
      this.conflicts.delete(key);
    }
    this.emit("rows", changed.map((cell) => cell.row));
    this.keep();
    this.pump();
    return job.done;
  }

  exclude(rows, out) { return this.send(out ? { exclude: rows } : { include: rows }); }
  bulk(bulk) { return this.send({ bulk }); }
  undo(change = 0) { return this.send({ undo: change }); }
  preview(bulk) { return this.ask("/changes", { bulk, preview: true }); }

  send(what) {
    const job = this.job(what);
    this.keep();
    this.pump();
    return job.done;
  }

  job(what) {
    const job = { id: this.identifier(), ...what };
    job.done = new Promise((resolve, reject) => Object.assign(job, { resolve, reject }));
    job.done.catch(() => {}); // the status shows the failure
    this.queue.push(job);
    return job;
  }

  identifier() { return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join(""); }

  body(job) {
    const { id, cells, exclude, include, bulk, undo } = job;
    const [first, last] = this.visible();
    const near = [...this.places].filter(([, at]) => at >= first - 100 && at <= last + 100).map(([row]) => row);
    const shown = [...new Set([...(cells ?? []).map((cell) => cell.row), ...near])].slice(0, mostShown);
    return {
      id, exclude, include, bulk, undo, shown,
      // An added column is named by its header: its index changes with the others.
      cells: cells?.map(({ row, column, header, text, was }) => ({ row, column: header ? -1 : column, header, text, was })),
    };
  }

  async pump() {
    if (this.pumping) return;
    this.pumping = true;
    await null; // edits of one action are one request
    let tries = 0;
    while (this.queue.length) {
      const [job] = this.queue;
      job.sent = true;
      if (!tries) this.emit("status", { kind: "busy", text: "Saving…" });
      let answer;
      try {
        answer = await this.ask("/changes", this.body(job));
      } catch (error) {
        if (!(error instanceof Refusal) || error.signIn) {
          tries++;
          const seconds = Math.min(2 ** (tries - 1), 15);
          this.emit("status", error.signIn
            ? { kind: "bad", text: "Not saved: you are signed out.", signIn: error.signIn }
            : { kind: "bad", text: `Not saved: no connection. Trying again ${seconds > 1 ? `in ${seconds} seconds` : "now"}…` });
          await new Promise((resolve) => { this.hurry = resolve; setTimeout(resolve, seconds * 1000); });
          continue;
        }
        this.dequeue(job);
        this.problem = error.message;
        job.reject(error);
        this.emit("refused", error.message);
        continue;
      }
      tries = 0;
      this.problem = "";
      this.dequeue(job);
      this.finish(job, answer);
      job.resolve(answer);
    }
    this.pumping = false;
    this.emit("status", this.problem ? { kind: "bad", text: `Not saved: ${this.problem}` } : { kind: "ok", text: "All changes saved" });
    this.emit("idle");
  }

  // dequeue removes a job that is answered.
  dequeue(job) {
    this.queue.shift();
    for (const [key, typed] of this.typed) if (typed.job === job) this.typed.delete(key);
    this.keep();
  }

  finish(job, answer) {
    const touched = (job.cells ?? []).map((cell) => cell.row);
    for (const row of answer.rows) {
      const at = this.places.get(row.row);
      if (at !== undefined) this.index[at] = row;
      touched.push(row.row);
    }
    for (const conflict of answer.conflicts.filter((c) => !c.review)) {
      const key = this.key(conflict.row, conflict.column, conflict.header);
      this.conflicts.set(key, conflict);
      const row = this.index[this.places.get(conflict.row)];
      if (row && conflict.column >= 0) row.cells[conflict.column] = conflict.theirs;
    }
    this.accept(answer);
    this.emit("rows", touched);
    if (answer.conflicts.length) this.emit("conflicts", answer.conflicts);
    // An undo of visible rows changes them in place; other changes may have moved rows.
    const inPlace = job.undo !== undefined && answer.changed <= answer.rows.length;
    if (!job.cells && !inPlace) this.reload().catch((error) => this.failed(error));
  }

  // flushed waits until everything is saved.
  flushed() {
    if (!this.queue.length) return Promise.resolve();
    this.hurry?.();
    return new Promise((resolve) => this.addEventListener("idle", resolve, { once: true }));
  }

  // What is not saved is kept for the tab; Social Security numbers are not.

  keep() {
    try {
      const kept = this.queue.map(({ id, cells, exclude, include, bulk, undo }) => (
        { id, exclude, include, bulk, undo, cells: cells?.filter((cell) => !cell.secret && !hidden(cell.header, cell.text)) }))
        .filter(({ bulk }) => !bulk || !this.secretBulk(bulk));
      if (kept.length) sessionStorage.setItem(this.unsaved, JSON.stringify(kept));
      else sessionStorage.removeItem(this.unsaved);
    } catch { /* no storage: the page asks before it is left */ }
  }

  secretBulk(bulk) {
    const column = this.columns.find((c) => c.index === bulk.column);
    return column?.secret || [bulk.text, bulk.find, bulk.replace].some((text) => hidden(column?.header ?? bulk.header, text));
  }

  restore() {
    let kept = [];
    try {
      kept = JSON.parse(sessionStorage.getItem(this.unsaved) ?? "[]");
    } catch { /* no storage */ }
    this.queue = [];
    for (const { id, ...what } of kept) {
      const job = this.job(what);
      job.id = id;
      for (const cell of job.cells ?? []) this.typed.set(this.key(cell.row, cell.column, cell.header), { text: cell.text, job });
    }
    return this.queue;
  }

  // leave sends what is not on its way yet while the page closes. The identifier keeps it from being done twice.
  leave() {
    for (const job of this.queue) {
      if (job.sent && !this.hurry) continue;
      const body = JSON.stringify(this.body(job));
      if (body.length > 60_000) return;
      fetch(`${this.base}/changes`, { method: "POST", body, keepalive: true, headers: { "Content-Type": "application/json" } }).catch(() => {});
    }
  }

  // Changes of other people, and what the server finds meanwhile

  // listen polls: often while the server works, rarely otherwise.
  listen() {
    if (this.polling) return;
    this.polling = setTimeout(async () => {
      try {
        const known = this.version;
        const answer = await this.ask("/rows?limit=1");
        const { version, learned } = answer;
        if (version > known) this.refresh(version);
        else if (version === this.version && !this.queue.length) {
          this.accept(answer);
          if (learned !== this.learned) this.refresh();
        }
        this.learned = learned;
      } catch (error) {
        if (error instanceof Refusal) this.failed(error); // otherwise the next request may succeed
      }
      if (!this.polling) return;
      this.polling = 0;
      this.listen();
    }, this.state?.busy ? 1000 : 5000);
  }

  stopListening() {
    clearTimeout(this.polling);
    this.polling = 0;
  }

  // refresh reloads soon: several changes are one reload. Unsaved edits go first, and an open editor is left
  // alone. A version that an own edit has made is here already.
  refresh(version = Infinity) {
    clearTimeout(this.soon);
    this.soon = setTimeout(async () => {
      await this.flushed();
      if (this.editing?.()) this.refresh(version);
      else if (version > this.version) this.reload().catch((error) => this.failed(error));
    }, 250);
  }
}
