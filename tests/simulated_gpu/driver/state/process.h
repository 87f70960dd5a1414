// The state of this process for the driver, from before cuInit to after the end of main.
#pragma once

namespace pace::simulated_gpu {

enum class ProcessState {
    fresh,        // cuInit has not succeeded
    initialized,  // the only state in which anything works
    forked,       // the child of an initialized process; only exec helps
    ended         // exit() has ended the streams
};

ProcessState process_state();

// Must be called after cuInit's success. Any thread may call it, any number of times.
void initialize_process();

}  // namespace pace::simulated_gpu
