// Questions: what was asked of the controller and is not answered yet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "daemon/control/messages.h"

namespace pace::daemon {

class Questions {
  public:
    // A question gets one answer, by the one of these functions that fits.
    struct Question {
        // Sends the question. False: there is no controller now. Called again at every attachment.
        std::function<bool()> send;
        // Accepted, with the job's options, all of which this daemon knows.
        std::function<void(const control::JoinAccepted&, const control::JobOptions&)> accepted;
        std::function<void(const base::Error&)> refused;  // also when no answer comes in time
        std::function<void(std::string)> document;
        std::function<void()> done;
    };

    // How long a question waits for a controller that does not answer.
    static constexpr base::Duration kControllerWait = std::chrono::seconds(5);

    // `problem` tells why there is no controller now, if that is known. It is what a question is
    // told that gets no answer.
    Questions(base::EventLoop& loop, std::function<std::optional<base::Error>()> problem)
        : loop_(loop), problem_(std::move(problem)) {}

    // The number of the next question, which is sent along with it.
    uint64_t new_ticket() { return next_ticket_++; }
    // Sends the question. False: there is no controller now.
    bool ask(uint64_t ticket, Question question);
    bool asks(uint64_t ticket) const { return asked_.contains(ticket); }
    // Ends the question, if it is still open.
    bool take(uint64_t ticket, Question& ret_question);
    // In the order in which they were asked: who leaves and joins again must not join first.
    void send_all_again();

  private:
    struct Asked {
        Question question;
        base::Timer timer;
    };

    base::EventLoop& loop_;
    std::function<std::optional<base::Error>()> problem_;
    std::map<uint64_t, Asked> asked_;
    uint64_t next_ticket_ = 1;
};

}  // namespace pace::daemon
