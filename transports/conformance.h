// The transports' contract as one suite of tests that every transport passes:
//     PACE_INSTANTIATE_CONFORMANCE(Memory, MemoryFabric);
// conformance/fixture.h describes a Fabric.
#pragma once

#include "transports/conformance/delivery.h"
#include "transports/conformance/failures.h"
#include "transports/conformance/matching.h"
#include "transports/conformance/reachability.h"

#define PACE_INSTANTIATE_CONFORMANCE(name, fabric)              \
    namespace pace::transports::conformance {                   \
    INSTANTIATE_TYPED_TEST_SUITE_P(name, Delivery, fabric);     \
    INSTANTIATE_TYPED_TEST_SUITE_P(name, Matching, fabric);     \
    INSTANTIATE_TYPED_TEST_SUITE_P(name, Failures, fabric);     \
    INSTANTIATE_TYPED_TEST_SUITE_P(name, Reachability, fabric); \
    }                                                           \
    static_assert(true, "so that a semicolon may follow")
