// The links that the daemons have measured: between nodes, or between zones (racks) if there are many nodes.

import {list, median, number} from "./document.js";
import {byId, setText} from "./dom.js";
import * as format from "./format.js";
import {grouped, heat, Matrix} from "./matrix.js";

const MOST = 16;

export class Links {
    constructor() {
        this.matrix = new Matrix("links", "Median speed of the links between the row and the column; a stronger colour is slower");
    }

    update(state) {
        const links = list(state.document, "links");
        const nodes = state.nodes;
        const {labels, labelOf, left_out} = grouped([...nodes.byId.keys()],
            [id => nodes.name(id), id => nodes.zone(id) ?? "no zone"], MOST);
        const place = new Map(labels.map((label, i) => [label, i]));
        const cells = gather(links, labelOf, place, labels.length);
        const cuts = gatherCuts(list(state.document, "cut_links"), labelOf, place, labels.length);
        const times = cells.filter(cell => cell !== null).map(cell => cell.mebibyte_ms);
        const least = Math.min(...times);
        const most = Math.max(...times);
        this.matrix.update(links.length + cuts.size === 0 ? [] : labels, (i, j) => {
            const at = i * labels.length + j;
            if (cuts.has(at)) return {text: "cut", cut: true, title: `no byte passes between ${labels[i]} and ${labels[j]}`};
            // One of the two nodes measures the pair.
            const cell = cells[at] ?? cells[j * labels.length + i];
            return cell === null ? null : shown(cell, labels[i], labels[j], heat(cell.mebibyte_ms, least, most));
        });
        setText(byId("links-note"), noteOf(state.document, links, left_out));
    }
}

function gather(links, labelOf, place, size) {
    const measured = Array.from({length: size * size}, () => null);
    for (const link of links) {
        const from = place.get(labelOf(link.from));
        const to = place.get(labelOf(link.to));
        if (from === undefined || to === undefined) continue;
        const cell = measured[from * size + to] ??= {times: [], latencies: []};
        cell.times.push(number(link, "mebibyte_ms", 0));
        cell.latencies.push(number(link, "latency_us", 0));
    }
    return measured.map(cell => cell === null ? null : {
        mebibyte_ms: median(cell.times), slowest_ms: Math.max(...cell.times), latency_us: median(cell.latencies), count: cell.times.length,
    });
}

function gatherCuts(cuts, labelOf, place, size) {
    const found = new Set();
    for (const cut of cuts) {
        const [low, high] = list(cut, "nodes").map(node => place.get(labelOf(node)));
        if (low === undefined || high === undefined) continue;
        found.add(low * size + high);
        found.add(high * size + low);
    }
    return found;
}

function shown(cell, from, to, warmth) {
    const slowest = cell.count > 1 ? `, the slowest of ${cell.count} has ${format.rate(cell.slowest_ms)}` : "";
    return {text: format.rate(cell.mebibyte_ms), heat: warmth,
            title: `${from} and ${to}: ${format.rate(cell.mebibyte_ms)}, ${format.duration(cell.latency_us / 1e6)} of latency${slowest}`};
}

function noteOf(document, links, left_out) {
    const unlisted = number(document, "links_left_out", 0);
    if (links.length === 0) return "No link has been measured: there is one node, or no exchange has left time for it yet.";
    const notes = [];
    if (left_out > 0) notes.push(`${format.plural(left_out, "more place")} are not shown.`);
    if (unlisted > 0) notes.push(`${format.plural(unlisted, "link")} are not in the controller's document.`);
    return notes.join(" ");
}
