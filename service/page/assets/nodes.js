// The machines. Those with problems come first.

import {list, number, record, text} from "./document.js";
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
            {title: "memory in use", number: true, cell: memoryText},
            {title: "GPUs", class: "name", cell: gpusText},
            {title: "GPU memory in use", number: true, cell: gpuMemoryText},
            {title: "NCCL", cell: node => text(node, "nccl") || format.none},
            {title: "version", cell: node => text(node, "version") || format.none},
            {title: "", cell: (node, cell) => this.patchButton(node, cell)},
        ]);
    }

    update(state) {
        const nodes = list(state.document, "nodes").toSorted((a, b) => (ORDER[a.status] ?? 3) - (ORDER[b.status] ?? 3)
            || text(a, "name").localeCompare(text(b, "name"), "en", {numeric: true}));
        this.table.update(this.pages.part(nodes), node => node.node);
        setText(byId("nodes-note"), nodes.length === 0 ? "No daemon is attached." : leftOutText(state.document));
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

function leftOutText(document) {
    const left = [["nodes_left_out", "node"], ["gpus_left_out", "GPU"]].map(([key, word]) => [number(document, key, 0), word])
        .filter(([amount]) => amount > 0).map(([amount, word]) => format.plural(amount, word));
    return left.length === 0 ? "" : `${left.join(" and ")} more are not in the controller's document.`;
}

// The amount in use and the total. Either may be missing.
function shareText(used, total) {
    if (used === null || total === null) return format.none;
    return `${format.bytes(Math.max(0, used))} of ${format.bytes(total)}`;
}

function memoryText(node) {
    const memory = record(node, "memory");
    const total = number(memory, "total_bytes");
    const available = number(memory, "available_bytes");
    return shareText(total === null || available === null ? null : total - available, total);
}

// The GPUs by name: "8 × NVIDIA H100". A daemon that tells nothing about its GPUs has a dash.
function gpusText(node) {
    if (!Array.isArray(node.gpus)) return format.none;
    const byName = new Map();
    for (const gpu of node.gpus) byName.set(text(gpu, "name", "?"), (byName.get(text(gpu, "name", "?")) ?? 0) + 1);
    return [...byName].map(([name, amount]) => `${format.count(amount)} × ${format.shortened(name)}`).join(", ") || "none";
}

// The memory of the GPUs that the daemon has opened. The daemon does not know the use of the other GPUs' memory.
function gpuMemoryText(node) {
    const known = list(node, "gpus").filter(gpu => number(gpu, "memory_used_bytes") !== null);
    if (known.length === 0) return format.none;
    const sum = key => known.reduce((all, gpu) => all + number(gpu, key, 0), 0);
    return shareText(sum("memory_used_bytes"), sum("memory_bytes"));
}

function patchStatus(node, cell) {
    const [mark, kind] = MARKS[node.status] ?? ["", ""];
    setText(cell, `${mark}${text(node, "status", "?")}${node.draining === true ? ", draining" : ""}`);
    setAttribute(cell, "class", kind);
}
