#include "service/simulator/model/distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pace::simulator {

namespace {

// Uniform in (0, 1].
double positive_uniform(base::Random& random) {
    return 1 - random.uniform();
}

// One of the two numbers of Box and Muller.
double standard_normal(base::Random& random) {
    const double radius = std::sqrt(-2 * std::log(positive_uniform(random)));
    return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

double lognormal(double mean, double cv, base::Random& random) {
    const double variance = std::log1p(cv * cv);
    return mean * std::exp(std::sqrt(variance) * standard_normal(random) - variance / 2);
}

// With the least time m and the tail index a, the mean is a m / (a - 1). So a = mean / (mean - m).
double pareto(double mean, double least, base::Random& random) {
    return least * std::pow(positive_uniform(random), -(mean - least) / mean);
}

}  // namespace

double draw_s(const Distribution& d, base::Random& random) {
    switch (d.shape) {
        case Shape::constant:
            return d.mean_s;
        case Shape::normal:
            return d.mean_s * std::max(0.01, 1 + d.cv * standard_normal(random));
        case Shape::lognormal:
            return lognormal(d.mean_s, d.cv, random);
        case Shape::exponential:
            return d.min_s - (d.mean_s - d.min_s) * std::log(positive_uniform(random));
        case Shape::pareto:
            return pareto(d.mean_s, d.min_s, random);
        case Shape::trace:
            return d.trace_s[random.below(d.trace_s.size())];
    }
    return 0;
}

}  // namespace pace::simulator
