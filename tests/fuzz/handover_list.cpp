// Fuzzes the list of residuals that a leaving node sends. Accepted input is what a node writes.
#include <cstdlib>

#include "daemon/members/handover_list.h"
#include "tests/fuzz/chunks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    pace::fuzz::Bytes bytes = pace::fuzz::bytes_of(data, size);
    if (pace::daemon::read_handover_list(bytes) && bytes.size() != pace::daemon::kHandoverListBytes)
        std::abort();
    // Nearly all inputs have another size, and reading ends there. So the input is tried with the
    // right size, too.
    bytes.resize(pace::daemon::kHandoverListBytes);
    const auto debts = pace::daemon::read_handover_list(bytes);
    if (debts && pace::daemon::write(*debts) != bytes) std::abort();
    return 0;
}
