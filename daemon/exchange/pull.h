// Pull: what a request has asked for of a parameter server's model, and what of it has come. The request owns it: whatever ends the request
// ends this too, so that nothing that comes later finds its way into the buffers of another call.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/exchange/buffer.h"

namespace pace::daemon {

struct Pull {
    // What came at one position of the order is of one moment. A pull that had to be asked for again may have several.
    struct Came {
        std::map<uint32_t, std::vector<float>> parts;  // by shard
        uint64_t elements = 0;
    };

    uint64_t clock = 0;
    uint64_t own = 0;    // the worker's own updates below this clock are wanted, too
    uint64_t first = 0;  // element of the model
    uint64_t count = 0;
    std::vector<BufferPtr> buffers;  // the request's
    std::map<uint64_t, Came> came;   // by position
};

}  // namespace pace::daemon
