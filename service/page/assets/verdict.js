// The problems, the worst first: a list of {level, text, since_s}. Pure. `text` has nothing that changes each second, because a screen
// reader reads it aloud when it changes.

import {list, number, present, record, text} from "./document.js";
import {plural, shortened, significant} from "./format.js";

const ORDER = {bad: 0, warning: 1};

export function troubles(document, nodes) {
    const found = [...ofController(document), ...ofNodes(document), ...ofCuts(document, nodes)];
    for (const job of list(document, "jobs")) found.push(...ofJob(job, nodes));
    return found.sort((a, b) => ORDER[a.level] - ORDER[b.level]);
}

// The sentence that is shown if nothing is wrong.
export function calm(document) {
    const jobs = list(document, "jobs");
    const nodes = list(document, "nodes").length + number(document, "nodes_left_out", 0);
    if (nodes === 0) return "All is well, and no node is attached yet.";
    if (jobs.length === 0) return `All is well: ${plural(nodes, "node")}, no job.`;
    const workers = jobs.reduce((sum, job) => sum + list(job, "workers").filter(present).length + number(job, "workers_left_out", 0), 0);
    return `All is well: ${plural(jobs.length, "job")} with ${plural(workers, "worker")} on ${plural(nodes, "node")}.`;
}

function ofController(document) {
    const journal = record(document, "journal");
    if (text(journal, "state") !== "failed") return [];
    return [{level: "bad", text: `The controller cannot write its journal: ${text(journal, "failure", "it does not say why")}.`, since_s: null}];
}

function ofNodes(document) {
    const found = [];
    for (const node of list(document, "nodes")) {
        const name = text(node, "name", "?");
        const silent = number(node, "silent_ms");
        const since_s = silent === null ? null : silent / 1e3;
        if (node.status === "gone") found.push({level: "bad", text: `Node ${name} is gone.`, since_s});
        if (node.status === "suspected") found.push({level: "warning", text: `Node ${name} is silent.`, since_s});
    }
    return found;
}

function ofCuts(document, nodes) {
    return list(document, "cut_links").map(cut => {
        const [low, high] = list(cut, "nodes");
        const since = number(cut, "since_ms");
        return {level: "bad", text: `Nodes ${nodes.name(low)} and ${nodes.name(high)} get nothing from each other: the network between them is cut.`,
                since_s: since === null ? null : since / 1e3};
    });
}

const GONE = {
    stopped: "is stopped by a signal",
    unreachable: "is out of reach",
    lost: "is lost",
    suspended: "was taken out, since the others waited for it",
    missing: "has not come back after the controller's restart",
    late: "is late, and the others go on without it",
};

export function stateOf(worker) {
    if (worker.activity === "stopped" || worker.activity === "unreachable") return worker.activity;
    return Object.hasOwn(GONE, worker.status) ? worker.status : null;
}

function ofJob(job, nodes) {
    if (job.state === "finished") return [];
    const name = shortened(text(job, "name", "?"), 60);
    const found = [...ofWorkers(job, name, nodes), ...ofSlow(job, name, nodes), ...ofLosses(job, name)];
    for (const node of list(job, "left_out"))
        found.push({level: "bad", text: `Job ${name} goes on without node ${nodes.name(node)}, which is cut off.`, since_s: null});
    if (record(job, "model")?.waits_for_a_node === true)
        found.push({level: "bad", text: `Job ${name} waits for a node with a part of its model.`, since_s: null});
    if (found.length === 0) found.push(...ofWaits(job, name));
    return found;
}

// A worker that is away is shown as away, whatever else is known about it. Many workers in one state share a line.
function ofWorkers(job, name, nodes) {
    const byState = new Map();
    for (const worker of list(job, "workers")) {
        const state = stateOf(worker);
        if (state === null) continue;
        if (!byState.has(state)) byState.set(state, []);
        byState.get(state).push(worker);
    }
    const found = [];
    for (const [state, workers] of byState) {
        const first = workers[0];
        const who = workers.length === 1 ? `Rank ${first.rank} of job ${name} on ${nodes.name(first.node)}`
                                         : `Rank ${first.rank} and ${workers.length - 1} more of job ${name}`;
        const what = workers.length === 1 ? GONE[state] : `${GONE[state]} (each of them)`;
        const level = state === "late" ? "warning" : "bad";
        const since_s = state === first.activity ? number(first, "activity_s") : null;
        found.push({level, text: `${who} ${what}.`, since_s});
    }
    return found;
}

// If many workers are slow, the slowest is named. The numbers are whole, because whole numbers change seldom.
function ofSlow(job, name, nodes) {
    const slow = slowOf(job).filter(one => !one.absent);
    if (slow.length === 0) return [];
    const [first] = slow;
    const who = `Rank ${first.rank} of job ${name} on ${nodes.name(first.node)}`;
    const many = slow.length === 1 ? "" : `, and ${plural(slow.length - 1, "more rank")} ${slow.length === 2 ? "is" : "are"} slow`;
    const factor = first.factor === null ? "slower than" : `${significant(roughly(first.factor))} times as slow as`;
    return [{level: "warning", text: `${who} is ${factor} the others${many}.`, since_s: first.since_s}];
}

function roughly(factor) {
    return factor < 3 ? Math.round(factor * 10) / 10 : Math.round(factor);
}

// An infinity or a NaN. In JSON both become null.
function ofLosses(job, name) {
    const strange = list(job, "workers").filter(present).filter(worker => worker.loss === null);
    if (strange.length === 0) return [];
    const more = strange.length === 1 ? "" : ` and ${plural(strange.length - 1, "more rank")}`;
    return [{level: "warning", text: `The loss that rank ${strange[0].rank}${more} of job ${name} told is not finite.`, since_s: null}];
}

// A wait that has no slow or absent worker as its reason.
function ofWaits(job, name) {
    const patience_ms = 5000;
    return list(job, "waits").filter(wait => number(wait, "waited_ms", 0) > patience_ms).slice(0, 1).map(wait => {
        const missing = list(wait, "for");
        const whom = missing.length === 0 ? "" : ` for rank ${missing.slice(0, 3).join(", ")}${missing.length > 3 ? " and others" : ""}`;
        return {level: "warning", text: `Job ${name}: ${plural(list(wait, "ranks").length + number(wait, "ranks_left_out", 0), "rank")} wait${whom} (${text(wait, "what", "a call")}).`,
                since_s: number(wait, "waited_ms") / 1e3};
    });
}

const WHY = {
    computing: "computing takes it longer",
    link: "its link is slow",
    stopped: "it is stopped",
    waiting: "it waits for others",
};

// The slow or absent workers of a job: {rank, node, factor, since_s, why, absent}. An older controller names only the slowest.
export function slowOf(job) {
    if (job.state === "finished") return [];
    const found = [];
    for (const worker of list(job, "workers")) {
        const slow = record(worker, "slow");
        const state = stateOf(worker);
        if (slow === null && state === null) continue;
        found.push({rank: worker.rank, node: worker.node, absent: state !== null, factor: number(slow, "factor"),
                    since_s: number(slow, "since_s") ?? (state === null ? null : number(worker, "activity_s")),
                    why: state ?? text(slow, "why"), text: text(slow, "text") || whyText(state, slow)});
    }
    const slowest = record(job, "slowest");
    if (slowest !== null && !found.some(slow => slow.rank === slowest.rank)) {
        const worker = list(job, "workers").find(one => one.rank === slowest.rank);
        found.push({rank: slowest.rank, node: worker?.node, absent: false, factor: number(slowest, "factor"), since_s: null,
                    why: "computing", text: WHY.computing});
    }
    return found.sort((a, b) => Number(b.absent) - Number(a.absent) || (b.factor ?? 0) - (a.factor ?? 0));
}

function whyText(state, slow) {
    if (state !== null) return `it ${GONE[state]}`;
    return WHY[text(slow, "why")] ?? "";
}
