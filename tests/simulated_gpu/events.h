// What the rest of the library needs of the events' handles.
#pragma once

namespace pace::simulated_gpu {

class Context;

void forget_events(const Context* context);

}  // namespace pace::simulated_gpu
