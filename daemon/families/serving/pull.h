// Pull: what a request has asked for of a parameter server's model, and what has come of it. The
// request owns the Pull: whatever ends the request ends the Pull too, so that nothing that comes
// later gets into the buffers of another call.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "daemon/runtime/buffer.h"
#include "daemon/server/floats.h"

namespace pace::daemon {

// Writing: writes that several threads make, piece by piece, and that can be stopped.
class Writing {
  public:
    // Runs `piece`, unless stop() was called.
    template <typename Piece>
    void write(Piece&& piece) {
        if (stopped_) return;
        const std::shared_lock writing(mutex_);
        if (!stopped_) piece();
    }
    // No piece begins any more. Waits for pieces that have begun.
    void stop() {
        stopped_ = true;
        const std::unique_lock none(mutex_);
    }
    bool is_stopped() const { return stopped_; }

  private:
    std::atomic<bool> stopped_ = false;
    std::shared_mutex mutex_;
};

struct Pull {
    // All parts that came at one position of the order are of one moment. A pull that had to be
    // asked for again may have parts of several positions. The newest are those that will be whole.
    static constexpr size_t kPositionsMax = 4;
    struct Came {
        std::map<uint32_t, server::Floats> parts;  // by shard
        uint64_t elements = 0;
    };

    Pull() = default;
    Pull(const Pull&) = delete;
    Pull& operator=(const Pull&) = delete;
    ~Pull() {
        if (writing) writing->stop();
    }

    uint64_t clock = 0;
    uint64_t own = 0;    // also include the worker's own updates below this clock
    uint64_t first = 0;  // element of the model
    uint64_t count = 0;
    std::vector<BufferPtr> buffers;  // the request's
    std::map<uint64_t, Came> came;   // by position
    std::shared_ptr<Writing>
        writing;  // all parts have come and are being written to the buffers; null: not yet
};

}  // namespace pace::daemon
