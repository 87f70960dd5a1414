// Lines and bars. Their contents are also given in words, beside them or as their label.

import {drawing, setAttribute} from "./dom.js";

const WIDTH = 300;
const HEIGHT = 60;

// A line over time. `points` are [x, y]. y is null where nothing is known. `from` and `to` are the ends of the axis.
export class Line {
    constructor() {
        this.path = drawing("path");
        this.node = drawing("svg", {class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img"},
                            drawing("line", {x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1}), this.path);
    }

    update(points, from, to, label) {
        const known = points.filter(([, y]) => y !== null);
        let low = Infinity;
        let high = -Infinity;
        for (const [, y] of known) {
            low = Math.min(low, y);
            high = Math.max(high, y);
        }
        const span = high - low || 1;
        let d = "";
        let pen = "M";
        for (const [x, y] of points) {
            if (y === null) {
                pen = "M";
                continue;
            }
            const across = (x - from) / (to - from || 1) * WIDTH;
            const up = HEIGHT - 3 - (y - low) / span * (HEIGHT - 6);
            d += `${pen}${across.toFixed(1)} ${up.toFixed(1)}`;
            pen = "L";
        }
        setAttribute(this.path, "d", d || null);
        setAttribute(this.node, "aria-label", label);
    }
}

const PARTS = ["computing", "waiting", "exchanging"];

// One row with shares of one whole, side by side.
export class Bar {
    constructor(parts = PARTS) {
        this.parts = parts.map(part => drawing("rect", {class: part, y: 0, height: 1}));
        this.node = drawing("svg", {class: "bar", viewBox: "0 0 1 1", preserveAspectRatio: "none", role: "img"}, ...this.parts);
    }

    update(shares, label) {
        let x = 0;
        this.parts.forEach((part, i) => {
            const width = Math.max(0, shares[i] ?? 0);
            setAttribute(part, "x", x.toFixed(4));
            setAttribute(part, "width", width.toFixed(4));
            x += width;
        });
        setAttribute(this.node, "aria-label", label);
    }
}

// All ranks at once, with one thin column for each. There are three shapes, however many ranks there are.
export class Strip {
    constructor() {
        this.paths = PARTS.map(part => drawing("path", {class: part}));
        this.node = drawing("svg", {class: "strip", preserveAspectRatio: "none", role: "img"}, ...this.paths);
    }

    // `columns` are [computing, waiting, exchanging] of each rank, as shares.
    update(columns, label) {
        const shapes = ["", "", ""];
        columns.forEach((shares, i) => {
            let y = 1;
            shares.forEach((share, part) => {
                if (share > 0) shapes[part] += `M${i} ${y.toFixed(3)}h1v${(-share).toFixed(3)}h-1z`;
                y -= share;
            });
        });
        this.paths.forEach((path, part) => setAttribute(path, "d", shapes[part] || null));
        setAttribute(this.node, "viewBox", `0 0 ${Math.max(1, columns.length)} 1`);
        setAttribute(this.node, "aria-label", label);
    }
}
