// Distribution: how long a worker computes between two updates. draw_s() draws a time from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace pace::simulator {

enum class Shape : uint8_t {
    constant,  // always the mean
    // By mean and cv. A draw below a hundredth of the mean is a hundredth of the mean.
    normal,
    lognormal,    // by mean and cv
    exponential,  // the least time, plus an exponential time up to the mean
    pareto,       // the least time, with a tail that gives the mean
    trace,        // one of the measured times, each equally likely
};

// The names of the shapes, by number.
inline constexpr std::string_view kShapes[] = {"constant",    "normal", "lognormal",
                                               "exponential", "pareto", "trace"};

// A field that does not belong to the shape has no meaning. Times are in seconds.
struct Distribution {
    Shape shape = Shape::constant;
    double mean_s = 0;
    double cv = 0;                // standard deviation / mean
    double min_s = 0;             // below the mean
    std::vector<double> trace_s;  // not empty
    bool operator==(const Distribution&) const = default;
};

double draw_s(const Distribution& distribution, base::Random& random);

}  // namespace pace::simulator
