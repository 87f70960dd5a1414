// How many iterations members were behind the newest member of their group, or how many pushes behind the model.

import {Bar} from "./chart.js";
import {list, number, record} from "./document.js";
import {byId, setText, Table} from "./dom.js";
import * as format from "./format.js";

export class Staleness {
    constructor() {
        this.bars = new WeakMap();
        this.table = new Table(byId("staleness"), "Since the job began", [
            {title: "behind by", header: true, cell: row => row.from === row.to ? `${row.from}` : `${row.from} to ${row.to}`},
            {title: "how often", number: true, cell: row => format.count(row.amount)},
            {title: "share", number: true, cell: row => format.percent(row.share)},
            {title: "", cell: (row, cell) => this.patchBar(row, cell)},
        ]);
    }

    update(state) {
        const rows = bucketsOf(state.job);
        const all = rows.reduce((sum, row) => sum + row.amount, 0);
        for (const row of rows) row.share = all === 0 ? 0 : row.amount / all;
        this.table.update(rows, row => row.from);
        setText(byId("staleness-note"), rows.length === 0 ? "Nothing is told: in this job nobody is behind, or no group has ended yet." : "");
    }

    patchBar(row, cell) {
        if (!this.bars.has(cell)) {
            const bar = new Bar(["plain"]);
            cell.append(bar.node);
            this.bars.set(cell, bar);
        }
        this.bars.get(cell).update([row.share], format.percent(row.share));
    }
}

// Bucket b of a model counts workers that were 2^(b-1) to 2^b - 1 versions behind. Groups tell their bounds themselves.
function bucketsOf(job) {
    const model = record(job, "model");
    if (model === null)
        return list(job, "staleness").map(bucket => ({from: number(bucket, "from", 0), to: number(bucket, "to", 0), amount: number(bucket, "members", 0)}));
    return list(model, "staleness").map((amount, b) => ({from: b === 0 ? 0 : 2 ** (b - 1), to: 2 ** b - 1, amount: Number(amount) || 0}))
        .filter(bucket => bucket.amount > 0);
}
