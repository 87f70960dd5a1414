// The slow workers of all jobs: how slow they are, since when, and why the controller considers them slow.

import {list, text} from "./document.js";
import {byId, setText, Table} from "./dom.js";
import * as format from "./format.js";
import {slowOf} from "./verdict.js";

const SHOWN = 50;

export class Slow {
    constructor() {
        this.table = new Table(byId("slow"), "Workers whose steps take longer than the others', and those that are away", [
            {title: "rank", number: true, header: true, cell: slow => String(slow.rank)},
            {title: "as slow", number: true, cell: slow => slow.absent ? format.none : format.times(slow.factor)},
            {title: "for", number: true, cell: slow => format.lasted(slow.since_s)},
            {title: "why", class: "words", cell: slow => `${slow.why}: ${slow.text}`},
            {title: "job", class: "name", cell: slow => format.shortened(slow.job)},
            {title: "node", cell: slow => slow.on},
        ]);
    }

    update(state) {
        const rows = [];
        for (const job of list(state.document, "jobs")) {
            const name = text(job, "name", "?");
            for (const slow of slowOf(job)) rows.push({...slow, job: name, id: job.job, on: state.nodes.name(slow.node)});
        }
        rows.sort((a, b) => Number(b.absent) - Number(a.absent) || (b.factor ?? 0) - (a.factor ?? 0));
        this.table.update(rows.slice(0, SHOWN), row => `${row.id}/${row.rank}`);
        setText(byId("slow-note"), rows.length === 0 ? "Nobody stands out."
            : rows.length > SHOWN ? `${rows.length - SHOWN} more are not shown.` : "");
    }
}
