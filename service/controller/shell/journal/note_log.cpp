#include "service/controller/shell/journal/note_log.h"

#include <algorithm>

#include "base/log/log_events.h"

namespace pace::controller {

void log_note(const Note& note, std::string_view from) {
    const bool tells_from = !from.empty() && note.event == base::events::kDaemonRefused.text;
    const About& about = note.about;
    const base::LogFields fields = {
        {tells_from ? "from" : "", from},
        {about.job.empty() ? "" : "job", about.job},
        {about.rank ? "rank" : "", about.rank.value_or(0)},
        {about.node.empty() ? "" : "node", about.node},
        {"detail", note.detail},
    };
    const auto& known = base::events::kOfControllers;
    const auto event = std::find_if(known.begin(), known.end(), [&note](const auto* candidate) {
        return candidate->text == note.event;
    });
    if (event != known.end()) return base::log_event(**event, fields);
    base::log_line(note.warning ? base::LogLevel::warning : base::LogLevel::info, note.event,
                   fields);
}

}  // namespace pace::controller
