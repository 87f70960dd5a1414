// Stage: a part of an exchange that moves bytes through channels, and what it uses of them.
#pragma once

#include <cstdint>
#include <vector>

namespace pace::simulator {

// How many equal streams of an exchange go through a memory or over a link: what goes there, in bytes of the stage. Between zones
// it may be a fraction.
struct Use {
    uint32_t channel = 0;  // index into the channels
    double streams = 0;
    bool operator==(const Use&) const = default;
};

// Streams of so many bytes each, all of one speed.
struct Stage {
    double bytes = 0;
    std::vector<Use> uses;  // none: it takes no time
};

}  // namespace pace::simulator
