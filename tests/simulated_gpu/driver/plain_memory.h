// The interface to the memory of cuMemAlloc for the rest of the library.
#pragma once

namespace pace::simulated_gpu {

class Context;

void forget_plain_memory(const Context* context);

}  // namespace pace::simulated_gpu
