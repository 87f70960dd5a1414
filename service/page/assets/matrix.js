// A square table: a heat map whose cells also have their values in words.

import {byId, element, setAttribute, setText} from "./dom.js";

export const STEPS = 4;  // heat steps

export class Matrix {
    constructor(id, caption) {
        this.table = byId(id);
        this.caption = caption;
        this.labels = "";
    }

    // `cell(row, column)` returns {text, heat: 0..STEPS, title, cut} or null.
    update(labels, cell) {
        this.table.hidden = labels.length === 0;
        const shown = JSON.stringify(labels);
        if (shown !== this.labels) this.build(labels);
        this.labels = shown;
        for (let i = 0; i < labels.length; ++i)
            for (let j = 0; j < labels.length; ++j) patch(this.cells[i][j], cell(i, j));
    }

    build(labels) {
        const head = element("tr", {}, element("td"), ...labels.map(label => element("th", {scope: "col"}, label)));
        this.cells = labels.map(() => labels.map(() => element("td")));
        const rows = labels.map((label, i) => element("tr", {}, element("th", {scope: "row"}, label), ...this.cells[i]));
        this.table.replaceChildren(element("caption", {class: "quiet"}, this.caption), element("thead", {}, head), element("tbody", {}, ...rows));
    }
}

function patch(node, value) {
    setText(node, value?.text ?? "");
    setAttribute(node, "class", value?.cut ? "cut" : value?.heat > 0 ? `heat-${value.heat}` : null);
    setAttribute(node, "title", value?.title ?? null);
}

// Heat on a logarithmic scale from the least value to the most.
export function heat(value, least, most) {
    if (value <= 0 || least <= 0 || most <= least) return 1;
    return 1 + Math.round((STEPS - 1) * Math.log(value / least) / Math.log(most / least));
}

// Labels for places that can be told apart. A few places are shown as they are. Many places are shown as groups, of which only the first
// few are shown. `levels` are functions from a place to its label, the finest first.
export function grouped(places, levels, most) {
    let labels = [];
    let labelOf = levels[0];
    for (const level of levels) {
        labelOf = level;
        labels = [...new Set(places.map(level))];
        if (labels.length <= most) break;
    }
    labels.sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
    return {labels: labels.slice(0, most), labelOf, left_out: Math.max(0, labels.length - most)};
}
