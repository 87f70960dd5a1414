// Reads documents of the controller, which may be of another version. A field that is missing or of another kind has a fallback.

export function number(object, key, fallback = null) {
    const value = object?.[key];
    return typeof value === "number" && Number.isFinite(value) ? value : fallback;
}

export function text(object, key, fallback = "") {
    const value = object?.[key];
    if (typeof value === "string") return value;
    return typeof value === "number" ? String(value) : fallback;
}

export function list(object, key) {
    const value = object?.[key];
    return Array.isArray(value) ? value : [];
}

export function record(object, key) {
    const value = object?.[key];
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
}

export function median(values) {
    if (values.length === 0) return null;
    const sorted = Float64Array.from(values).sort();
    return sorted[sorted.length >> 1];
}

// Nodes by their number, with the names and zones that people use.
export class Nodes {
    constructor(document) {
        this.byId = new Map();
        for (const node of list(document, "nodes")) this.byId.set(node.node, node);
        this.zones = zonesByMeasurement(document);
    }

    name(id) {
        const node = this.byId.get(id);
        return node ? text(node, "name", `node ${id}`) : `node ${id}`;
    }

    // The operator's zone if there is one, otherwise the measured zone. Null if nothing is known.
    zone(id) {
        return text(this.byId.get(id), "zone") || this.zones.get(id) || null;
    }
}

// Each job numbers the zones anew, so two jobs may know different zones. The first job that knows a node decides the node's zone.
function zonesByMeasurement(document) {
    const found = new Map();
    for (const job of list(document, "jobs")) {
        for (const zone of list(job, "zones")) {
            const label = text(zone, "label") || `zone ${text(zone, "zone", "?")}`;
            for (const node of list(zone, "nodes")) if (!found.has(node)) found.set(node, label);
        }
    }
    return found;
}

// Members that are present, in any state.
export function present(worker) {
    return worker.status !== "left" && worker.status !== "lost";
}

export function lossOf(worker) {
    if (!Object.hasOwn(worker, "loss")) return {told: false, value: null};
    return {told: true, value: number(worker, "loss")};
}
