#include "daemon/jobs/questions.h"

#include <utility>
#include <vector>

namespace pace::daemon {

namespace {

base::Error no_answer() {
    return base::make_error(base::ErrorKind::no_controller,
                            "the controller does not answer; check that it runs and that this "
                            "daemon's `controller` setting names it");
}

}  // namespace

bool Questions::ask(uint64_t ticket, Question question) {
    auto timer = loop_.run_after(kControllerWait, [this, ticket] {
        Question late;
        if (!take(ticket, late)) return;
        late.refused(problem_().value_or(no_answer()));
    });
    const auto [entry, inserted] =
        asked_.emplace(ticket, Asked{std::move(question), std::move(timer)});
    return entry->second.question.send();
}

bool Questions::take(uint64_t ticket, Question& ret_question) {
    const auto entry = asked_.find(ticket);
    if (entry == asked_.end()) return false;
    ret_question = std::move(entry->second.question);
    asked_.erase(entry);
    return true;
}

void Questions::send_all_again() {
    std::vector<std::function<bool()>> sends;
    for (const auto& [ticket, asked] : asked_) sends.push_back(asked.question.send);
    for (const auto& send : sends) send();
}

}  // namespace pace::daemon
