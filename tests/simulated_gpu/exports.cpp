// What the library exports: each function of PACE_CUDA_FUNCTIONS under the driver's name, nothing else. The list alone says names and
// types, so that what Pace looks for and what is here cannot differ.
#include "tests/simulated_gpu/calls.h"
#include "tests/simulated_gpu/driver.h"

namespace pace::simulated_gpu {

// The list has types without names: these give them the names a, b, c, …
#define PACE_NAMED_1(A) A a
#define PACE_NAMED_2(A, B) A a, B b
#define PACE_NAMED_3(A, B, C) A a, B b, C c
#define PACE_NAMED_4(A, B, C, D) A a, B b, C c, D d
#define PACE_NAMED_5(A, B, C, D, E) A a, B b, C c, D d, E e
#define PACE_NAMES_1 a
#define PACE_NAMES_2 a, b
#define PACE_NAMES_3 a, b, c
#define PACE_NAMES_4 a, b, c, d
#define PACE_NAMES_5 a, b, c, d, e
#define PACE_FIRST_AFTER_FIVE(a, b, c, d, e, count, ...) count
#define PACE_COUNT(...) PACE_FIRST_AFTER_FIVE(__VA_ARGS__, 5, 4, 3, 2, 1, 0)
#define PACE_JOIN_NOW(a, b) a##b
#define PACE_JOIN(a, b) PACE_JOIN_NOW(a, b)
#define PACE_NAMED(parameters) PACE_JOIN(PACE_NAMED_, PACE_COUNT parameters) parameters
#define PACE_NAMES(parameters) PACE_JOIN(PACE_NAMES_, PACE_COUNT parameters)

#define PACE_EXPORT(name, symbol, parameters)                                               \
    __attribute__((visibility("default"))) CUresult exported_##name parameters asm(symbol); \
    CUresult exported_##name(PACE_NAMED(parameters)) {                                      \
        const CUresult refused = admit(Call::name);                                         \
        return refused == kSuccess ? name(PACE_NAMES(parameters)) : refused;                \
    }
PACE_CUDA_FUNCTIONS(PACE_EXPORT)
#undef PACE_EXPORT

}  // namespace pace::simulated_gpu
