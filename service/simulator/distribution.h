// Distribution: how long a worker computes between two updates, and a draw from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace pace::simulator {

enum class Shape : uint8_t {
    constant,     // the mean, always
    normal,       // by mean and cv; what falls below a hundredth of the mean is that
    lognormal,    // by mean and cv
    exponential,  // the least, and an exponential time beyond it up to the mean
    pareto,       // the least, with a tail as long as the mean asks for
    trace,        // one of the times that were measured, each as likely
};

// Their words, by number.
inline constexpr std::string_view kShapes[] = {"constant",    "normal", "lognormal",
                                               "exponential", "pareto", "trace"};

// What does not belong to the shape has no meaning. Times are in seconds.
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
