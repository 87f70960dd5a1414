// Which members met in the recent groups of a job: ranks, or nodes or zones if there are many ranks.

import {list, number, record} from "./document.js";
import {byId, setText} from "./dom.js";
import * as format from "./format.js";
import {grouped, heat, Matrix} from "./matrix.js";

const MOST = 16;

export class Meetings {
    constructor() {
        this.matrix = new Matrix("meetings", "In how many of the recent groups the row met the column; a stronger colour is more often");
    }

    update(state) {
        const job = state.job;
        const groups = list(job, "recent_groups").filter(group => group.state !== "failed");
        const workers = list(job, "workers");
        const byRank = new Map(workers.map(worker => [worker.rank, worker.node]));
        const nodes = state.nodes;
        const {labels, labelOf, left_out} = grouped(workers.map(worker => worker.rank), [
            rank => `${rank}`, rank => nodes.name(byRank.get(rank)), rank => nodes.zone(byRank.get(rank)) ?? "no zone"], MOST);
        const met = count(groups, labelOf, labels);
        const most = met.reduce((a, b) => Math.max(a, b), 0);
        this.matrix.update(groups.length === 0 ? [] : labels, (i, j) => {
            const times = met[i * labels.length + j];
            return times === 0 ? null : {text: String(times), heat: heat(times, 1, most), title: `${labels[i]} with ${labels[j]}: ${times}`};
        });
        setText(byId("meetings-note"), noteOf(job, groups, left_out));
    }
}

// Counts each pair of places once for each group. A place meets itself if two of its members met.
function count(groups, labelOf, labels) {
    const place = new Map(labels.map((label, i) => [label, i]));
    const met = new Int32Array(labels.length ** 2);
    for (const group of groups) {
        const there = new Map();
        for (const member of list(group, "members")) {
            const at = place.get(labelOf(member.rank));
            if (at !== undefined) there.set(at, (there.get(at) ?? 0) + 1);
        }
        for (const [i, members] of there)
            for (const j of there.keys()) if (i !== j || members > 1) ++met[i * labels.length + j];
    }
    return met;
}

function noteOf(job, groups, left_out) {
    if (groups.length === 0) return "No groups: in this job's policy everyone meets everyone, or none has ended yet.";
    const notes = [`The last ${format.plural(groups.length, "group")}.`];
    const components = number(job, "sync_components");
    const gap = number(job, "spectral_gap");
    if (components !== null) notes.push(components <= 1 ? "All are connected." : `They fall into ${components} pieces that do not meet.`);
    if (gap !== null) notes.push(`Spectral gap ${format.significant(gap)} (0 mixes at once, 1 never).`);
    const chosen = record(job, "auto");
    if (chosen !== null && typeof chosen.reason === "string") notes.push(`Policy auto has chosen ${chosen.policy}: ${chosen.reason}.`);
    if (left_out > 0) notes.push(`${format.plural(left_out, "more place")} are not shown.`);
    return notes.join(" ");
}
