#include "libclient/memory/staging.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "libclient/memory/pieces.h"

namespace pace::client {

uint64_t copy_in(std::span<const StagedPart> parts, uint64_t first, uint64_t count) {
    return for_piece(parts, first, count, [](const StagedPart& part, uint64_t begin, uint64_t end) {
        if (part.outside == nullptr) return;
        const size_t at = begin * part.element_bytes;
        std::memcpy(part.shared + at, part.outside + at, (end - begin) * part.element_bytes);
    });
}

uint64_t copy_out(std::span<const StagedPart> parts, uint64_t first, uint64_t count) {
    return for_piece(parts, first, count, [](const StagedPart& part, uint64_t begin, uint64_t end) {
        if (part.outside == nullptr) return;
        const size_t at = begin * part.element_bytes;
        std::memcpy(part.outside + at, part.shared + at, (end - begin) * part.element_bytes);
    });
}

bool is_writable(const void* begin, uint64_t bytes) {
    auto at = reinterpret_cast<uintptr_t>(begin);
    const uintptr_t end = at + bytes;
    if (end < at) return false;
    std::ifstream maps("/proc/self/maps");
    // Without a mounted /proc nobody can say, so the answer is yes.
    if (!maps) return true;
    // The lines look like "7f12a000-7f12c000 rw-p ..." and are ordered by address.
    for (std::string line; at < end && std::getline(maps, line);) {
        uintptr_t from = 0;
        uintptr_t to = 0;
        char read = '-';
        char write = '-';
        // NOLINTNEXTLINE(cert-err34-c): the kernel's own words
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %c%c", &from, &to, &read,
                        &write) != 4)
            return false;
        if (to <= at) continue;
        if (from > at || read != 'r' || write != 'w') return false;
        at = to;
    }
    return at >= end;
}

}  // namespace pace::client
