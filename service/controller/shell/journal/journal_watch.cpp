#include "service/controller/shell/journal/journal_watch.h"

#include <cerrno>
#include <cstring>

#include "base/log/controller_events.h"

namespace pace::controller {

namespace {

// An error has a kind, which a broken disk and a full one share, and the system's message.
bool is_full(const base::Error& failure) {
    for (const int number : {ENOSPC, EDQUOT})
        if (failure.message.find(std::strerror(number)) != std::string::npos) return true;
    return false;
}

}  // namespace

void JournalWatch::look(const std::optional<base::Error>& failure) {
    if (failure && failure->message != told_)
        base::log_event(is_full(*failure) ? base::events::kDiskFull : base::events::kJournalFailed,
                        {{"because", failure->message}});
    if (!failure && !told_.empty()) base::log_event(base::events::kJournalWritesAgain);
    told_ = failure ? failure->message : std::string();
}

}  // namespace pace::controller
