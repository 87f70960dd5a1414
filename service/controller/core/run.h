// Run: one execution of a job, and when a worker begins another.
#pragma once

#include <cstdint>
#include <string>

namespace pace::controller {

// One execution of a job: from its first worker's start until all its workers are gone. A name may have
// many, one after the other.
struct Run {
    std::string id;      // as the workers give it, or their launcher; empty: none
    uint64_t began = 0;  // by the clock of the first worker's node, in nanoseconds since 1970
    bool operator==(const Run&) const = default;
};

// When a worker that opens anew begins another run of a job of the same name and identity: when all
// workers are known to have died or left, or their nodes were lost and nobody has come back for long; as soon as
// none is there, since their launcher never starts one alone; never.
enum class Rerun : uint8_t { when_all_died = 0, when_none_lives = 1, never = 2 };

}  // namespace pace::controller
