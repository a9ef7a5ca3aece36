// The table of the Fix page: SlickGrid with what this site needs of it.
//
// SlickGrid writes the positions of columns into a style element, which the Content-Security-Policy
// refuses; here they are in a constructed style sheet, which it allows. Focus is on the active cell, not
// on a hidden element, so that screen readers read the cell; rows and columns carry their numbers.

class Table extends Slick.Grid {
  createCssRules() {
    const sheet = new CSSStyleSheet();
    const add = (selector, body = "") => sheet.cssRules[sheet.insertRule(`.${this.uid} ${selector} { ${body} }`, sheet.cssRules.length)];
    add(".slick-header-column", "left: 1000px");
    add(".slick-cell", `height: ${this._options.rowHeight - this.cellHeightDiff}px`);
    add(".slick-row", `height: ${this._options.rowHeight}px`);
    this.ownRules = this.columns.map((_, i) => ({ left: add(`.l${i}`), right: add(`.r${i}`) }));
    this.ownSheet = sheet;
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }

  getColumnCssRules(i) {
    return this.ownRules[i];
  }

  removeCssRules() {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.ownSheet);
  }

  setFocus() {
    if (this.leaving) return;
    if (this.activeCellNode?.isConnected) this.activeCellNode.focus({ preventScroll: true });
    else this.getContainerNode().querySelector(".slick-cell[tabindex='0']")?.focus({ preventScroll: true });
  }

  appendRowHtml(left, right, row, range, length) {
    super.appendRowHtml(left, right, row, range, length);
    for (const element of [left.at(-1), this.hasFrozenColumns() && right.at(-1)]) {
      element?.setAttribute?.("aria-rowindex", row + 2); // the header is the first
    }
  }

  // tabStops leaves one tab stop in the table: the active cell, or the first one. The parts around the
  // rows take no focus, for a grid consists of rows alone.
  tabStops() {
    const container = this.getContainerNode();
    for (const part of container.querySelectorAll("div[tabindex]:not(.slick-cell, .slick-header-column)")) part.removeAttribute("tabindex");
    for (const element of container.querySelectorAll("[tabindex='0']")) element.tabIndex = -1;
    const cell = this.activeCellNode?.isConnected ? this.activeCellNode : container.querySelector(".slick-cell");
    if (cell) cell.tabIndex = 0;
  }

  focused() {
    return this.getContainerNode().contains(document.activeElement);
  }

  // keepFocus runs a change of the rows, which replaces elements, and returns the focus to the active cell.
  keepFocus(change) {
    const focused = this.focused() && !this.getCellEditor();
    change();
    this.tabStops();
    if (focused && !this.focused()) this.setFocus();
  }

  // updateRowCount and makeActiveCellNormal keep an open editor. SlickGrid closes it whenever rows arrive or
  // the table is resized, and drops what is typed.
  updateRowCount() {
    this.keepsEditor = Boolean(this.currentEditor) && this.activeRow < this.getDataLength();
    try {
      super.updateRowCount();
    } finally {
      this.keepsEditor = false;
    }
  }

  makeActiveCellNormal(refocus) {
    if (!this.keepsEditor) super.makeActiveCellNormal(refocus);
  }

  // updateAroundEditor draws the cells of the active row again, except the one with the editor.
  updateAroundEditor() {
    this.columns.forEach((_, cell) => { if (cell !== this.activeCell) this.updateCell(this.activeRow, cell); });
  }

  // commit ends an open edit and saves its text.
  commit() { return this.getEditorLock().commitCurrentEdit(); }

  // commitAndLeave commits an edit whose editor lost the focus to another part of the page, and leaves the
  // focus there.
  commitAndLeave() {
    this.leaving = true;
    try {
      this.commit();
    } finally {
      this.leaving = false;
    }
  }

  // move goes to a cell so many rows and columns away.
  move(rows, cells) {
    const at = this.getActiveCell();
    if (!at) return;
    const row = Math.min(Math.max(0, at.row + rows), this.getDataLength() - 1);
    const cell = Math.min(Math.max(0, at.cell + cells), this.getColumns().length - 1);
    this.gotoCell(row, cell, false);
  }
}

// CellEditor is a line of text over a cell. Opened by typing it replaces the value, and arrows leave it, as
// in a spreadsheet program; opened by Enter, F2 or a double click it edits the value.
class CellEditor {
  constructor(args) {
    this.args = args;
    const { column, grid } = args;
    this.typed = grid.typedOver === true;
    grid.typedOver = false;
    this.input = make("input", { className: "cell-input", type: "text", autocomplete: "off", spellcheck: false });
    this.input.setAttribute("aria-label", column.label);
    if (column.secret) this.input.inputMode = "numeric";
    if (column.choices) this.input.setAttribute("list", column.choices);
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", (event) => this.blur(event));
    args.container.append(this.input);
    this.input.focus({ preventScroll: true });
  }

  key(event) {
    const { grid, column } = this.args;
    event.stopPropagation();
    const leave = (rows, cells) => {
      event.preventDefault();
      if (grid.getEditorLock().commitCurrentEdit()) grid.move(rows, cells);
    };
    const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    switch (true) {
      case event.isComposing: return;
      case event.key === "Enter": return leave(event.shiftKey ? -1 : 1, 0);
      case event.key === "Tab": return leave(0, event.shiftKey ? -1 : 1);
      case event.key === "Escape":
        event.preventDefault();
        grid.cancelEditAndSetFocus();
        return;
      case this.typed && event.key in arrows && !event.shiftKey && !(column.choices && event.key.match(/Up|Down/)):
        return leave(...arrows[event.key]);
      case event.key === "F2":
        this.typed = false;
    }
  }

  // blur commits the text if the focus goes to another part of the page. SlickGrid itself commits before it
  // moves to another cell, and a window in the background changes nothing.
  blur({ relatedTarget }) {
    const { grid } = this.args;
    if (this.closed || document.activeElement === this.input || grid.getContainerNode().contains(relatedTarget)) return;
    grid.commitAndLeave();
  }

  destroy() {
    this.closed = true;
    this.input.remove();
  }

  focus() { this.input.focus({ preventScroll: true }); }
  loadValue(row) {
    this.before = this.args.column.text(row);
    this.input.value = this.typed ? "" : this.before;
    if (!this.typed) this.input.setSelectionRange(this.before.length, this.before.length);
  }
  serializeValue() { return this.input.value; }
  applyValue() {}
  isValueChanged() { return this.input.value !== this.before; }
  validate() { return { valid: true, msg: null }; }
}

// parseBlock reads copied cells: lines of cells parted by tabs, quoted where a cell holds a tab, a quote or
// a line break.
function parseBlock(text) {
  const rows = [[]];
  let at = 0;
  while (at <= text.length) {
    let cell = "";
    if (text[at] === '"') {
      const end = /"(?:[^"]|"")*"(?=[\t\r\n]|$)/y;
      end.lastIndex = at;
      const found = end.exec(text)?.[0];
      if (found) {
        cell = found.slice(1, -1).replaceAll('""', '"').replace(/\s*[\r\n]+\s*/g, " ");
        at += found.length;
      }
    }
    const rest = /[^\t\r\n]*/y;
    rest.lastIndex = at;
    const more = rest.exec(text)[0];
    cell += more;
    at += more.length;
    rows.at(-1).push(cell);
    if (text[at] === "\t") at++;
    else {
      if (text[at] === "\r" && text[at + 1] === "\n") at++;
      at++;
      if (at < text.length) rows.push([]);
      else break;
    }
  }
  return rows;
}

function formatBlock(rows) {
  const quote = (text) => (/[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((cells) => cells.map(quote).join("\t")).join("\n");
}
