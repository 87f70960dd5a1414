// The speed of jobs, from the documents of the last seconds.

import {list, median, number, present, record, text} from "./document.js";

const WINDOW_US = 10e6;

// A job that begins again under its name is another job.
export function keyOf(job) {
    return `${text(job, "job")}/${text(job, "name")}/${record(job, "run")?.began_ns ?? ""}`;
}

// If models are averaged, workers count iterations. Otherwise they count rounds.
export function stepsOf(worker) {
    return Math.max(number(worker, "iteration", 0), number(worker, "rounds_submitted", 0));
}

// The steps of the median member.
export function reached(job) {
    return median(list(job, "workers").filter(present).map(stepsOf)) ?? 0;
}

export class Progress {
    constructor() {
        this.jobs = new Map();  // {active: steps by rank, done, marks: [{at_us, done}]}
    }

    see(document) {
        const at_us = number(document, "clock_us");
        if (at_us === null) return;
        const kept = new Map();
        for (const job of list(document, "jobs")) {
            const key = keyOf(job);
            const known = this.jobs.get(key);
            // A controller that was restarted has another clock.
            const isSame = known !== undefined && at_us >= known.marks.at(-1).at_us;
            kept.set(key, isSame ? seen(known, job, at_us) : {active: activeOf(job), done: 0, marks: [{at_us, done: 0}]});
        }
        this.jobs = kept;
    }

    // The updates a second of all workers together. Null before the second document.
    updatesPerSecond(job) {
        const marks = this.jobs.get(keyOf(job))?.marks ?? [];
        if (marks.length < 2) return null;
        const first = marks[0];
        const last = marks.at(-1);
        return (last.done - first.done) / (last.at_us - first.at_us) * 1e6;
    }
}

// Only members count that were active before. A new member jumps to the others' step without having computed it.
function activeOf(job) {
    return new Map(list(job, "workers").filter(worker => worker.status === "active").map(worker => [worker.rank, stepsOf(worker)]));
}

function seen(known, job, at_us) {
    const {marks} = known;
    // The controller may answer twice from one document.
    if (at_us === marks.at(-1).at_us) return known;
    const active = activeOf(job);
    let done = known.done;
    for (const [rank, steps] of active) done += Math.max(0, steps - (known.active.get(rank) ?? steps));
    marks.push({at_us, done});
    while (marks.length > 2 && marks[1].at_us < at_us - WINDOW_US) marks.shift();
    return {active, done, marks};
}
