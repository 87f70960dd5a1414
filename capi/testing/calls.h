// The arguments with which tests, benchmarks and their trainers call verbs: whole buffers, and
// options of one field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capi/pace.h"

namespace pace {

// Whole buffers for one call: Slices(&model, 1).
class Slices {
  public:
    Slices(const pace_buffer* buffers, size_t count) {
        for (size_t i = 0; i < count; ++i) slices_.push_back(PACE_WHOLE(buffers[i]));
    }
    operator const pace_slice*() const { return slices_.data(); }

  private:
    std::vector<pace_slice> slices_;
};

// Options that live for one call.
template <typename Options>
struct Given {
    Options options;
    operator const Options*() const { return &options; }
};

// Returns the options with this step of the worker.
template <typename Options>
Given<Options> given_at(Options options, uint64_t iteration) {
    options.call.iteration = iteration;
    return {options};
}
inline Given<pace_average_options> average_at(uint64_t iteration) {
    return given_at<pace_average_options>(PACE_AVERAGE_OPTIONS_INIT, iteration);
}
inline Given<pace_push_options> push_at(uint64_t clock) {
    return given_at<pace_push_options>(PACE_PUSH_OPTIONS_INIT, clock);
}
inline Given<pace_pull_options> pull_at(uint64_t clock) {
    return given_at<pace_pull_options>(PACE_PULL_OPTIONS_INIT, clock);
}

inline Given<pace_broadcast_options> broadcast_from(uint32_t root) {
    Given<pace_broadcast_options> given{PACE_BROADCAST_OPTIONS_INIT};
    given.options.root = root;
    return given;
}

}  // namespace pace
