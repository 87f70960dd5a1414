// NodeRecordings: makes the recordings of one daemon, in a thread of their own.
//
// Threads: the event loop's alone calls it, and is called back on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/event_loop.h"
#include "base/loop/scope.h"
#include "base/threads/background_thread.h"
#include "daemon/recorder/recordings.h"
#include "daemon/telemetry/kept_recordings.h"
#include "daemon/telemetry/recording.h"

namespace pace::daemon {

class NodeRecordings final : public Recordings {
  public:
    // Parts that are being made at once. A guess: tools ask for one after the other.
    static constexpr size_t kPartsMax = 8;

    struct Source {
        std::string node;
        std::shared_ptr<Recorder> recorder;
        std::function<uint32_t()> self;  // this node's number; 0 while it has none
        std::function<std::optional<ClockOffset::Reading>()> controller_clock;
        std::filesystem::path folder;  // where recordings are kept; empty: nowhere
    };
    NodeRecordings(base::EventLoop& loop, Source source);

    // All records. A caller that asks while a document is being made gets that document. It is
    // empty if there was no memory for it.
    void make(Made made);

    void keep(std::string_view reason) override { kept_.keep(reason); }
    void make_part(uint64_t from, size_t bytes_max, Made made) override;

  private:
    RecordingFacts facts(const std::string& reason) const;
    // Runs `document` in the thread, then `made` on the loop.
    void run(std::function<std::string()> document, Made made);

    base::EventLoop& loop_;
    const Source source_;
    KeptRecordings kept_;
    std::vector<Made> awaiting_all_;
    size_t parts_ = 0;
    base::Scope scope_;
    base::BackgroundThread thread_;  // last: what it still does may post
};

}  // namespace pace::daemon
