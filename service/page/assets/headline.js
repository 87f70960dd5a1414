// The first lines of the page: whether all is well or what is wrong, and the time of the state that is shown.

import {byId, Children, element, setAttribute, setText} from "./dom.js";
import * as format from "./format.js";
import {calm, troubles} from "./verdict.js";

const MORE = 6;
const MARKS = {good: "✓", warning: "▲", bad: "✕", unknown: "…"};

export class Headline {
    constructor() {
        this.more = new Children(byId("verdict-more"), () => element("li"), (item, trouble) => setText(item, trouble.text + lastedText(trouble)));
    }

    update(state) {
        const found = troubles(state.document, state.nodes);
        const [first, ...others] = found;
        this.show(first?.level ?? "good", first?.text ?? calm(state.document), first ? lastedText(first) : "");
        const shown = others.slice(0, MORE);
        if (others.length > MORE) shown.push({text: `And ${others.length - MORE} more, below.`, since_s: null});
        this.more.update(shown, trouble => trouble.text);
        setText(byId("connection"), `As of ${format.clock(state.at_ms)}`);
        document.title = first ? `${MARKS[first.level]} Pace: ${first.text}` : "Pace";
    }

    // The state that is shown stays, with its time.
    unanswered(error, again_ms, at_ms) {
        const of = at_ms === null ? "" : ` What is shown is of ${format.clock(at_ms)}.`;
        if (error.status === 401 || error.status === 403) {
            this.show("unknown", `The controller wants a token: enter it at the end of this page.${of}`, "");
        } else {
            const what = error.status === 0 ? error.message : `${error.status}: ${error.message}`;
            this.show("bad", `The controller does not answer.${of}`, `(${what})`);
        }
        this.more.update([], () => "");
        setText(byId("connection"), `It is asked again in ${format.lasted(again_ms / 1e3)}.`);
        document.title = `${MARKS.bad} Pace: no answer`;
    }

    show(level, text, since) {
        setAttribute(byId("verdict"), "data-level", level);
        setText(byId("verdict-mark"), MARKS[level]);
        setText(byId("verdict-text"), text);
        setText(byId("verdict-since"), since);
    }
}

function lastedText(trouble) {
    return trouble.since_s === null ? "" : ` (for ${format.lasted(trouble.since_s)})`;
}
