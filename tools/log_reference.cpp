// log_reference: prints docs/log-messages.md, or the message catalogue of systemd, from the tables
// in base/log/log_events.h.
//
//     log_reference > docs/log-messages.md
//     log_reference catalogue > service/systemd/pace.catalog
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/log/log_events.h"

namespace {

using pace::base::LogEvent;
using pace::base::LogLevel;
namespace events = pace::base::events;

constexpr const char* kIntroduction = R"(# Log messages

Written by `log_reference` from the tables in `base/log/log_events.h`; change those, not this page.

Each event that an operator may have to act upon has a `MESSAGE_ID`, which never changes. Under systemd the programs give the journal fields of their own, so that events are found without reading words:

```sh
journalctl --unit paced --unit pace-controller --catalog       # each with what it means and what to do
journalctl JOB=fashion RANK=3                                   # all that concerns one worker
journalctl MESSAGE_ID=ID --output json                          # one event of the tables below, for programs
```

| field | what it has |
|---|---|
| `MESSAGE` | the line as a terminal has it: the event, then `key=value` pairs, then `advice=` |
| `MESSAGE_ID` | which event it is; none for what nobody has to act upon |
| `PRIORITY` | 3 error, 4 warning, 6 information, 7 for who looks for a defect |
| `JOB`, `RANK` | of the worker that it concerns, or the job alone |
| `NODE` | this node, by name; in a message of the controller the node that it concerns |
| `PEER` | the other node |
| `EXCHANGE` | `group N` or `round N` of the job |
| `CODE_FILE`, `CODE_LINE` | where it is said in the sources |
| `PACE_REASON`, ... | every other pair of the line: `PACE_` and its key in capitals |

Where standard error is not the journal, the same line goes there, with the time. Nobody waits for the log: what the journal, a pipe or a terminal does not take at once is dropped, and `log entries were lost` tells how much.

)";

std::string_view level_of(const LogEvent& event) {
    switch (event.level) {
        case LogLevel::error:
            return "error";
        case LogLevel::warning:
            return "warning";
        default:
            return "information";
    }
}

template <typename Events>
void print_table(const char* title, const Events& all) {
    fmt::print(
        "## {}\n\n| message | level | it means | what to do | `MESSAGE_ID` "
        "|\n|---|---|---|---|---|\n",
        title);
    for (const LogEvent* event : all)
        fmt::print("| `{}` | {} | {} | {} | `{}` |\n", event->text, level_of(*event),
                   event->meaning, event->advice.empty() ? "-" : event->advice, event->id);
    fmt::print("\n");
}

template <typename Events>
void print_entries(const Events& all) {
    for (const LogEvent* event : all) {
        fmt::print("-- {}\nSubject: Pace: {}\nDefined-By: Pace\n\n{}\n", event->id, event->text,
                   event->meaning);
        if (!event->advice.empty()) fmt::print("\nWhat to do: {}.\n", event->advice);
        fmt::print("\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "catalogue") {
        fmt::print("# Written by log_reference from the tables in base/log/log_events.h.\n\n");
        print_entries(events::kOfDaemons);
        print_entries(events::kOfTrainings);
        print_entries(events::kOfControllers);
        return 0;
    }
    fmt::print("{}", kIntroduction);
    print_table("Of a daemon", events::kOfDaemons);
    print_table("Of a daemon, about workers, exchanges and models", events::kOfTrainings);
    print_table("Of the controller", events::kOfControllers);
    return 0;
}
