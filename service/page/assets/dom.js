// Makes and changes elements. All text of documents goes through textContent or an attribute, never through a parser of HTML. The page's
// policy (require-trusted-types-for) makes the browser refuse everything else.

const SVG = "http://www.w3.org/2000/svg";

export const byId = id => document.getElementById(id);

// element("td", {class: "number"}, child or text, ...)
export function element(name, attributes = {}, ...children) {
    return furnish(document.createElement(name), attributes, children);
}

export function drawing(name, attributes = {}, ...children) {
    return furnish(document.createElementNS(SVG, name), attributes, children);
}

function furnish(made, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

// Does not touch what has not changed. So a screen reader reads only what is new, and the browser lays out nothing.
export function setText(node, value) {
    if (node.textContent !== value) node.textContent = value;
}

export function setAttribute(node, name, value) {
    if (value === null) {
        if (node.hasAttribute(name)) node.removeAttribute(name);
        return;
    }
    const written = String(value);
    if (node.getAttribute(name) !== written) node.setAttribute(name, written);
}

// Children of `parent`, one for each item, kept by key. `make(item)` returns an element. `patch(element, item)` updates the element.
export class Children {
    constructor(parent, make, patch) {
        this.parent = parent;
        this.make = make;
        this.patch = patch;
        this.byKey = new Map();
    }

    update(items, keyOf) {
        const kept = new Map();
        let place = this.parent.firstChild;
        for (const item of items) {
            const key = keyOf(item);
            if (kept.has(key)) continue;
            const child = this.byKey.get(key) ?? this.make(item);
            this.patch(child, item);
            kept.set(key, child);
            if (child === place) place = place.nextSibling;
            else this.parent.insertBefore(child, place);
        }
        for (const [key, child] of this.byKey) if (!kept.has(key)) child.remove();
        this.byKey = kept;
    }
}

// A table whose columns are [{title, number, header, cell(item, td)}]. `cell` returns a text, or fills the td and returns nothing.
export class Table {
    constructor(table, caption, columns) {
        this.columns = columns;
        const heads = columns.map(column =>
            element("th", {scope: "col", class: column.number ? "number" : ""}, column.title));
        const body = element("tbody");
        table.append(element("caption", {class: "quiet"}, caption), element("thead", {}, element("tr", {}, ...heads)), body);
        this.table = table;
        this.rows = new Children(body, () => this.makeRow(), (row, item) => this.patchRow(row, item));
    }

    makeRow() {
        return element("tr", {}, ...this.columns.map(column => column.header
            ? element("th", {scope: "row"})
            : element("td", {class: column.number ? "number" : column.class ?? ""})));
    }

    patchRow(row, item) {
        for (let i = 0; i < this.columns.length; ++i) {
            const value = this.columns[i].cell(item, row.cells[i]);
            if (value !== undefined) setText(row.cells[i], value);
        }
    }

    update(items, keyOf) {
        this.table.hidden = items.length === 0;
        this.rows.update(items, keyOf);
    }
}

// Shows one part of a long list at a time, with buttons for the part before and the part after.
export class Pages {
    constructor(place, name, size, changed) {
        this.size = size;
        this.first = 0;
        this.before = element("button", {type: "button", "aria-label": `${name} before these`}, "◂");
        this.after = element("button", {type: "button", "aria-label": `${name} after these`}, "▸");
        this.what = element("span");
        this.before.addEventListener("click", () => this.move(-size, changed));
        this.after.addEventListener("click", () => this.move(size, changed));
        this.place = place;
        place.append(this.before, " ", this.what, " ", this.after);
    }

    move(by, changed) {
        this.first = Math.max(0, this.first + by);
        changed();
    }

    part(items) {
        if (this.first >= items.length) this.first = Math.max(0, (Math.ceil(items.length / this.size) - 1) * this.size);
        const end = Math.min(items.length, this.first + this.size);
        this.place.hidden = items.length <= this.size;
        this.before.disabled = this.first === 0;
        this.after.disabled = end === items.length;
        setText(this.what, `${this.first + 1} to ${end} of ${items.length}`);
        return items.slice(this.first, end);
    }
}
