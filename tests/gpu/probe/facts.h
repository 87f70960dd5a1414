// Facts: what a GPU and its driver do where their documentation is silent, and Pace depends on it.
// Each is found out in a process of its own and told in words. An error is told as "no: …".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tests/gpu/probe/line.h"

namespace pace::gpu_probe {

using Told = base::Result<std::string>;
// Name and text of each line.
using Lines = std::vector<std::pair<std::string, std::string>>;

// The driver, its GPUs and their attributes.
base::Result<Lines> describe();

// Streams of two processes tell each other: by words of shared memory, and by events.
Told words_reach(Where where);
Told events_reach(Where where);

// What becomes of a stream that waits for a process which is killed, and of its memory.
Told wait_for_an_event_of_the_dead();
Told wait_for_a_word_of_the_dead();
Told memory_of_the_dead();
Told handle_of_the_dead();

// How many of 40 streams go on while one waits.
Told streams_beside_a_blocked_one();
Told capture_beside_a_query(bool is_relaxed);
Told words_registered_twice();
// Whether other processes go on after a kernel has failed, and new ones begin.
Told containment();

}  // namespace pace::gpu_probe
