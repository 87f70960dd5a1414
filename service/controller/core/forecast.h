// Forecast: how many updates a second a job would make under a policy and group size, and how far apart its models would be,
// reckoned from what its workers' steps and exchanges have taken. Policy auto chooses by it. docs/decisions/0013 has the formulas'
// reasons, and what they were held against: pace-sim, which plays the same out event by event, and is right where the two differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "service/controller/core/options.h"

namespace pace::controller {

// How groups form: what policy auto chooses.
struct Shape {
    Policy policy = Policy::partial_reduce;
    uint32_t group_size = 2;  // of full: everyone, and no number
    auto operator<=>(const Shape&) const = default;
};

// "partial-reduce of 3", "full"
std::string text_of(const Shape& shape);

// What an exchange took on average, of those in groups of one shape.
struct ExchangeTimes {
    double whole_s = 0;   // from the order to the end
    double moving_s = 0;  // of that, the exchange itself
};

// What is known of a job's present workers. Not empty.
struct JobPace {
    std::vector<double> steps_s;     // each worker's mean
    std::vector<double> variations;  // recent steps of all, each over its worker's mean; empty: 1
    uint32_t nodes = 1;
    uint32_t workers_of_node = 1;              // the most that one has
    std::map<Shape, ExchangeTimes> exchanges;  // of shapes that were in use
};

struct Forecast {
    double updates_per_s = 0;  // of all workers together
    double spread = 0;         // of models, in units of one update's variance

    // Updates per second, each counted as 1 / (1 + spread), as pace-sim counts them.
    double effective_per_s() const { return updates_per_s / (1 + spread); }
};

Forecast forecast(const JobPace& pace, const Shape& shape);

// Those that auto chooses among, with so many workers.
std::vector<Shape> shapes_for(uint32_t workers);

}  // namespace pace::controller
