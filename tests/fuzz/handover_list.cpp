// What a node that leaves says it owes. What is accepted is what a node writes.
#include <cstdlib>

#include "daemon/exchange/handover_list.h"
#include "tests/fuzz/chunks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    pace::fuzz::Bytes bytes = pace::fuzz::bytes_of(data, size);
    if (pace::daemon::read_handover_list(bytes) && bytes.size() != pace::daemon::kHandoverListBytes)
        std::abort();
    // Nearly all inputs are of another size, at which reading ends.
    bytes.resize(pace::daemon::kHandoverListBytes);
    const auto debts = pace::daemon::read_handover_list(bytes);
    if (debts && pace::daemon::write(*debts) != bytes) std::abort();
    return 0;
}
