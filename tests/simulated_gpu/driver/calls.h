// Calls: the checks that every call of the driver passes before its function runs.
#pragma once

#include "tests/simulated_gpu/driver/state/driver.h"

namespace pace::simulated_gpu {

// Returns success if the call may go on. Otherwise returns the result that the call must return at
// once. This is the fault that a test has asked for, or the reason why no function of the driver
// can be called here: before cuInit, in the child of a fork, in a host function, or after the end
// of main.
CUresult admit(Call call);

// The contexts of this process fail for good: a stream's work has touched memory that is not there.
void fail_for_good();

}  // namespace pace::simulated_gpu
