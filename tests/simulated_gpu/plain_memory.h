// What the rest of the library needs of the memory of cuMemAlloc.
#pragma once

namespace pace::simulated_gpu {

class Context;

void forget_plain_memory(const Context* context);

}  // namespace pace::simulated_gpu
