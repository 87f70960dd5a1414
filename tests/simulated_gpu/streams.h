// What the rest of the library needs of the streams' handles.
#pragma once

#include <memory>

#include "tests/simulated_gpu/driver.h"

namespace pace::simulated_gpu {

class Context;
class Stream;

// The stream of a handle, or the result of the call that was given it. The handles 0, 1 and 2 (the null stream, and what CUDA calls the legacy
// and the per-thread one) all mean the null stream of the current context. Needs a current context, whichever stream it is.
struct FoundStream {
    CUresult result = kInvalidHandle;
    std::shared_ptr<Stream> stream;

    explicit operator bool() const { return result == kSuccess; }
};
FoundStream find_stream(CUstream handle);

void forget_streams(const Context* context);

}  // namespace pace::simulated_gpu
