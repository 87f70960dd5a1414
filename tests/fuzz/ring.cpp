// Fuzzes the writes of a trainer into the ring's shared memory. The trainer may write indices and
// entries at any time, between two looks of the daemon. The daemon takes an entry that passed every
// check, or gives the reason why not. It never takes more than the ring holds.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "daemon/clients/buffer_table.h"
#include "daemon/clients/ring_server.h"
#include "daemon/clients/submission.h"
#include "protocol/version.h"
#include "tests/fuzz/chunks.h"

namespace {

using namespace pace;

void require(bool holds) {
    if (!holds) std::abort();
}

daemon::BufferTable two_buffers() {
    daemon::BufferTable table;
    for (int i = 0; i < 2; ++i) {
        auto buffer = std::make_shared<daemon::Buffer>();
        buffer->count = 1;
        table.add(buffer);
    }
    return table;
}

// The trainer's side. A chunk is an offset (2 bytes, in units of 4 bytes) and the bytes to write
// there.
void scribble(std::span<std::byte> memory, std::span<const std::byte> chunk) {
    if (chunk.size() < 2) return;
    size_t at = std::to_integer<size_t>(chunk[0]) | std::to_integer<size_t>(chunk[1]) << 8U;
    at = at * 4 % memory.size();
    chunk = chunk.subspan(2);
    std::memcpy(memory.data() + at, chunk.data(), std::min(chunk.size(), memory.size() - at));
}

// The daemon's turn. Returns false if the session has ended.
bool take_all(daemon::RingServer& ring, const daemon::BufferTable& buffers) {
    protocol::SubmissionEntry entry{};
    for (uint32_t taken = 0;; ++taken) {
        require(taken <= ring.layout().slots);
        const auto there = ring.take(entry);
        if (!there) return false;
        if (!*there) return true;
        if (const auto request = daemon::check_submission(entry, buffers)) {
            require(protocol::is_valid(request->verb));
            require(request->buffers.size() <= 2);
        }
        ring.complete(entry.id, daemon::ended_as(protocol::Outcome::canceled, "x"));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const daemon::BufferTable buffers = two_buffers();
    auto ring = daemon::RingServer::create(protocol::kVersion, 4, nullptr);
    if (!ring) return 0;
    const auto trainer =
        base::MappedMemfd::adopt(base::UniqueFd(dup(ring->memory_fd())), ring->layout().bytes());
    require(trainer.ok());
    for (const auto& chunk : fuzz::chunks_of(fuzz::bytes_of(data, size))) {
        scribble(trainer->bytes(), chunk);
        if (!take_all(*ring, buffers)) return 0;
        (void)ring->arm();
        ring->disarm();
    }
    return 0;
}
