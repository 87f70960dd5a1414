// The machines: those in trouble first.

import {list, number, text} from "./document.js";
import {byId, element, Pages, setAttribute, setText, Table} from "./dom.js";
import * as format from "./format.js";

const PART = 32;
const MARKS = {alive: ["● ", "good"], suspected: ["▲ ", "warning"], gone: ["✕ ", "bad"]};
const ORDER = {gone: 0, suspected: 1, alive: 2};

export class NodeTable {
    constructor(operator, changed) {
        this.operator = operator;
        this.buttons = new WeakMap();
        this.pages = new Pages(byId("nodes-pages"), "Nodes", PART, changed);
        this.table = new Table(byId("nodes"), "Daemons that are attached to this controller", [
            {title: "node", header: true, cell: node => format.shortened(text(node, "name", "?"))},
            {title: "status", cell: (node, cell) => patchStatus(node, cell)},
            {title: "heard", number: true, cell: node => `${format.milliseconds(number(node, "silent_ms"))} ago`},
            {title: "zone", cell: node => text(node, "zone") || format.none},
            {title: "workers", number: true, cell: node => format.count(number(node, "workers"))},
            {title: "processors", number: true, cell: node => format.count(number(node, "processors"))},
            {title: "NCCL", cell: node => text(node, "nccl") || format.none},
            {title: "version", cell: node => text(node, "version") || format.none},
            {title: "", cell: (node, cell) => this.patchButton(node, cell)},
        ]);
    }

    update(state) {
        const nodes = list(state.document, "nodes").toSorted((a, b) => (ORDER[a.status] ?? 3) - (ORDER[b.status] ?? 3)
            || text(a, "name").localeCompare(text(b, "name"), "en", {numeric: true}));
        this.table.update(this.pages.part(nodes), node => node.node);
        const left = number(state.document, "nodes_left_out", 0);
        setText(byId("nodes-note"), nodes.length === 0 ? "No daemon is attached."
            : left > 0 ? `${format.plural(left, "node")} more are not in the controller's document.` : "");
    }

    patchButton(node, cell) {
        if (!this.buttons.has(cell)) {
            const parts = {button: element("button", {type: "button"})};
            parts.button.addEventListener("click", () => this.operator.drain(parts.name, !parts.draining));
            cell.append(parts.button);
            this.buttons.set(cell, parts);
        }
        const parts = this.buttons.get(cell);
        parts.name = text(node, "name");
        parts.draining = node.draining === true;
        parts.button.hidden = !this.operator.is;
        const word = parts.draining ? "Undrain" : "Drain";
        setText(parts.button, word);
        setAttribute(parts.button, "aria-label", `${word} node ${parts.name}`);
    }
}

function patchStatus(node, cell) {
    const [mark, kind] = MARKS[node.status] ?? ["", ""];
    setText(cell, `${mark}${text(node, "status", "?")}${node.draining === true ? ", draining" : ""}`);
    setAttribute(cell, "class", kind);
}
