// The hour of history that the controller keeps of each job. The page asks for new points every few seconds.

import {get} from "./api.js";
import {list, number, text} from "./document.js";

const EVERY_MS = 5000;
const HOUR_US = 3600e6;

export class History {
    constructor() {
        this.jobs = new Map();  // by the job's name: [{at_us, steps, updates_per_s, loss}]
        this.latest_us = 0;
        this.asked_ms = -Infinity;
    }

    // Called with each document. Asks if it is time to ask. If there is no answer, there is no line, and nothing else is affected.
    async refresh(clock_us) {
        const now_ms = performance.now();
        if (now_ms - this.asked_ms < EVERY_MS) return;
        this.asked_ms = now_ms;
        if (clock_us < this.latest_us) this.forget();
        try {
            this.take(await get(`api/history?since=${this.latest_us}`));
        } catch {
            // A later document asks again.
        }
    }

    forget() {
        this.jobs.clear();
        this.latest_us = 0;
    }

    take(answer) {
        const now_us = number(answer, "clock_us", 0);
        const names = new Set();
        for (const job of list(answer, "jobs")) {
            const name = text(job, "name");
            names.add(name);
            const samples = this.jobs.get(name) ?? [];
            for (const sample of samplesOf(job)) if (sample.at_us > (samples.at(-1)?.at_us ?? 0)) samples.push(sample);
            while (samples.length > 0 && samples[0].at_us < now_us - HOUR_US) samples.shift();
            this.latest_us = Math.max(this.latest_us, samples.at(-1)?.at_us ?? 0);
            this.jobs.set(name, samples);
        }
        for (const name of this.jobs.keys()) if (!names.has(name)) this.jobs.delete(name);
    }

    of(name) {
        return this.jobs.get(name) ?? [];
    }
}

// The controller sends columns: one list for each field.
function samplesOf(job) {
    const at = list(job, "at_us");
    const column = key => list(job, key);
    const [steps, updates, loss] = [column("steps"), column("updates_per_s"), column("loss")];
    return at.map((at_us, i) => ({at_us, steps: steps[i] ?? null, updates_per_s: updates[i] ?? null, loss: loss[i] ?? null}));
}
