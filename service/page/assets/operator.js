// What an operator may do besides looking: drain nodes and delete jobs, each after a question. The controller decides by the token. The
// buttons are hidden from all others only because the controller would refuse them.

import {get, post, Refused, token} from "./api.js";
import {byId, setText} from "./dom.js";

export class Operator {
    // `changed` is called when the buttons must be shown or hidden.
    constructor(changed) {
        this.is = false;
        this.changed = changed;
        byId("sign-in").addEventListener("submit", event => {
            event.preventDefault();
            token.set(byId("token").value.trim());
            byId("token").value = "";
            void this.look();
        });
        byId("sign-out").addEventListener("click", () => {
            token.forget();
            void this.look();
        });
        byId("confirm-no").addEventListener("click", () => byId("confirm").close("no"));
        byId("confirm-yes").addEventListener("click", () => byId("confirm").close("yes"));
    }

    // Finds out whose token this is.
    async look() {
        const given = token.get() !== "";
        byId("sign-out").hidden = !given;
        let note = "";
        try {
            this.is = (await get("api/role")).operator === true;
            if (given) note = this.is ? "You may drain nodes and delete jobs." : "You may look; this is not an operator's token.";
        } catch (error) {
            this.is = false;
            note = error.status === 401 || error.status === 403 ? needed(given) : `The controller could not be asked: ${error.message}.`;
        }
        setText(byId("sign-in-note"), note);
        this.changed();
    }

    async drain(node, on) {
        const question = on ? `Drain node ${node}? It takes no workers any more, and loses those that it has.` : `Let node ${node} take workers again?`;
        if (await confirmed(question, on ? "Drain" : "Undrain"))
            await this.act(`api/nodes/${encodeURIComponent(node)}/${on ? "drain" : "undrain"}`);
    }

    async deleteJob(job) {
        if (await confirmed(`Delete job ${job}? What the controller knows of it is gone.`, "Delete"))
            await this.act(`api/jobs/${encodeURIComponent(job)}/delete`);
    }

    async act(path) {
        try {
            await post(path);
            setText(byId("sign-in-note"), "Done.");
        } catch (error) {
            const status = error instanceof Refused && error.status > 0 ? ` (${error.status})` : "";
            setText(byId("sign-in-note"), `That was refused${status}: ${error.message}`);
        }
        this.changed();
    }
}

function needed(given) {
    return given ? "The controller does not know this token." : "This controller shows itself to those with a token alone. Enter it here.";
}

// The focus is on Cancel at first. Afterwards it returns to the button that asked.
function confirmed(question, word) {
    const dialog = byId("confirm");
    setText(byId("confirm-text"), question);
    setText(byId("confirm-yes"), word);
    dialog.returnValue = "no";
    dialog.showModal();
    byId("confirm-no").focus();
    return new Promise(resolve => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), {once: true}));
}
