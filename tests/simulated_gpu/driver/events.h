// The interface to the events' handles for the rest of the library.
#pragma once

namespace pace::simulated_gpu {

class Context;

void forget_events(const Context* context);

}  // namespace pace::simulated_gpu
