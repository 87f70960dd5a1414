#include "daemon/families/serving/letter_watch.h"

#include <utility>

#include "base/training_events.h"

namespace pace::daemon {

namespace {

// A node that lets others wait for so long may not be there any more.
constexpr base::Duration kSuspicious = std::chrono::milliseconds(100);

}  // namespace

std::vector<NodeId> LetterWatch::look(base::TimePoint now) {
    std::vector<NodeId> waits_for;
    bool moving = false;
    for (const ServerMail::Overdue& overdue : mail_.overdue(now, kSuspicious)) {
        waits_for.push_back(overdue.node);
        moving = moving || overdue.moving;
        if (!overdue.moving && overdue.silent >= job_.services.options.answer_wait)
            want_view(job_.services.peers.name(overdue.node) + " does not answer", overdue.silent);
    }
    if (!host_.awaited_round() || moving) {
        awaits_model_since_.reset();
    } else if (!awaits_model_since_) {
        awaits_model_since_ = now;
    } else if (now - *awaits_model_since_ >= job_.services.options.answer_wait) {
        want_view("the model of a pace_broadcast does not come", now - *awaits_model_since_);
    }
    return waits_for;
}

void LetterWatch::want_view(const std::string& reason, base::Duration silent) {
    if (std::exchange(job_.wants_view, true)) return;
    base::log_event(base::events::kLettersLate,
                    {{"job", job_.options.name},
                     {"reason", reason},
                     {"silent_ms", silent / std::chrono::milliseconds(1)}});
}

}  // namespace pace::daemon
