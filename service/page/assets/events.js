// Events: members that come and go, with the reasons, cuts and switches. The latest is first.

import {list, number, text} from "./document.js";
import {byId, Children, element, setText} from "./dom.js";
import * as format from "./format.js";

const SHOWN = 200;

export class Events {
    constructor(changed) {
        this.items = new Children(byId("events"), makeItem, () => {});
        byId("events-warnings").addEventListener("change", changed);
    }

    // An event never changes and keeps its number forever, so items are made once.
    update(state) {
        const all = list(state.document, "events");
        const wanted = byId("events-warnings").checked ? all.filter(event => event.severity === "warning") : all;
        this.items.update(wanted.slice(-SHOWN).reverse(), event => `${event.number}/${event.at_unix_ms}`);
        setText(byId("events-note"), noteOf(state.document, all, wanted));
    }
}

function makeItem(event) {
    const at = number(event, "at_unix_ms");
    const iso = at === null || Math.abs(at) > 8.64e15 ? "" : new Date(at).toISOString();
    const isWarning = event.severity === "warning";
    const severity = element("span", {class: isWarning ? "warning" : "quiet"}, isWarning ? "▲ warning" : "● info");
    return element("li", {}, element("time", {datetime: iso}, format.clock(at)), severity, ` ${text(event, "text")} `,
                   element("span", {class: "quiet"}, whereOf(event)));
}

function whereOf(event) {
    const where = [text(event, "kind")];
    if (text(event, "job") !== "") where.push(`job ${format.shortened(text(event, "job"))}`);
    if (text(event, "rank") !== "") where.push(`rank ${text(event, "rank")}`);
    if (text(event, "node") !== "") where.push(`node ${text(event, "node")}`);
    return where.filter(part => part !== "").join(", ");
}

function noteOf(document, all, wanted) {
    if (!Array.isArray(document.events)) return "This controller tells no events.";
    if (wanted.length === 0) return "None yet.";
    const first = number(document, "events_first", 1);
    const older = wanted.length > SHOWN || first > 1;
    return older ? `The last ${Math.min(wanted.length, SHOWN)}; the controller keeps those from number ${first} on.` : "";
}
