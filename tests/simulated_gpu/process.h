// What this process is to the driver: from before cuInit to after the end of main.
#pragma once

namespace pace::simulated_gpu {

enum class ProcessState {
    fresh,        // cuInit has not succeeded
    initialized,  // the only state in which anything works
    forked,       // the child of such a process; only exec helps
    ended         // exit() has ended the streams
};

ProcessState process_state();

// After cuInit's success; any thread, any number of times.
void initialize_process();

}  // namespace pace::simulated_gpu
