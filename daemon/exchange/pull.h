// Pull: what a request has asked for of a parameter server's model, and what of it has come. The request owns it: whatever ends the request
// ends this too, so that nothing that comes later finds its way into the buffers of another call.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "daemon/exchange/buffer.h"
#include "daemon/server/floats.h"

namespace pace::daemon {

// Writing that several threads do, piece by piece, and that may be stopped.
class Writing {
  public:
    // Does `piece`, unless this was stopped.
    template <typename Piece>
    void write(Piece&& piece) {
        if (stopped_) return;
        const std::shared_lock writing(mutex_);
        if (!stopped_) piece();
    }
    // No piece begins any more. Waits for those that have begun.
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
    // What came at one position of the order is of one moment. A pull that had to be asked for again may have several.
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
    uint64_t own = 0;    // the worker's own updates below this clock are wanted, too
    uint64_t first = 0;  // element of the model
    uint64_t count = 0;
    std::vector<BufferPtr> buffers;  // the request's
    std::map<uint64_t, Came> came;   // by position
    std::shared_ptr<Writing>
        writing;  // all has come, and is on its way to the buffers; null: not yet
};

}  // namespace pace::daemon
