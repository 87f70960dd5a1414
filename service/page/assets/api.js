// Sends requests to the controller. Addresses are relative, so the page also works below a path of a proxy. The token lives as long as the
// tab.

const KEY = "pace-token";
const PATIENCE_MS = 5000;

export const token = {
    get: () => sessionStorage.getItem(KEY) ?? "",
    set: value => sessionStorage.setItem(KEY, value),
    forget: () => sessionStorage.removeItem(KEY),
};

// An error of a request. `message` says what went wrong. `status` is 0 if there was no answer.
export class Refused extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

export async function get(path) {
    const response = await ask(path, "GET");
    return response.json();
}

export async function post(path) {
    await ask(path, "POST");
}

async function ask(path, method) {
    const headers = token.get() === "" ? {} : {Authorization: `Bearer ${token.get()}`};
    let response;
    try {
        response = await fetch(path, {method, headers, cache: "no-store", credentials: "omit", redirect: "error",
                                      signal: AbortSignal.timeout(PATIENCE_MS)});
    } catch (error) {
        throw new Refused(0, error.name === "TimeoutError" ? `no answer within ${PATIENCE_MS / 1000} s` : "no connection");
    }
    if (!response.ok) throw new Refused(response.status, (await response.text()).trim().slice(0, 300) || response.statusText);
    return response;
}
