// Asks for something each second while the page is visible. Asks less and less often while there is no answer.

export const EVERY_MS = 1000;
const AT_MOST_MS = 15000;

export class Poll {
    // `ask` returns a promise. `got` takes the promise's value. `failed` takes the error and the number of milliseconds until the next
    // attempt.
    constructor(ask, got, failed) {
        this.ask = ask;
        this.got = got;
        this.failed = failed;
        this.wait_ms = EVERY_MS;
        this.timer = null;
        this.asking = false;
        document.addEventListener("visibilitychange", () => this.now());
    }

    // Asks at once if the page is visible.
    now() {
        clearTimeout(this.timer);
        if (document.hidden || this.asking) return;
        void this.once();
    }

    async once() {
        this.asking = true;
        const began = performance.now();
        let answer = null;
        let error = null;
        try {
            answer = await this.ask();
        } catch (reason) {
            error = reason;
        }
        this.asking = false;
        this.wait_ms = error === null ? EVERY_MS : Math.min(AT_MOST_MS, this.wait_ms * 2);
        const spent = performance.now() - began;
        if (!document.hidden) this.timer = setTimeout(() => this.now(), Math.max(100, this.wait_ms - spent));
        if (error === null) this.got(answer);
        else this.failed(error, this.wait_ms);
    }
}
