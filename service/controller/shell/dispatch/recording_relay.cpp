#include "service/controller/shell/dispatch/recording_relay.h"

#include <algorithm>

namespace pace::controller {

uint64_t RecordingRelay::ask(const Question& question, base::TimePoint now) {
    std::erase_if(
        kept_, [now](const auto& entry) { return now - entry.second.asked_at > kForgottenAfter; });
    const auto of_asker = std::count_if(kept_.begin(), kept_.end(), [&](const auto& entry) {
        return entry.second.question.asker == question.asker;
    });
    if (kept_.size() >= kMax || static_cast<size_t>(of_asker) >= kOfOneMax) return 0;
    const uint64_t ticket = make_ticket_();
    kept_[ticket] = {question, now};
    return ticket;
}

std::optional<RecordingRelay::Question> RecordingRelay::answered(uint64_t ticket, NodeId from) {
    const auto found = kept_.find(ticket);
    if (found == kept_.end() || found->second.question.asked != from) return std::nullopt;
    const Question question = found->second.question;
    kept_.erase(found);
    return question;
}

}  // namespace pace::controller
