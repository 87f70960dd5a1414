// Forecast: a job's updates per second, and how far apart its models would be, under a policy and
// group size. It is computed from measured times of steps and exchanges. Policy auto chooses by it.
// docs/decisions/0013 gives the reasons for the formulas and compares them with pace-sim, which
// simulates single events, and is right where the two differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "service/controller/vocabulary/options.h"

namespace pace::controller {

// How groups form: the choice of policy auto.
struct Shape {
    Policy policy = Policy::partial_reduce;
    uint32_t group_size = 2;  // of full: all workers, whatever the number
    auto operator<=>(const Shape&) const = default;
};

// "partial-reduce of 3", "full"
std::string text_of(const Shape& shape);

// Average times of the exchanges in groups of one shape.
struct ExchangeTimes {
    double whole_s = 0;   // from the order to the end
    double moving_s = 0;  // the exchange itself, part of whole_s
};

// The measurements of a job's present workers, of which there is at least one.
struct JobPace {
    std::vector<double> steps_s;  // each worker's mean
    // Recent steps of all workers, each divided by its worker's mean. Empty: 1.
    std::vector<double> variations;
    uint32_t nodes = 1;
    uint32_t workers_of_node = 1;              // the most on one node
    std::map<Shape, ExchangeTimes> exchanges;  // of shapes used so far
};

struct Forecast {
    double updates_per_s = 0;  // of all workers together
    double spread = 0;         // of models, in units of one update's variance

    // Updates per second, each weighted by 1 / (1 + spread), as pace-sim counts them.
    double effective_per_s() const { return updates_per_s / (1 + spread); }
};

Forecast forecast(const JobPace& pace, const Shape& shape);

// The shapes from which auto chooses, for this number of workers.
std::vector<Shape> shapes_for(uint32_t workers);

}  // namespace pace::controller
