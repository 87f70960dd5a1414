// Fuzzes a saved residual, as a checkpoint brings it back. Accepted input must be what save()
// writes.
#include <cstdlib>
#include <cstring>

#include "daemon/sparse/residual/residual.h"
#include "tests/fuzz/chunks.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

void load(const pace::fuzz::Bytes& bytes) {
    auto residual = pace::sparse::Residual::load(bytes);
    if (!residual) return;
    require(residual->save() == bytes);
    const std::vector<float> owed(residual->values().begin(), residual->values().end());
    require(residual->absorb(owed).ok());
    require(residual->begin().size() == owed.size());
    residual->discard();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    pace::fuzz::Bytes bytes = pace::fuzz::bytes_of(data, size);
    load(bytes);
    // Few inputs have a right checksum. So each input is also tried with a right checksum in place
    // of its last bytes.
    if (bytes.size() < sizeof(uint64_t)) return 0;
    const size_t hashed = bytes.size() - sizeof(uint64_t);
    const uint64_t checksum = XXH3_64bits(bytes.data(), hashed);
    std::memcpy(bytes.data() + hashed, &checksum, sizeof(checksum));
    load(bytes);
    return 0;
}
