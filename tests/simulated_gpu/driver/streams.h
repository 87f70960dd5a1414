// The interface to the streams' handles for the rest of the library.
#pragma once

#include <memory>

#include "tests/simulated_gpu/driver/state/driver.h"

namespace pace::simulated_gpu {

class Context;
class Stream;

// The stream of a handle, or the result for the call that got the handle. The handles 0, 1 and 2
// all mean the null stream of the current context. CUDA calls them the null stream, the legacy
// stream and the per-thread stream. Every handle needs a current context.
struct FoundStream {
    CUresult result = kInvalidHandle;
    std::shared_ptr<Stream> stream;
    bool is_special = false;  // one of these three

    explicit operator bool() const { return result == kSuccess; }
};
FoundStream find_stream(CUstream handle);

void forget_streams(const Context* context);

}  // namespace pace::simulated_gpu
