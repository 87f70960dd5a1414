#include "service/simulator/files/distribution_file.h"

namespace pace::simulator {

using base::Result;

namespace {

constexpr double kLongestMs = 3'600'000;

Result<> read_times(const FileTable& table, Distribution& ret_distribution) {
    PACE_TRY_ASSIGN(times_ms, table.numbers("times_ms", 0, kLongestMs));
    for (const double time_ms : times_ms) ret_distribution.trace_s.push_back(time_ms / 1e3);
    return {};
}

Result<> read_least(const FileTable& table, Distribution& ret_distribution) {
    // With a least time of zero, the tail would have no mean.
    const bool has_tail = ret_distribution.shape == Shape::pareto;
    PACE_TRY_ASSIGN(least_ms, table.number("min_ms", has_tail ? 0.001 : 0, kLongestMs));
    ret_distribution.min_s = least_ms / 1e3;
    if (ret_distribution.min_s >= ret_distribution.mean_s)
        return table.error("min_ms", "give less than mean_ms");
    return {};
}

Result<> allow_keys(const FileTable& table, Shape shape) {
    switch (shape) {
        case Shape::constant:
            return table.allow({"distribution", "mean_ms"});
        case Shape::normal:
        case Shape::lognormal:
            return table.allow({"distribution", "mean_ms", "cv"});
        case Shape::exponential:
        case Shape::pareto:
            return table.allow({"distribution", "mean_ms", "min_ms"});
        case Shape::trace:
            return table.allow({"distribution", "times_ms"});
    }
    return {};
}

}  // namespace

Result<Distribution> read_distribution(const FileTable& table) {
    PACE_TRY_ASSIGN(index, table.word("distribution", kShapes, 0));
    Distribution distribution;
    distribution.shape = static_cast<Shape>(index);
    PACE_TRY(allow_keys(table, distribution.shape));
    if (distribution.shape == Shape::trace) {
        PACE_TRY(read_times(table, distribution));
        return distribution;
    }
    PACE_TRY_ASSIGN(mean_ms, table.number("mean_ms", 0.001, kLongestMs));
    distribution.mean_s = mean_ms / 1e3;
    const bool is_normal = distribution.shape == Shape::normal;
    if (is_normal || distribution.shape == Shape::lognormal) {
        // A normal distribution with a greater cv would often be below zero.
        PACE_TRY_ASSIGN(cv, table.number("cv", 0, is_normal ? 0.5 : 10));
        distribution.cv = cv;
    } else if (distribution.shape != Shape::constant) {
        PACE_TRY(read_least(table, distribution));
    }
    return distribution;
}

}  // namespace pace::simulator
