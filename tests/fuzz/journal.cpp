// Fuzzes a journal as a crash, a bad disk or an attacker may leave it. The journal is recovered as
// far as its checks hold. Then it is replayed into a core, which must go on.
#include <chrono>
#include <cstdlib>

#include "service/controller/core/core.h"
#include "service/controller/core/journal/journal_record.h"
#include "service/controller/core/status/status.h"
#include "service/controller/shell/journal/journal_format.h"
#include "tests/fuzz/chunks.h"

namespace {

using namespace pace::controller;

uint64_t make_token() {
    return 7;
}

void require(bool holds) {
    if (!holds) std::abort();
}

void replay_into_core(const std::vector<std::span<const std::byte>>& records) {
    Core core(CoreOptions{}, &make_token);
    for (const auto record : records) {
        if (const auto decoded = decode(record)) require(*decode(encode(*decoded)) == *decoded);
        if (!core.replay(record)) break;
    }
    const pace::base::TimePoint now{std::chrono::hours(1)};
    core.replay_finished(now);
    Actions actions;
    core.handle(Tick{}, now + std::chrono::hours(1), actions);
    (void)core.status(now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const pace::fuzz::Bytes bytes = pace::fuzz::bytes_of(data, size);
    if (const auto journal = recover_journal(bytes)) {
        require(journal->good_bytes <= bytes.size());
        replay_into_core(journal->records);
    }
    // Few inputs have a right checksum. So the records are also tried without one.
    const auto chunks = pace::fuzz::chunks_of(bytes);
    replay_into_core({chunks.begin(), chunks.end()});
    return 0;
}
