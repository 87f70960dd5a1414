// RecordingRelay: which node has asked for another node's recording. Pure: no socket, no clock.
//
// A question is kept until it is answered or forgotten. An answer is believed only from the node
// that was asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class RecordingRelay {
  public:
    // Questions of one node, and of all, that are not answered. Guesses: a tool asks for one part
    // after the other.
    static constexpr size_t kOfOneMax = 8;
    static constexpr size_t kMax = 256;
    // Longer than a daemon waits for an answer.
    static constexpr base::Duration kForgottenAfter = std::chrono::seconds(10);

    struct Question {
        NodeId asker = 0;
        uint64_t request = 0;  // the asker's number
        NodeId asked = 0;
        uint64_t seen = 0;  // see StatusWindow
    };

    explicit RecordingRelay(uint64_t (*make_ticket)()) : make_ticket_(make_ticket) {}

    // The ticket under which the other node answers; 0 if there are too many questions.
    uint64_t ask(const Question& question, base::TimePoint now);
    // The question that `from` has answered, which is forgotten then; none if it was not asked.
    std::optional<Question> answered(uint64_t ticket, NodeId from);

  private:
    struct Kept {
        Question question;
        base::TimePoint asked_at{};
    };

    uint64_t (*make_ticket_)();
    std::map<uint64_t, Kept> kept_;  // by ticket
};

}  // namespace pace::controller
