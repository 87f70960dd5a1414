// How each rank spends its time: computing, waiting for others, exchanging. All ranks are shown as one strip, and some of them in numbers.

import {Bar, Strip} from "./chart.js";
import {list, lossOf, number, record, text} from "./document.js";
import {byId, Pages, setText, Table} from "./dom.js";
import * as format from "./format.js";
import {stepsOf} from "./progress.js";
import {stateOf} from "./verdict.js";

const PART = 32;

const ORDERS = {
    slow: (a, b) => b.step_ms - a.step_ms || a.rank - b.rank,
    waiting: (a, b) => b.shares[1] - a.shares[1] || a.rank - b.rank,
    rank: (a, b) => a.rank - b.rank,
};

export class Ranks {
    constructor(changed) {
        this.strip = new Strip();
        byId("ranks-strip").append(this.strip.node);
        this.bars = new WeakMap();
        this.pages = new Pages(byId("ranks-pages"), "Ranks", PART, changed);
        byId("ranks-order").addEventListener("change", () => {
            this.pages.first = 0;
            changed();
        });
        this.table = new Table(byId("ranks"), "Shares are of the time since the worker joined; the median is of its recent steps", [
            {title: "rank", number: true, header: true, cell: row => String(row.rank)},
            {title: "node", cell: row => row.on},
            {title: "does now", cell: row => row.does},
            {title: "step", number: true, cell: row => format.count(row.steps)},
            {title: "median step", number: true, cell: row => format.milliseconds(row.step_ms || null)},
            {title: "time", cell: (row, cell) => this.patchBar(row, cell)},
            {title: "computing", number: true, cell: row => share(row, 0)},
            {title: "waiting", number: true, cell: row => share(row, 1)},
            {title: "exchanging", number: true, cell: row => share(row, 2)},
            {title: "loss", number: true, cell: row => lossText(row.loss)},
            {title: "samples/s", number: true, cell: row => format.significant(row.samples)},
        ]);
    }

    update(state) {
        const job = state.job;
        const rows = list(job, "workers").map(worker => rowOf(worker, state.nodes));
        this.strip.node.toggleAttribute("hidden", rows.length === 0);
        this.strip.update(rows.map(row => row.shares),
                          `Computing, waiting and exchanging of ${format.plural(rows.length, "rank")}, one column each; the table below has the numbers`);
        const compare = ORDERS[byId("ranks-order").value] ?? ORDERS.rank;
        this.table.update(this.pages.part(rows.sort(compare)), row => row.rank);
        const left = number(job, "workers_left_out", 0);
        setText(byId("ranks-note"), left > 0 ? `${format.plural(left, "rank")} more are not in the controller's document.`
            : rows.length === 0 ? "No worker has joined." : "");
    }

    patchBar(row, cell) {
        if (!this.bars.has(cell)) {
            const bar = new Bar();
            cell.append(bar.node);
            this.bars.set(cell, bar);
        }
        const [computing, waiting, exchanging] = row.shares.map(format.percent);
        this.bars.get(cell).update(row.shares, row.known ? `computing ${computing}, waiting ${waiting}, exchanging ${exchanging}` : "not known");
    }
}

function share(row, part) {
    return row.known ? format.percent(row.shares[part]) : format.none;
}

function lossText(loss) {
    if (!loss.told) return format.none;
    return loss.value === null ? "not finite" : format.significant(loss.value);
}

function rowOf(worker, nodes) {
    const spent = ["computed", "waited", "exchanged"].map(part => number(record(worker, part), "total_s", 0));
    const all = spent[0] + spent[1] + spent[2];
    return {
        rank: worker.rank, on: nodes.name(worker.node), steps: stepsOf(worker), does: doesNow(worker),
        step_ms: number(worker, "step_median_ms", 0), known: all > 0, shares: all > 0 ? spent.map(one => one / all) : [0, 0, 0],
        loss: lossOf(worker), samples: number(worker, "samples_per_s"),
    };
}

function doesNow(worker) {
    const away = stateOf(worker);
    if (away !== null) return away;
    const activity = text(worker, "activity");
    if (activity !== "") return activity;
    if (worker.exchanging === true) return "exchanging";
    if (worker.waiting_ms !== undefined) return "waiting";
    return text(worker, "status", "?");
}
