#include <utility>

#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/exit_code.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/console/repeat.h"
#include "service/pacectl/recordings/event_reader.h"

namespace pace::pacectl {

namespace {

constexpr double kEventsIntervalS = 0.5;

base::Error no_events(const Json& status) {
    return base::make_error(base::ErrorKind::invalid,
                            "the controller ({}) keeps no events; upgrade it",
                            text(status, "version"));
}

// Programs get gaps as objects among the events; people get them on stderr.
int print_new(const NewEvents& found, bool json) {
    std::string lines;
    if (found.is_restarted) {
        if (json) lines += json_line({{"restarted", true}});
        if (!json) say("another controller answers; its events are counted from the start");
    }
    if (found.dropped_last > 0) {
        const auto [first, last] = std::pair(found.dropped_first, found.dropped_last);
        if (json) lines += json_line({{"dropped", {{"first", first}, {"last", last}}}});
        if (!json)
            say(fmt::format("events {} to {} are not kept any more: {} are missing here", first,
                            last, last - first + 1));
    }
    for (const Json& event : found.events) lines += json ? json_line(event) : event_line(event);
    return lines.empty() ? kDone : print(lines);
}

}  // namespace

int show_events(const client::Endpoint& endpoint, const EventsOptions& options) {
    EventReader reader(options.since, options.job);
    const auto first = fetch_document(endpoint, "status");
    if (!first) return say_error(first.error());
    if (!has_events(*first)) return say_error(no_events(*first));
    int printed = print_new(reader.read(*first), options.json);
    if (!options.follow || printed != kDone) return printed;
    std::string failure;
    const auto ended = repeat(kEventsIntervalS, 0, [&] {
        const auto status = fetch_document(endpoint, "status");
        const std::string wrong = status ? std::string() : status.error().message;
        if (wrong != failure && !wrong.empty()) say(wrong + "; asking again");
        failure = wrong;
        if (status) printed = print_new(reader.read(*status), options.json);
        return printed != kDone;
    });
    return ended ? printed : say_error(ended.error());
}

}  // namespace pace::pacectl
