// Stage: a part of an exchange that moves bytes through channels.
#pragma once

#include <cstdint>
#include <vector>

namespace pace::simulator {

// The number of an exchange's equal streams through a memory or over a link. Each stream carries
// the stage's bytes. Between zones the number may be a fraction.
struct Use {
    uint32_t channel = 0;  // index into the channels
    double streams = 0;
    bool operator==(const Use&) const = default;
};

// Streams of `bytes` bytes each. All have the same speed.
struct Stage {
    double bytes = 0;
    std::vector<Use> uses;  // none: the stage takes no time
};

}  // namespace pace::simulator
