#include "daemon/telemetry/node_recordings.h"

#include <utility>

#include "base/attempt.h"

namespace pace::daemon {

NodeRecordings::NodeRecordings(base::EventLoop& loop, Source source)
    : loop_(loop),
      source_(std::move(source)),
      kept_(loop, source_.folder, [this](const std::string& reason) {
          return begin_recording(*source_.recorder, facts(reason));
      }) {}

// The controller names only the other nodes.
RecordingFacts NodeRecordings::facts(const std::string& reason) const {
    if (const uint32_t self = source_.self(); self != 0)
        source_.recorder->name_node(self, source_.node);
    return {source_.node, source_.controller_clock(), reason};
}

void NodeRecordings::run(std::function<std::string()> document, Made made) {
    const auto json = std::make_shared<std::string>();
    const auto tell = scope_.callback([json, made = std::move(made)] { made(*json); });
    thread_.run([json, tell, document = std::move(document), post = loop_.poster()] {
        (void)base::attempt([&] { *json = document(); });
        post(tell);
    });
}

void NodeRecordings::make(Made made) {
    awaiting_all_.push_back(std::move(made));
    if (awaiting_all_.size() > 1) return;
    run(begin_recording(*source_.recorder, facts({})), [this](const std::string& json) {
        for (const Made& awaits : std::exchange(awaiting_all_, {})) awaits(json);
    });
}

void NodeRecordings::make_part(uint64_t from, size_t bytes_max, Made made) {
    if (parts_ >= kPartsMax) return;
    ++parts_;
    run(begin_recording_part(*source_.recorder, facts({}), {from, bytes_max}),
        [this, made = std::move(made)](const std::string& json) {
            --parts_;
            made(json);
        });
}

}  // namespace pace::daemon
