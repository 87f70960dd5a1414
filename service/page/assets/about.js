// Shows facts about the controller itself.

import {list, number, record, text} from "./document.js";
import {byId, Children, element, setText} from "./dom.js";
import * as format from "./format.js";

export class About {
    constructor() {
        this.facts = new Children(byId("about"), () => element("div", {}, element("dt"), element("dd")), (row, [name, value]) => {
            setText(row.firstChild, name);
            setText(row.lastChild, value);
        });
    }

    update(state) {
        const document = state.document;
        const messages = record(document, "messages");
        this.facts.update([
            ["version", text(document, "version", format.none)],
            ["control protocol", text(document, "protocol", format.none)],
            ["listens at", list(document, "listening").filter(one => typeof one === "string").join(", ") || format.none],
            ["control plane", document.curve === true ? "encrypted (CURVE)" : "not encrypted"],
            ["journal", journalText(record(document, "journal"))],
            ["messages", `${format.count(number(messages, "received"))} received, ${format.count(number(messages, "sent"))} sent, `
                + `${format.count(number(messages, "malformed"))} malformed, ${format.count(number(messages, "undeliverable"))} undeliverable`],
        ], ([name]) => name);
        const versions = new Set(list(document, "nodes").map(node => text(node, "version")).filter(version => version !== ""));
        const mixed = versions.size > 1 ? `; daemons of ${[...versions].slice(0, 4).join(", ")}` : "";
        setText(byId("controller"), `controller ${text(document, "version")}${mixed}`);
    }
}

function journalText(journal) {
    const state = text(journal, "state", format.none);
    if (state === "writing") return `${text(journal, "path")}, ${format.bytes(number(journal, "bytes"))}`;
    if (state === "failed") return `failed: ${text(journal, "failure")}`;
    return state === "none" ? "none: a restarted controller asks the daemons alone" : state;
}
