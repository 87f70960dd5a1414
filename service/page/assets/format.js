// Formats numbers for people. A dash stands for an unknown value.

const DASH = "–";

export function duration(seconds) {
    if (seconds === null || !Number.isFinite(seconds) || seconds < 0) return DASH;
    if (seconds < 1e-3) return `${significant(seconds * 1e6)} µs`;
    if (seconds < 1) return `${significant(seconds * 1e3)} ms`;
    if (seconds < 120) return `${significant(seconds)} s`;
    if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.round(seconds % 3600 / 60)} min`;
    return `${Math.round(seconds / 86400)} days`;
}

export function milliseconds(value) {
    return duration(value === null ? null : value / 1e3);
}

// How long something has lasted, in whole seconds, because the text is updated each second.
export function lasted(seconds) {
    if (seconds === null) return DASH;
    return seconds < 120 ? `${Math.max(0, Math.floor(seconds))} s` : duration(seconds);
}

// Three significant digits.
export function significant(value) {
    if (value === null || !Number.isFinite(value)) return DASH;
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
    if (size >= 100) return String(Math.round(value));
    return String(Number(value.toPrecision(3)));
}

export function count(value) {
    return value === null ? DASH : Math.round(value).toLocaleString("en");
}

export function bytes(value) {
    if (value === null) return DASH;
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        ++unit;
    }
    return `${significant(value)} ${units[unit]}`;
}

// The rate in bytes a second of a link on which a mebibyte takes `mebibyteMs`.
export function rate(mebibyteMs) {
    if (mebibyteMs === null || mebibyteMs <= 0) return DASH;
    const perSecond = 1048.576 / mebibyteMs;  // megabytes
    return perSecond >= 1000 ? `${significant(perSecond / 1000)} GB/s` : `${significant(perSecond)} MB/s`;
}

export function percent(share) {
    return share === null ? DASH : `${Math.round(share * 100)} %`;
}

export function times(factor) {
    return factor === null ? DASH : `${significant(factor)} ×`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
const DAY = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short"});

// Includes the day if it is not today.
export function clock(unixMs) {
    if (unixMs === null) return DASH;
    const when = new Date(unixMs);
    if (Number.isNaN(when.getTime())) return DASH;
    const today = new Date().toDateString() === when.toDateString();
    return today ? CLOCK.format(when) : `${DAY.format(when)} ${CLOCK.format(when)}`;
}

export function plural(amount, word, many = `${word}s`) {
    return `${count(amount)} ${amount === 1 ? word : many}`;
}

// Names given by users may be long.
export function shortened(name, most = 80) {
    return name.length <= most ? name : `${name.slice(0, most - 1)}…`;
}

export const none = DASH;
