// The Fix page: errors by group, and the spreadsheet as a table whose cells can be edited.

{
  const root = document.getElementById("fix");
  if (root) new Fix(root);
}

function Fix(root) {
  const asked = new URLSearchParams(location.search);
  const rows = new Rows(root.dataset.grid);
  const small = matchMedia("(max-width: 44rem)").matches; // a phone
  const editable = "edit" in root.dataset;
  const $ = (name) => root.querySelector(`[data-part="${name}"]`);
  const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const letter = (index) => (index >= 26 ? letter(Math.floor(index / 26) - 1) : "") + String.fromCharCode(65 + (index % 26));
  const cellName = (row, column) => letter(column) + row;
  const button = (text, act, properties = {}) => {
    const b = make("button", { type: "button", textContent: text, ...properties });
    b.addEventListener("click", act);
    return b;
  };
  const stored = (name, value) => {
    try {
      const key = `${name} ${rows.base}`;
      if (value !== undefined) sessionStorage.setItem(key, JSON.stringify(value));
      return JSON.parse(sessionStorage.getItem(key));
    } catch {
      return null;
    }
  };
  let table; // the SlickGrid; none while the first rows are on their way
  let active; // the number of the row of the active cell

  // Status

  function status({ kind, text, signIn }) {
    const element = $("status");
    element.className = `saved ${kind}`;
    element.replaceChildren(text);
    if (signIn) element.append(" ", make("a", { href: signIn, textContent: "Sign in" }));
    if (kind === "bad") announce(text);
  }
  rows.addEventListener("status", (event) => status(event.detail));
  rows.addEventListener("refused", (event) => { notice(event.detail, "bad"); });

  // Notices stand above the groups: what was changed, with its Undo.

  function notice(text, kind = "ok", change = null) {
    const item = make("div", { className: `fix-notice ${kind}` }, make("p", { textContent: text }));
    if (change) {
      const undo = button("Undo", () => {
        undo.disabled = true;
        rows.undo(change).then((answer) => {
          item.remove();
          notice(`Undone: ${plural(answer.changed ?? 0, "cell")} changed back.`);
        }, () => { undo.disabled = false; });
      }, { className: "small" });
      item.append(undo);
    }
    $("notices").prepend(item);
    all(".fix-notice", $("notices")).slice(3).forEach((old) => old.remove());
    announce(text);
    return item;
  }

  // Tabs

  const tabs = all("[data-show]", root);
  tabs.forEach((tab) => tab.addEventListener("click", async () => {
    if (await show({ ...rows.view, show: tab.dataset.show, group: "" })) showFirstProblem();
  }));

  async function show(view) {
    table?.commit(); // another view closes the editor
    try {
      if (await rows.open(view)) {
        announce(`${plural(rows.total, "row")}.`);
        return true;
      }
    } catch (error) {
      rows.failed(error);
    }
    return false;
  }

  function summary() {
    const { counts, state, cost } = rows;
    for (const tab of tabs) {
      const n = counts[tab.dataset.show] ?? 0;
      tab.querySelector(".n").textContent = n.toLocaleString("en");
      tab.setAttribute("aria-pressed", String(!rows.view.group && rows.view.show === tab.dataset.show));
      if (tab.dataset.show === "bought") tab.hidden = n === 0;
    }
    $("count").textContent = plural(counts.all, "row");
    const { ready } = counts; // those with warnings too
    if (cost) {
      const known = cost.text && !state?.busy; // the names are compared
      $("cost").replaceChildren(...(known && cost.rows ? [`${plural(cost.rows, "order")}: `, make("b", { textContent: cost.text })] : []));
    }
    const onward = $("onward");
    if (onward) {
      const right = !counts.errors && ready > 0;
      onward.textContent = right ? "Continue to approval" : `Continue with ${plural(ready, "ready row")}`;
      onward.classList.toggle("primary", right);
      onward.hidden = ready === 0;
    }
    const progress = $("progress");
    progress.hidden = !state?.busy && !state?.problem;
    if ($("again")) {
      $("again").hidden = !state.problem;
      $("again").elements.version.value = rows.version;
    }
    if (state?.problem) progress.replaceChildren(make("span", { className: "why", textContent: state.problem }));
    else if (state?.busy) {
      const bar = make("progress", state.total ? { max: state.total, value: state.done } : {});
      bar.setAttribute("aria-label", state.stage);
      progress.replaceChildren(`${state.stage}${state.total ? ` ${state.done.toLocaleString("en")} of ${state.total.toLocaleString("en")}` : "…"} `, bar);
    }
    groups();
  }
  rows.addEventListener("summary", summary);

  // A link away waits until everything is saved.
  root.addEventListener("click", async (event) => {
    const link = event.target.closest("a[href]:not([download])");
    if (!link) return;
    table?.commit();
    if (!rows.queue.length) return;
    event.preventDefault();
    await rows.flushed();
    location.assign(link.href);
  });

  // Fix by group

  const previews = new Map();

  // outcome says what a previewed change would do.
  function outcome({ changed, sample = [], errorsBefore = 0, counts: { errors } }) {
    if (!changed) return "No cell would change.";
    const some = sample.slice(0, 3).map((c) => `${c.cell} ${c.from || "(empty)"} → ${c.to || "(empty)"}`).join(", ");
    return `${plural(changed, "cell")}: ${some}${changed > 3 ? ", …" : ""}`
      + (errors === errorsBefore ? "" : ` Errors ${errorsBefore.toLocaleString("en")} → ${errors.toLocaleString("en")}.`);
  }

  // examples says what a fix would change, by asking the server once.
  async function examples(group, fix, into) {
    const key = `${group.key} ${fix} ${group.rows}`;
    if (!previews.has(key)) previews.set(key, rows.preview({ op: "group", group: group.key, fix }));
    try {
      into.textContent = outcome(await previews.get(key));
    } catch {
      previews.delete(key);
    }
  }

  // applyFix corrects a group. Of a group of names it confirms those that were reviewed.
  async function applyFix(group, fix, names = null) {
    const answer = await rows.bulk({ op: "group", group: group.key, fix, names }).catch(() => null);
    if (!answer || names && !answer.changed) return; // the conflicts say why
    const item = notice(`${answer.label || "Nothing was changed"}.`, "ok", answer.change);
    if (document.activeElement === document.body || $("groups").contains(document.activeElement)) {
      ($("groups").querySelector("button.fix-button") ?? item.querySelector("button") ?? $("groups")).focus();
    }
  }

  function groups() {
    const list = $("groups");
    const seen = JSON.stringify([rows.groups, rows.view.group]);
    if (list.dataset.seen === seen) return;
    list.dataset.seen = seen;
    const focus = list.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    list.replaceChildren(...rows.groups.map((group) => {
      const name = button(group.label, async () => {
        if (await show({ ...rows.view, show: "all", group: group.key }) && table) toProblem(0);
      }, { className: "fix-group-name", title: "Show these rows" });
      name.dataset.focus = `${group.key} name`;
      name.setAttribute("aria-pressed", String(rows.view.group === group.key));
      const item = make("li", { className: group.severity === "warning" ? "only-warning" : "" },
        make("div", { className: "fix-group-head" }, name, make("span", { className: "n", textContent: plural(group.rows, "row") })));
      if (group.message) item.append(make("p", { textContent: group.message }));
      const actions = make("div", { className: "actions" });
      const hint = make("p", { className: "fix-examples" });
      if (editable && group.kind === "name") {
        const one = button("Review one by one", () => reviewNames(group), { className: "small fix-button" });
        const together = button(`Confirm all ${group.rows.toLocaleString("en")}…`, () => confirmNames(group), { className: "small" });
        one.dataset.focus = `${group.key} one`;
        together.dataset.focus = `${group.key} all`;
        actions.append(one, together);
      } else if (editable) {
        group.fixes?.forEach((fix, i) => {
          const b = button(fix.label, () => applyFix(group, i), { className: "small fix-button" });
          b.dataset.focus = `${group.key} ${i}`;
          b.title = `Changes ${plural(group.rows, "row")}; can be undone`;
          actions.append(b);
          if (fix.leaveOut || fix.fileAnyway) return;
          b.addEventListener("mouseenter", () => examples(group, i, hint));
          b.addEventListener("focus", () => examples(group, i, hint));
          if (fix.each && i === 0) examples(group, i, hint);
          else if (i === 0 && group.kind === "value") hint.textContent = `“${group.value}” → “${fix.text}” in ${plural(group.rows, "row")}`;
        });
        if (group.kind === "value" && group.column >= 0) {
          const other = button("Other…", () => replaceDialog({ column: group.column, find: group.value, whole: true }), { className: "small quiet" });
          other.dataset.focus = `${group.key} other`;
          actions.append(other);
        }
      }
      if (actions.childElementCount) item.append(actions);
      item.append(hint);
      return item;
    }));
    $("no-groups").hidden = rows.groups.length > 0;
    if (focus) (all("[data-focus]", list).find((e) => e.dataset.focus === focus) ?? list).focus();
  }

  // The names of companies at the filing service

  let reviewing = null; // the group whose rows are confirmed one by one

  async function reviewNames(group) {
    reviewing = group.key;
    if (await show({ ...rows.view, show: "all", group: group.key })) toProblem(0);
  }

  // confirmNames lists the names that differ, and confirms exactly these after a review.
  async function confirmNames(group) {
    const list = [];
    try {
      for (let answer; !answer || (answer.rows.length && list.length < answer.total);) {
        answer = await rows.page({ show: "all", group: group.key }, list.length);
        list.push(...answer.rows);
      }
    } catch (error) {
      rows.failed(error);
      return;
    }
    const body = make("tbody", {}, ...list.map((row) => make("tr", {},
      make("th", { scope: "row", className: "num", textContent: row.row }), make("td", { textContent: row.name }), make("td", { textContent: row.serviceName }))));
    const head = make("tr", {}, ...["Row", "In your spreadsheet", "At the filing service"].map((text) => make("th", { scope: "col", textContent: text })));
    const reviewed = make("input", { type: "checkbox" });
    const submit = button(`Confirm all ${plural(list.length, "name")}`, async () => {
      dialog.close();
      await applyFix(group, 0, list.map(({ row, company, name, serviceName }) => ({ row, company, name, serviceName })));
    }, { className: "primary", disabled: true });
    reviewed.addEventListener("change", () => { submit.disabled = !reviewed.checked; });
    const scroll = make("div", { className: "scroll fix-names", tabIndex: 0 }, make("table", {}, make("thead", {}, head), body));
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Names that differ");
    const dialog = open("Names that differ at the filing service", [
      make("p", { textContent: "If a name is another company, the Company ID in the row is wrong. Cancel and correct it." }),
      scroll,
      make("label", { className: "check" }, reviewed, make("span", { textContent: `I reviewed ${list.length === 1 ? "this name" : `all ${list.length.toLocaleString("en")} names`}` })),
    ], [submit]);
  }

  // Dialogs

  function open(title, content, actions) {
    const heading = make("h2", { id: "fix-dialog-title", textContent: title });
    const dialog = make("dialog", { className: "fix-dialog" });
    const before = document.activeElement;
    const cancel = button("Cancel", () => dialog.close());
    const form = make("form", { method: "dialog" }, heading, ...content, make("div", { className: "actions" }, ...actions, cancel));
    actions[0].type = "submit"; // Enter presses it
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
    });
    dialog.setAttribute("aria-labelledby", heading.id);
    dialog.append(form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (before?.isConnected && before !== document.body) before.focus();
      else table?.setFocus();
    });
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
  }

  const field = (label, input) => make("div", { className: "field" }, make("label", { htmlFor: input.id, textContent: label }), input);
  const columnChoice = (chosen) => {
    const select = make("select", { id: "fix-column" });
    select.append(...rows.columns.filter((c) => !c.secret).map((c) => make("option", { value: c.index, textContent: c.header || `Column ${letter(c.index)}`, selected: c.index === chosen })));
    return select;
  };
  const chosenColumn = (select) => {
    const { added, index, header } = rows.columns.find((c) => c.index === Number(select.value));
    return added ? { column: -1, header } : { column: index };
  };
  const activeColumn = () => {
    const at = table?.getActiveCell();
    return at ? table.getColumns()[at.cell].index : undefined;
  };

  // showPreview shows what a dialog would change while it is filled in.
  function showPreview(dialog, bulk, submit, word) {
    const found = make("p", { className: "fix-found" });
    found.setAttribute("role", "status");
    let last = 0;
    const look = async () => {
      const now = ++last;
      const what = bulk();
      submit.disabled = true;
      if (!what) {
        found.textContent = "";
        return;
      }
      const answer = await rows.preview(what).catch((error) => ({ error }));
      if (now !== last) return;
      if (answer.error) {
        found.textContent = answer.error.message;
        return;
      }
      found.textContent = outcome(answer);
      submit.disabled = !answer.changed;
      submit.textContent = answer.changed ? `${word} ${plural(answer.changed, "cell")}` : word;
    };
    let wait;
    dialog.addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(look, 150);
    });
    look();
    return found;
  }

  function change(dialog, bulk) {
    const what = bulk();
    dialog.close();
    rows.bulk(what).then((answer) => notice(`${plural(answer.changed ?? 0, "cell")} changed.`, "ok", answer.change), () => {});
  }

  function replaceDialog({ column = activeColumn(), find, whole = false } = {}) {
    const at = table?.getActiveCell();
    const row = at && table.getDataItem(at.row);
    const select = columnChoice(column);
    const present = row && Number.isInteger(column) && column >= 0 ? rows.text(row, column) : "";
    const from = make("input", { id: "fix-find", value: find ?? present, autocomplete: "off" });
    const to = make("input", { id: "fix-replace", autocomplete: "off" });
    const entire = make("input", { type: "checkbox", checked: whole });
    const bulk = () => (from.value === "" ? null : {
      op: "replace", ...chosenColumn(select), find: from.value, replace: to.value, whole: entire.checked,
    });
    const submit = button("Replace", () => change(dialog, bulk), { className: "primary" });
    const content = make("div", { className: "fix-fields" }, field("Column", select), field("Find", from), field("Replace with", to),
      make("label", { className: "check" }, entire, make("span", { textContent: "Whole cell" })));
    const dialog = open("Find and replace", [content], [submit]);
    content.append(showPreview(dialog, bulk, submit, "Replace in"));
    (find === undefined ? from : to).focus();
  }

  function setDialog() {
    const select = columnChoice(activeColumn());
    const value = make("input", { id: "fix-value", autocomplete: "off" });
    const scope = make("select", { id: "fix-scope" });
    const selected = selectedRows();
    const views = [["errors", "Rows with errors"], ["all", "All rows"]];
    scope.append(...(selected.length > 1 ? [make("option", { value: "selected", textContent: `${plural(selected.length, "selected row")}` })] : []),
      ...views.map(([name, text]) => make("option", { value: name, textContent: `${text} (${(rows.counts[name] ?? 0).toLocaleString("en")})` })));
    const bulk = () => ({
      op: "set", ...chosenColumn(select), text: value.value, show: scope.value === "selected" ? "all" : scope.value, rows: scope.value === "selected" ? selected : null,
    });
    const submit = button("Set", () => change(dialog, bulk), { className: "primary" });
    const content = make("div", { className: "fix-fields" }, field("Column", select), field("Value", value), field("Rows", scope));
    const dialog = open("Set a column", [content], [submit]);
    content.append(showPreview(dialog, bulk, submit, "Set"));
    value.focus();
  }

  // The table

  const nameColumn = () => rows.columns.find((c) => /^legal name$/i.test(c.label ?? "")) ?? null;

  function problemsOf(row, column) {
    return (row.problems ?? []).filter((p) => p.column === column);
  }

  function format(row, column) {
    const problems = problemsOf(row, column);
    const classes = [];
    const conflict = rows.conflicts.get(rows.key(row.row, column));
    if (conflict) classes.push("cell-conflict");
    else if (problems.some((p) => p.severity !== "warning")) classes.push("cell-error");
    else if (problems.length) classes.push("cell-warning");
    if (rows.saving(row, column)) classes.push("cell-saving");
    const secret = row.cells[column]?.secret;
    return {
      text: secret ? "hidden" : rows.text(row, column),
      addClasses: `${classes.join(" ")}${secret ? " cell-secret" : ""}`,
      toolTip: problems.map((p) => p.message).join("\n"),
    };
  }

  const results = { invalid: "Error", ready: "Ready", skipped: "Skipped", exists: "Ordered before" };

  // longest is the length of the longest text of a column in the rows that are there.
  const longest = (column) => rows.index.slice(0, pageRows).reduce((most, row) => Math.max(most, String(row.cells[column] ?? "").length), 0);

  const marked = (problems) => (problems.some((p) => p.severity !== "warning") ? " cell-error" : problems.length ? " cell-warning" : "");

  const nameWidth = small ? 112 : 200;

  function tableColumns() {
    const name = nameColumn();
    const sheet = rows.columns.map((c) => {
      const width = Math.min(220, Math.max(56, 9 * (c.header || "").length + 26, 8.5 * longest(c.index) + 22));
      return {
        id: `c${c.index}`, index: c.index, name: c.header || `Column ${letter(c.index)}`, label: c.header || `Column ${letter(c.index)}`,
        toolTip: c.ours ? `${c.label}${c.required ? ", required" : ""}` : "Not used",
        field: c.index, width: c === name ? nameWidth : width, minWidth: 50, sortable: true, secret: c.secret, rerenderOnResize: false,
        cssClass: c.ours ? "" : "cell-unused",
        choices: c.choices?.length ? choices(c) : null,
        text: (row) => (c.secret ? "" : rows.text(row, c.index)),
        editor: CellEditor,
        formatter: (_r, _c, _v, _column, row) => format(row, c.index),
      };
    });
    const number = {
      id: "row", index: "row", name: "Row", label: "Row", field: "row", width: small ? 48 : 62, resizable: false, sortable: true, cssClass: "cell-number",
      formatter: (_r, _c, _v, _column, row) => ({
        text: String(row.row),
        addClasses: `result-${row.result}${row.excluded ? " excluded" : ""}${marked(problemsOf(row, -1))}`,
        toolTip: results[row.result] ?? row.result,
      }),
    };
    const company = name ? sheet.find((c) => c.index === name.index) : {
      id: "name", index: "name", name: "Company", label: "Company", field: "name", width: nameWidth, cssClass: "cell-fixed",
      formatter: (_r, _c, _v, _column, row) => ({ text: row.name ?? "" }),
    };
    const service = {
      id: "service", index: "service", name: "Name at service", label: "Name at service", field: "serviceName", width: 170, cssClass: "cell-fixed",
      formatter: (_r, _c, _v, _column, row) => {
        if (!row.serviceName) return { text: "" };
        const same = row.name && !row.nameDiffers; // a blank name was not compared
        return { text: `${same ? "✓ " : "⚠ "}${row.serviceName}`, addClasses: same ? "cell-same" : "cell-warning" };
      },
    };
    const rest = sheet.filter((c) => c !== company);
    const columns = [number, company, service, ...rest];
    columns.forEach((c, i) => { c.cellAttrs = { "aria-colindex": i + 1 }; });
    return columns;
  }

  // choices makes the list of values that a column offers while typing.
  function choices(column) {
    const id = `fix-choices-${column.index}`;
    document.getElementById(id)?.remove();
    root.append(make("datalist", { id }, ...column.choices.map((value) => make("option", { value }))));
    return id;
  }

  function setColumns() {
    table.keepFocus(() => {
      table.setColumns(tableColumns());
      table.getContainerNode().setAttribute("aria-colcount", table.getColumns().length);
    });
  }

  let touched = false; // the table was pressed with a finger last

  function makeTable() {
    const container = $("table");
    const data = { getLength: () => rows.total, getItem: (i) => rows.index[i], getItemMetadata: (i) => rowStyle(rows.index[i]) };
    table = new Table(container, data, tableColumns(), {
      rowHeight: small ? 40 : 32, frozenColumn: 1, editable, autoEdit: false, autoCommitEdit: true, enableAddRow: false, enableColumnReorder: false,
      enableHtmlRendering: false, enableCellNavigation: true, forceSyncScrolling: false, mixinDefaults: false,
      editCommandHandler: (row, column, command) => rows.put([{ row: row.row, column: column.index, text: command.serializedValue }]),
    });
    table.setSelectionModel(new Slick.CellSelectionModel({}));
    container.setAttribute("aria-label", root.dataset.label);
    container.setAttribute("aria-rowcount", rows.total + 1);
    container.setAttribute("aria-describedby", "fix-keys");
    container.setAttribute("aria-multiselectable", "true");
    rows.editing = () => Boolean(table.getCellEditor());
    rows.visible = () => {
      const { top, bottom } = table.getViewport();
      return [Math.max(0, top), Math.max(0, Math.min(bottom, rows.total - 1))];
    };
    table.onViewportChanged.subscribe(() => {
      const [first, last] = rows.visible();
      clearTimeout(makeTable.wait);
      makeTable.wait = setTimeout(() => rows.need(first - 50, last + 50), 60);
      table.tabStops();
    });
    table.onActiveCellChanged.subscribe(() => {
      if (table.focused() && !table.getCellEditor()) table.setFocus();
      table.tabStops();
      message();
    });
    table.onKeyDown.subscribe((event) => keys(event));
    table.onClick.subscribe((event, { row, cell }) => {
      const native = event.getNativeEvent?.() ?? event;
      if (touched && editable && table.isCellEditable(row, cell)) {
        table.gotoCell(row, cell, true); // within the tap, so that the keyboard opens
        event.stopImmediatePropagation();
        return;
      }
      if (table.getColumns()[cell].index !== "row") return;
      const from = native.shiftKey && table.getActiveCell() ? table.getActiveCell().row : row;
      table.setActiveCell(from, 0);
      selectRows(from, row);
      table.setFocus();
      event.stopImmediatePropagation();
    });
    table.onSort.subscribe((_event, { sortCol, sortAsc, columnId }) => {
      sort(sortCol ?? table.getColumns().find((c) => c.id === columnId), sortAsc);
    });
    table.onHeaderCellRendered.subscribe((_event, { node }) => node.setAttribute("role", "columnheader"));
    new ResizeObserver(() => requestAnimationFrame(() => {
      table.resizeCanvas();
      if (table.getCellEditor()) table.scrollRowIntoView(table.getActiveCell().row, false);
    })).observe(container);
    container.addEventListener("pointerdown", (event) => {
      touched = event.pointerType === "touch";
      if (!touched) holdMessage();
    });
    // A finger scrolls. SlickGrid would also select the cells that it passes.
    container.addEventListener("touchstart", (event) => event.stopPropagation(), { capture: true, passive: true });
    document.addEventListener("copy", (event) => copy(event, false));
    document.addEventListener("cut", (event) => copy(event, true));
    document.addEventListener("paste", paste);
    table.tabStops();
  }

  // holdMessage keeps the height of the message for as long as a click may become a double click: a taller
  // message would slide over the row that is clicked.
  function holdMessage() {
    root.style.setProperty("--fix-message", `${$("message").offsetHeight}px`);
    clearTimeout(holdMessage.end);
    holdMessage.end = setTimeout(() => root.style.removeProperty("--fix-message"), 600);
  }

  function rowStyle(row) {
    if (!row) return null;
    return row.excluded || row.result === "skipped" ? { cssClasses: "row-skipped" } : null;
  }

  function sort(column, ascending) {
    table.setSortColumn(column.id, ascending);
    for (const header of all(".slick-header-column", table.getContainerNode())) header.removeAttribute("aria-sort");
    all(".slick-header-column", table.getContainerNode()).find((h) => h.id === table.getUID() + column.id)
      ?.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const by = { row: "row", name: "name", service: "service" }[column.index] ?? column.index;
    show({ ...rows.view, sort: by, dir: ascending ? "asc" : "desc" });
  }

  function ranges() {
    const at = table.getActiveCell();
    const chosen = table.getSelectionModel().getSelectedRanges();
    if (chosen.length) return chosen;
    return at ? [new Slick.Range(at.row, at.cell)] : [];
  }

  function selectRows(from, to) {
    table.getSelectionModel().setSelectedRanges([new Slick.Range(Math.min(from, to), 0, Math.max(from, to), table.getColumns().length - 1)]);
  }

  function selectedRows() {
    if (!table) return [];
    const numbers = new Set();
    for (const range of ranges()) {
      for (let i = range.fromRow; i <= range.toRow; i++) if (rows.index[i]) numbers.add(rows.index[i].row);
    }
    return [...numbers];
  }

  // Keys that SlickGrid does not know

  function keys(event) {
    const e = event.getNativeEvent?.() ?? event;
    const stop = () => {
      e.preventDefault();
      event.stopImmediatePropagation();
    };
    if (table.getCellEditor() || e.isComposing) return;
    const control = (e.ctrlKey || e.metaKey) && !e.altKey;
    const at = table.getActiveCell();
    const can = editable && at && table.isCellEditable(at.row, at.cell);
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    switch (true) {
      case e.key === "F6":
        stop();
        leaveTable(e.shiftKey);
        return;
      case e.key === "F8":
        stop();
        nextProblem(e.shiftKey ? -1 : 1);
        return;
      case e.key === " " && e.shiftKey:
        stop();
        if (at) selectRows(at.row, at.row);
        return;
      case control && key === "f":
        stop();
        $("search").focus();
        return;
      case control && key === "h" && editable:
        stop();
        replaceDialog();
        return;
      case !editable:
        return;
      case control && key === "z" && !e.shiftKey:
        stop();
        undo();
        return;
      case control && key === "d":
        stop();
        fillDown();
        return;
      case e.key === "Delete" || e.key === "Backspace":
        stop();
        put(cellsOf(ranges(), () => ""));
        return;
      case e.key === "F2" && can:
        stop();
        table.editActiveCell();
        return;
      case e.key.length === 1 && !control && !e.altKey && can:
        // Stopping the event would make SlickGrid cancel the key, and the editor would lose its character.
        table.typedOver = true;
        table.editActiveCell();
    }
  }

  // leaveTable moves the focus behind or before the table: within it, Tab goes from cell to cell.
  function leaveTable(back) {
    const after = root.querySelector("[data-part=message] button, [data-part=message] input, [data-part=tools] button");
    const before = $("groups").querySelector("button") ?? tabs[0];
    (back ? before : after ?? before).focus();
  }

  root.addEventListener("keydown", (event) => {
    if (event.key === "F6" && !event.defaultPrevented && table) {
      event.preventDefault();
      focusTable();
    } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "h" && editable && !event.defaultPrevented) {
      event.preventDefault();
      replaceDialog();
    } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !event.shiftKey && editable && !event.target.matches("input") && !event.defaultPrevented) {
      event.preventDefault();
      undo();
    }
  });

  function focusTable() {
    if (!table.getActiveCell()) toProblem(0);
    table.setFocus();
  }

  const undo = () => rows.undo().then(announceCells("Undone"), () => {});
  const announceCells = (word) => (answer) => announce(`${word}: ${plural(answer.changed ?? 0, "cell")} changed.`);

  // cellsOf lists the editable cells of ranges with a text each; text gets the place within the range.
  function cellsOf(chosen, text) {
    const columns = table.getColumns();
    const cells = [];
    for (const range of chosen) {
      for (let r = range.fromRow; r <= range.toRow; r++) {
        for (let c = range.fromCell; c <= range.toCell; c++) {
          if (!Number.isInteger(columns[c]?.index) || !rows.index[r]) continue;
          const value = text(r - range.fromRow, c - range.fromCell, r, c);
          if (value !== undefined) cells.push({ row: rows.index[r].row, column: columns[c].index, text: value });
        }
      }
    }
    return cells;
  }

  function put(cells) {
    if (cells.length > 1) announce(`${plural(cells.length, "cell")} changed.`);
    return rows.put(cells);
  }

  async function loaded(chosen) {
    await Promise.all(chosen.map((range) => rows.need(range.fromRow, range.toRow)));
  }

  async function fillDown() {
    const chosen = ranges();
    await loaded(chosen);
    const columns = table.getColumns();
    put(chosen.flatMap((range) => {
      const source = range.fromRow === range.toRow ? range.fromRow - 1 : range.fromRow;
      const from = rows.index[source];
      if (!from) return [];
      return cellsOf([range], (_r, _c, row, cell) => (row === source || columns[cell].secret ? undefined : rows.text(from, columns[cell].index)));
    }));
  }

  function copy(event, cut) {
    if (!table.focused() || table.getCellEditor() || !getSelection().isCollapsed) return;
    const [range] = ranges();
    if (!range) return;
    event.preventDefault();
    const columns = table.getColumns();
    const text = () => {
      const block = [];
      for (let r = range.fromRow; r <= range.toRow; r++) {
        const row = rows.index[r];
        block.push(columns.slice(range.fromCell, range.toCell + 1).map((c) => {
          if (!row || c.secret) return "";
          if (Number.isInteger(c.index)) return rows.text(row, c.index);
          return String({ row: row.row, name: row.name, service: row.serviceName }[c.index] ?? "");
        }));
      }
      return formatBlock(block);
    };
    const n = (range.toRow - range.fromRow + 1) * (range.toCell - range.fromCell + 1);
    let missing = false;
    for (let r = range.fromRow; r <= range.toRow; r++) missing ||= !rows.index[r];
    if (!missing) event.clipboardData.setData("text/plain", text());
    else loaded([range]).then(() => navigator.clipboard.writeText(text()));
    announce(`${plural(n, "cell")} copied.`);
    if (cut && editable) put(cellsOf([range], () => ""));
  }

  async function paste(event) {
    if (!editable || !table.focused() || table.getCellEditor()) return;
    const text = event.clipboardData.getData("text/plain");
    const [range] = ranges();
    if (!text || !range) return;
    event.preventDefault();
    const block = parseBlock(text);
    const high = block.length;
    const wide = Math.max(...block.map((cells) => cells.length));
    const times = (size, length) => (size > length && size % length === 0 ? size : length);
    const target = new Slick.Range(range.fromRow, range.fromCell,
      Math.min(rows.total - 1, range.fromRow + times(range.toRow - range.fromRow + 1, high) - 1),
      Math.min(table.getColumns().length - 1, range.fromCell + times(range.toCell - range.fromCell + 1, wide) - 1));
    await loaded([target]);
    put(cellsOf([target], (r, c) => block[r % high][c % wide]?.trim()));
    table.getSelectionModel().setSelectedRanges([target]);
  }

  // Going to what is wrong

  // toProblem goes to the first cell with a problem from a place on.
  function toProblem(from) {
    for (let i = from; i < rows.total; i++) {
      const row = rows.index[i];
      if (!row) break;
      const cell = problemCell(row);
      if (cell >= 0) {
        table.scrollRowIntoView(i);
        table.gotoCell(i, cell, false);
        return true;
      }
    }
    if (rows.total && !table.getActiveCell()) table.gotoCell(0, 1, false);
    return false;
  }

  // showFirstProblem scrolls to the first cell with a problem, without moving the focus.
  function showFirstProblem() {
    const cell = table && rows.index[0] ? problemCell(rows.index[0]) : -1;
    if (cell < 0) return;
    table.scrollCellIntoView(0, cell, false);
    table.setActiveCell(0, cell, false, false, true);
    table.tabStops();
    message();
  }

  function problemCell(row) {
    const columns = table.getColumns();
    const wrong = (row.problems ?? []).map((p) => columns.findIndex((c) => c.index === (p.column < 0 ? "row" : p.column))).filter((i) => i >= 0);
    return wrong.length ? Math.min(...wrong) : -1;
  }

  async function nextProblem(step) {
    const at = table.getActiveCell() ?? { row: -1, cell: -1 };
    const columns = table.getColumns();
    for (let i = Math.max(0, at.row); i >= 0 && i < rows.total; i += step) {
      if (!rows.index[i]) await rows.need(i, i);
      const row = rows.index[i];
      if (!row) return;
      const wrong = [...new Set(row.problems.map((p) => columns.findIndex((c) => c.index === (p.column < 0 ? "row" : p.column))))]
        .filter((c) => c >= 0 && (i !== at.row || (step > 0 ? c > at.cell : c < at.cell))).sort((a, b) => (a - b) * step);
      if (wrong.length) {
        table.gotoCell(i, wrong[0], false);
        return;
      }
    }
    announce(step > 0 ? "No more errors below." : "No more errors above.");
  }

  // The message of the selected cell

  function message() {
    const panel = $("message");
    const focus = panel.contains(document.activeElement);
    const at = table.getActiveCell();
    const row = at && table.getDataItem(at.row);
    active = row?.row;
    if (!row) {
      panel.replaceChildren(make("p", { className: "soft", textContent: rows.total ? "Select a cell to see its message." : "" }));
      return;
    }
    const column = table.getColumns()[at.cell];
    const own = column.index === "row" ? problemsOf(row, -1)
      : column.index === "service" ? row.problems.filter((p) => p.confirm) : problemsOf(row, column.index);
    const where = Number.isInteger(column.index) ? cellName(row.row, column.index) : `Row ${row.row}`;
    const parts = [make("p", { className: "fix-where" }, make("b", { textContent: where }), ` ${column.label}`)];
    const conflict = rows.conflicts.get(rows.key(row.row, column.index));
    if (conflict) parts.push(conflictPart(row, column, conflict));
    for (const problem of own) parts.push(problemPart(row, problem));
    const others = row.problems.filter((p) => !own.includes(p));
    if (others.length) {
      const list = make("p", { className: "fix-others" }, "Also in this row: ");
      for (const p of others.slice(0, 6)) {
        const cell = table.getColumns().findIndex((c) => c.index === (p.column < 0 ? "row" : p.column));
        list.append(button(p.cell || p.header || "the row", () => table.gotoCell(at.row, Math.max(0, cell), false), { className: "quiet", title: p.message }), " ");
      }
      parts.push(list);
    }
    if (row.excluded) {
      const back = make("p", {}, "This row is skipped. ");
      if (editable) back.append(button("Include row", () => exclude(false), { className: "small" }));
      parts.push(back);
    } else if (!own.length && !conflict) parts.push(make("p", { className: "soft", textContent: { ready: "Ready.", exists: "Ordered before: this row is not ordered again." }[row.result] ?? "No error in this cell." }));
    panel.replaceChildren(...parts);
    if (own.length) announce(own.map((p) => p.message).join(" "));
    if (focus) table.setFocus();
  }

  function problemPart(row, problem) {
    const part = make("div", { className: `fix-problem ${problem.severity}` }, make("p", { textContent: problem.message }));
    if (!editable) return part;
    const enter = (text) => {
      rows.put([{ row: row.row, column: problem.column, header: problem.header, text }]);
      if (reviewing && problem.confirm) rows.addEventListener("idle", () => nextProblem(1), { once: true });
      table.setFocus();
    };
    const actions = make("div", { className: "actions" });
    for (const suggestion of problem.suggest ?? []) {
      actions.append(button(problem.confirm ? `Confirm “${suggestion}”` : `Change to “${suggestion}”`, () => enter(suggestion), { className: "small" }));
    }
    if (problem.column < 0 && problem.header && !problem.confirm) {
      const input = make("input", { placeholder: problem.header, autocomplete: "off" });
      input.setAttribute("aria-label", problem.header);
      input.addEventListener("keydown", (event) => { if (event.key === "Enter" && input.value) enter(input.value); });
      actions.append(input, button("Save", () => { if (input.value) enter(input.value); }, { className: "small" }));
    }
    if (actions.childElementCount) part.append(actions);
    return part;
  }

  function conflictPart(row, column, conflict) {
    const by = conflict.by || "Someone else";
    const said = conflict.hidden ? `${by} changed this cell. The texts are not shown: they may be Social Security numbers.` : `${by} entered “${conflict.theirs}” here. You entered “${conflict.yours}”.`;
    const part = make("div", { className: "fix-problem warning" }, make("p", { textContent: said }));
    const done = () => {
      rows.conflicts.delete(rows.key(row.row, column.index));
      rows.emit("rows", [row.row]);
      message();
      table.setFocus();
    };
    if (conflict.hidden) {
      part.append(make("div", { className: "actions" }, button("Keep the current text", done, { className: "small" })));
      return part;
    }
    part.append(make("div", { className: "actions" },
      button(`Keep “${conflict.theirs}”`, done, { className: "small" }),
      button(`Use yours, “${conflict.yours}”`, () => {
        rows.put([{ row: row.row, column: column.index, text: conflict.yours, was: conflict.theirs }]);
        done();
      }, { className: "small" })));
    return part;
  }

  rows.addEventListener("conflicts", (event) => {
    const [first] = event.detail;
    if (first.review) {
      const n = event.detail.length;
      notice(`${plural(n, "name")} ${n === 1 ? "was" : "were"} not confirmed: ${first.by} changed ${n === 1 ? `row ${first.row}` : "these rows"} after you opened the list. Review ${n === 1 ? "the name" : "the names"} again.`, "warn");
      return;
    }
    const item = notice(`${plural(event.detail.length, "cell")} of yours ${event.detail.length === 1 ? "was" : "were"} changed by ${first.by || "someone else"} first.`, "warn");
    const answered = () => { // the notice goes with the last cell that is decided
      if (event.detail.some((c) => rows.conflicts.has(rows.key(c.row, c.column, c.header)))) return;
      rows.removeEventListener("rows", answered);
      item.remove();
    };
    rows.addEventListener("rows", answered);
    item.append(button("Show", () => {
      const at = rows.places.get(first.row);
      if (at !== undefined) table.gotoCell(at, table.getColumns().findIndex((c) => c.index === first.column), false);
    }, { className: "small" }));
    if (table) message();
  });

  async function exclude(out) {
    const chosen = selectedRows();
    if (!chosen.length) return;
    const answer = await rows.exclude(chosen, out).catch(() => null);
    if (answer) notice(`${plural(chosen.length, "row")} ${out ? "excluded: not ordered" : "included again"}.`, "ok", answer.change);
  }

  // Events of the rows

  rows.addEventListener("rows", (event) => {
    if (!table) return;
    const places = event.detail.map((row) => rows.places.get(row)).filter((at) => at !== undefined);
    const at = table.getActiveCell();
    const editing = table.getCellEditor();
    table.keepFocus(() => {
      table.updateRowCount();
      table.invalidateRows(editing ? places.filter((place) => place !== at.row) : places);
      if (editing && places.includes(at.row)) table.updateAroundEditor();
      table.render();
    });
    if (!editing && at && places.includes(at.row)) message();
  });
  rows.addEventListener("columns", () => { if (table) setColumns(); });
  rows.addEventListener("reset", (event) => {
    if (!table) return;
    const at = table.getActiveCell();
    table.getContainerNode().setAttribute("aria-rowcount", rows.total + 1);
    table.keepFocus(() => {
      table.updateRowCount();
      table.invalidateAllRows();
      table.render();
      const focused = table.focused();
      if (event.detail.opened) {
        table.scrollRowToTop(0);
        table.resetActiveCell();
        if (focused && rows.total) table.gotoCell(0, 1, false);
      } else if (at) {
        const row = Math.min(rows.places.get(active) ?? at.row, rows.total - 1);
        if (row >= 0) table.setActiveCell(row, at.cell, false, false, true);
        else table.resetActiveCell();
      }
    });
    $("empty").hidden = rows.total > 0;
    $("empty").textContent = { errors: rows.counts.warnings ? "No errors are left. Review the warnings, then continue to approval." : "No errors are left. Continue to approval.", warnings: "No warnings.", ready: "No row is ready yet.", skipped: "No row is skipped." }[rows.view.show] ?? "No rows match.";
    message();
  });

  // Tools

  if (editable) {
    $("replace").addEventListener("click", () => replaceDialog());
    $("set").addEventListener("click", () => setDialog());
    $("exclude").addEventListener("click", () => exclude(true));
    $("undo").addEventListener("click", undo);
  }
  $("sort").addEventListener("click", () => {
    const column = table.getColumns()[table.getActiveCell()?.cell ?? 0];
    const [now] = table.getSortColumns();
    sort(column, !(now?.columnId === column.id && now.sortAsc));
  });
  $("next").addEventListener("click", () => nextProblem(1));
  let typing;
  $("search").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => show({ ...rows.view, q: $("search").value.trim() }), 250);
  });
  $("search").closest("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (table && rows.total) toProblem(0) || table.gotoCell(0, 1, false);
  });

  // The link to the first error is the first element of the page.
  const skip = make("a", { className: "skip", href: "#fix", textContent: "Skip to the first error" });
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    toProblem(0);
    table.setFocus();
  });
  document.body.prepend(skip);

  // The table takes the height that is left of the window.
  const work = root.querySelector(".fix-work");
  const fit = () => {
    const top = work.getBoundingClientRect().top + scrollY;
    root.style.setProperty("--fix-top", `${Math.ceil(top) + 10}px`);
  };
  fit();
  addEventListener("resize", fit);
  rows.addEventListener("summary", () => requestAnimationFrame(fit));

  // Place

  addEventListener("pagehide", () => table?.commit(), { capture: true }); // before the rows are sent
  addEventListener("pagehide", () => {
    rows.stopListening();
    if (!table) return;
    const at = table.getActiveCell();
    stored("place", { view: rows.view, top: table.getViewport().top, row: at && rows.index[at.row]?.row, cell: at?.cell });
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    rows.listen();
    rows.refresh();
  });
  let away;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(away);
    if (document.hidden) away = setTimeout(() => rows.stopListening(), 30_000);
    else if (!rows.polling) {
      rows.listen();
      rows.refresh();
    }
  });

  async function start() {
    const place = asked.has("show") ? null : stored("place");
    try {
      await rows.open(place?.view ?? { show: { problems: "errors", notes: "warnings" }[asked.get("show")] ?? asked.get("show") ?? "errors" });
      const empty = !place || (!rows.total && place.view.show === "errors" && !place.view.group && !place.view.q);
      if (empty && !asked.has("show") && !rows.counts.errors) await rows.open({ show: rows.counts.warnings ? "warnings" : "all" });
    } catch (error) {
      if (error.status === 413) location.replace("?large");
      else rows.failed(error);
      if (!(error instanceof Refusal)) setTimeout(start, 2000);
      return;
    }
    root.dataset.ready = "";
    makeTable();
    if (place) {
      await rows.need(place.top, place.top + 50);
      table.scrollRowToTop(place.top);
      const at = rows.places.get(place.row);
      if (at !== undefined) table.setActiveCell(at, place.cell);
    } else showFirstProblem();
    message();
    if (rows.view.q) $("search").value = rows.view.q;
    $("empty").hidden = rows.total > 0;
    summary();
    status({ kind: "ok", text: "All changes saved" });
    rows.listen();
    rows.pump();
  }
  start();
}
