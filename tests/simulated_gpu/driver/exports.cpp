// The library's exports: each function of PACE_CUDA_ALL_FUNCTIONS under the driver's name, and
// nothing else. Only the list gives names and types. So the exports cannot differ from what Pace
// looks for.
#include "tests/simulated_gpu/driver/calls.h"
#include "tests/simulated_gpu/driver/named_parameters.h"
#include "tests/simulated_gpu/driver/state/driver.h"

namespace pace::simulated_gpu {

#define PACE_EXPORT(name, symbol, parameters)                                               \
    __attribute__((visibility("default"))) CUresult exported_##name parameters asm(symbol); \
    CUresult exported_##name(PACE_NAMED(parameters)) {                                      \
        const CUresult refused = admit(Call::name);                                         \
        if (refused == kSuccess) return name(PACE_NAMES(parameters));                       \
        /* A failed device has also ended its current work. */                              \
        if (Call::name == Call::stream_synchronize) (void)name(PACE_NAMES(parameters));     \
        return refused;                                                                     \
    }
PACE_CUDA_ALL_FUNCTIONS(PACE_EXPORT)
#undef PACE_EXPORT

}  // namespace pace::simulated_gpu
