// A card for each job: its progress, its speed, its loss, and the workers that delay it.

import {Line} from "./chart.js";
import {list, lossOf, median, number, present, record, text} from "./document.js";
import {byId, Children, element, setAttribute, setText} from "./dom.js";
import * as format from "./format.js";
import {keyOf, reached} from "./progress.js";
import {slowOf} from "./verdict.js";

const SHOWN = 48;
const HOUR_US = 3600e6;

export class Jobs {
    // `select(name)` is called with the job whose details the user asks for. `operator` has the operator's buttons.
    constructor(select, operator) {
        this.operator = operator;
        this.cards = new Children(byId("jobs-list"), () => this.makeCard(select), (card, job) => this.patchCard(card, job));
        this.parts = new WeakMap();
    }

    update(state) {
        this.state = state;
        // Jobs that have ended come last.
        const jobs = list(state.document, "jobs").toSorted((a, b) => Number(a.state === "finished") - Number(b.state === "finished"));
        this.cards.update(jobs.slice(0, SHOWN), keyOf);
        const note = jobs.length === 0 ? "No job. It appears when its first worker opens a session."
            : jobs.length > SHOWN ? `${jobs.length - SHOWN} more jobs are not shown here; each can be chosen below.` : "";
        setText(byId("jobs-note"), note);
    }

    makeCard(select) {
        const parts = {title: element("h3"), what: element("p", {class: "what quiet"}),
                       line: new Line(), caption: element("p", {class: "quiet"}), facts: {}};
        const facts = element("dl");
        for (const name of ["step", "time left", "updates a second", "loss", "samples a second", "workers", "slowest", "kept back by top-k"]) {
            parts.facts[name] = element("dd");
            facts.append(element("div", {}, element("dt", {}, name), parts.facts[name]));
        }
        parts.details = element("button", {type: "button"}, "Details");
        parts.remove = element("button", {type: "button", class: "danger"}, "Delete");
        parts.details.addEventListener("click", () => select(parts.name));
        parts.remove.addEventListener("click", () => this.operator.deleteJob(parts.name));
        const card = element("article", {class: "job"}, parts.title, parts.what, facts, parts.line.node, parts.caption,
                             element("p", {class: "buttons"}, parts.details, " ", parts.remove));
        this.parts.set(card, parts);
        return card;
    }

    patchCard(card, job) {
        const parts = this.parts.get(card);
        parts.name = text(job, "name", "?");
        setText(parts.title, format.shortened(parts.name));
        setText(parts.what, `${text(record(job, "options"), "policy", "?")}, ${stateOf(job)}`);
        setAttribute(parts.details, "aria-label", `Details of job ${parts.name}`);
        setAttribute(parts.remove, "aria-label", `Delete job ${parts.name}`);
        // The controller deletes no job that has members.
        parts.remove.hidden = !this.operator.is || list(job, "workers").some(present);
        this.patchProgress(parts, job);
        this.patchLoss(parts, job);
        setText(parts.facts.workers, workersText(job));
        setText(parts.facts.slowest, slowestText(job));
        patchResidual(parts.facts["kept back by top-k"], record(job, "residual"));
    }

    patchProgress(parts, job) {
        setText(parts.facts.step, stepText(job));
        setText(parts.facts["time left"], timeLeftText(record(job, "steps")));
        setText(parts.facts["updates a second"], format.significant(this.state.progress.updatesPerSecond(job)));
        const rates = list(job, "workers").filter(present).map(worker => number(worker, "samples_per_s", 0));
        const samples = rates.reduce((sum, one) => sum + one, 0);
        setText(parts.facts["samples a second"], samples > 0 ? format.significant(samples) : "not told");
    }

    patchLoss(parts, job) {
        const told = list(job, "workers").filter(present).map(lossOf).filter(loss => loss.told);
        const values = told.filter(loss => loss.value !== null).map(loss => loss.value);
        const strange = told.length - values.length;
        const value = median(values);
        const words = told.length === 0 ? "not told" : value === null ? "not finite"
            : format.significant(value) + (strange > 0 ? ` (not finite at ${strange})` : "");
        setText(parts.facts.loss, words);
        setAttribute(parts.facts.loss, "class", strange > 0 ? "bad" : null);

        // The line shows the loss. If no loss is told, it shows the updates a second.
        const samples = this.state.history.of(parts.name);
        const key = samples.some(sample => sample.loss !== null) ? "loss" : "updates_per_s";
        parts.line.node.toggleAttribute("hidden", samples.length < 2);
        parts.caption.hidden = samples.length < 2;
        if (samples.length < 2) return;
        const to = number(this.state.document, "clock_us", samples.at(-1).at_us);
        const from = Math.max(samples[0].at_us, to - HOUR_US);
        const ends = samples.map(sample => sample[key]).filter(one => one !== null);
        const what = key === "loss" ? "Loss" : "Updates a second";
        const course = `over the last ${format.lasted((to - from) / 1e6)}: from ${format.significant(ends[0] ?? null)} `
            + `to ${format.significant(ends.at(-1) ?? null)}`;
        parts.line.update(samples.map(sample => [sample.at_us, sample[key]]), from, to, `${what} of job ${parts.name} ${course}`);
        setText(parts.caption, `${what} ${course}`);
    }
}

// The step of the median member, and the distance between the last and the first member.
function stepText(job) {
    const apart = number(record(job, "progress"), "spread", 0);
    return apart > 0 ? `${format.count(reached(job))} (${format.count(apart)} apart)` : format.count(reached(job));
}

// The time left of the worker that will finish last.
function timeLeftText(steps) {
    const total = number(steps, "total");
    if (total === null) return "not told";
    const left_s = number(steps, "left_s");
    const done = `${format.count(number(steps, "done", 0))} of ${format.count(total)} steps`;
    return left_s === null ? `not known yet (${done})` : `${format.lasted(left_s)} (${done})`;
}

// Only jobs with top-k have a residual.
function patchResidual(fact, residual) {
    fact.parentNode.hidden = residual === null;
    const exchanges = number(residual, "exchanges", 0);
    setText(fact, exchanges === 0 ? "nothing" : `${format.bytes(number(residual, "bytes"))}, for ${format.plural(exchanges, "exchange")}`);
}

function stateOf(job) {
    const told = text(job, "state");
    const finished_s = number(job, "finished_s");
    if (told === "finished" && finished_s !== null) return `finished ${format.lasted(finished_s)} ago`;
    if (told !== "") return told;
    if (job.gathering === true) return "gathering its workers again";
    return job.started === true ? "running" : "joining";
}

function workersText(job) {
    const workers = list(job, "workers");
    const there = workers.filter(present).length + number(job, "workers_left_out", 0);
    const world = number(record(job, "options"), "world");
    return world === null ? format.count(there) : `${format.count(there)} of ${format.count(world)}`;
}

function slowestText(job) {
    const [first] = slowOf(job);
    if (!first) return "nobody stands out";
    return first.absent ? `rank ${first.rank}: ${first.why}` : `rank ${first.rank}: ${format.times(first.factor)}`;
}
