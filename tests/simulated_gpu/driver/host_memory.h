// The interface to registered host memory for the rest of the library.
#pragma once

namespace pace::simulated_gpu {

class Context;

void forget_host_memory(const Context* context);

}  // namespace pace::simulated_gpu
