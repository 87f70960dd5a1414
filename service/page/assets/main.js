// The status page. It asks the controller for its state each second and shows the state.

import {About} from "./about.js";
import {get} from "./api.js";
import {list, Nodes, number, text} from "./document.js";
import {byId, Children, element, setAttribute, setText} from "./dom.js";
import {Events} from "./events.js";
import * as format from "./format.js";
import {Headline} from "./headline.js";
import {History} from "./history.js";
import {Jobs} from "./jobs.js";
import {Links} from "./links.js";
import {Meetings} from "./meetings.js";
import {NodeTable} from "./nodes.js";
import {Operator} from "./operator.js";
import {Poll} from "./poll.js";
import {keyOf, Progress} from "./progress.js";
import {Ranks} from "./ranks.js";
import {Slow} from "./slow.js";
import {Staleness} from "./staleness.js";

// The state that is shown: the document, what several parts derive from it, and when it came.
let state = null;
let chosen = "";

const progress = new Progress();
const history = new History();
const headline = new Headline();
const operator = new Operator(() => show());
const parts = [new Jobs(choose, operator), new Slow(), new Links(), new Events(show), new NodeTable(operator, show), new About()];
const partsOfOneJob = [new Ranks(show), new Meetings(), new Staleness()];
const choices = new Children(byId("job"), () => element("option"), (option, job) => {
    setAttribute(option, "value", text(job, "name"));
    setText(option, format.shortened(text(job, "name", "?")));
});

function choose(name) {
    chosen = name;
    show();
    byId("one-title").scrollIntoView();
    byId("job").focus({preventScroll: true});
}

// The job whose details are shown: the chosen job, as long as it exists.
function jobOf(jobs) {
    const job = jobs.find(one => text(one, "name") === chosen) ?? jobs[0] ?? null;
    choices.update(jobs, keyOf);
    if (job !== null) byId("job").value = text(job, "name");
    setText(byId("one-note"), job === null ? "There is none." : "");
    return job;
}

function show() {
    if (state === null) return;
    const began = performance.now();
    state.job = jobOf(list(state.document, "jobs"));
    headline.update(state);
    for (const part of parts) part.update(state);
    for (const part of partsOfOneJob) part.update(state);
    // For measurements of the page's speed.
    performance.measure("pace-show", {start: began, end: performance.now()});
    if (performance.getEntriesByName("pace-show").length > 100) performance.clearMeasures("pace-show");
}

function got(document) {
    progress.see(document);
    state = {document, nodes: new Nodes(document), progress, history, at_ms: Date.now(), job: null};
    show();
    void history.refresh(number(document, "clock_us", 0));
}

const poll = new Poll(() => get("api/status"), got, (error, again_ms) => headline.unanswered(error, again_ms, state?.at_ms ?? null));

byId("job").addEventListener("change", event => {
    chosen = event.target.value;
    show();
});
byId("sign-in").addEventListener("submit", () => poll.now());
void operator.look();
poll.now();
