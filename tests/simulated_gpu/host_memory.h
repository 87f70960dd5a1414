// What the rest of the library needs of the host memory that is registered.
#pragma once

namespace pace::simulated_gpu {

class Context;

void forget_host_memory(const Context* context);

}  // namespace pace::simulated_gpu
