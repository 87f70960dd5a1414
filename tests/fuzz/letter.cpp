// Fuzzes a peer's letter about a shard: its head, then its elements. Accepted input is written the
// same, and stays within the shard.
#include <cstdlib>

#include "daemon/server/letter.h"
#include "tests/fuzz/chunks.h"

namespace {

using pace::fuzz::Bytes;

constexpr size_t kLength = 1000;

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const Bytes bytes = pace::fuzz::bytes_of(data, size);
    if (bytes.size() < pace::server::kLetterBytes) return 0;
    const auto head = std::span(bytes).first<pace::server::kLetterBytes>();
    const auto letter = pace::server::read_head(head, kLength);
    if (!letter) return 0;
    const auto written = pace::server::write_head(*letter);
    require(std::equal(written.begin(), written.end(), head.begin()));
    const auto rest = std::span(bytes).subspan(pace::server::kLetterBytes);
    const auto vector = pace::server::read_vector(*letter, kLength, rest);
    if (!vector) return 0;
    std::vector<float> out(kLength, 0.0F);
    vector->add_to(out, 1.0);
    pace::server::Letter again;
    (void)pace::server::write_elements(*vector, again);
    return 0;
}
