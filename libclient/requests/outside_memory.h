// Memory that stays the trainer's own while a copy of it is in a call: averages of copies
// (local_progress.h) and staged memory (staging.h).
//
// The functions that take a BufferTable need the session's lock. The copying needs no lock: the
// request's claims keep the buffers, and one thread at a time works on a request.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "libclient/connection/buffer.h"
#include "libclient/memory/local_progress.h"
#include "libclient/memory/staging.h"
#include "libclient/requests/request.h"

namespace pace::client {

std::vector<KeptBuffer> kept_buffers(BufferTable& buffers, const Request& request);
std::vector<StagedPart> staged_parts(BufferTable& buffers, std::span<const Part> parts);

// What a dead daemon has left in the memory of a request. `told` is what the ring says. The daemon
// never writes the trainer's own buffers of an average of copies. Memory of a GPU is copied to
// after the mark was set.
protocol::WriteState contents_left(const BufferTable& buffers, const Request& request,
                                   protocol::WriteState told);

// Brings the result of an ended request to the trainer's own memory, piece by piece.
class OutsideResult {
  public:
    OutsideResult(BufferTable& buffers, const Request& request);

    // Works on at least one piece, and on as many as there is time for. With `finishes`, works on
    // all pieces. Returns true if nothing is left to do.
    bool bring(base::TimePoint deadline, bool finishes);
    // The number of elements that are done.
    uint64_t done() const { return done_; }

  private:
    std::vector<KeptBuffer> kept_;
    std::vector<StagedPart> staged_;
    uint64_t done_;
};

}  // namespace pace::client
