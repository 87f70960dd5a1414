#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "service/pacectl/commands.h"
#include "service/pacectl/output.h"
#include "service/pacectl/status_text.h"
#include "service/pacectl/terminal.h"
#include "service/pacectl/wakeups.h"

namespace pace::pacectl {

namespace {

// A daemon that is away is shown as that, and asked again at the next tick.
std::string view(const client::Endpoint& endpoint, size_t rows) {
    const std::string title = "pacectl top, q ends\n";
    const auto status = fetch_document(endpoint, "status");
    if (!status) return title + "\n" + printable(status.error().message) + "\n";
    const size_t jobs = std::max<size_t>(list(*status, "jobs").size(), 1);
    // Half of the screen for workers, what is left for the rest: no list drowns the others.
    const StatusLimits limits{.nodes = std::max<size_t>(rows / 6, 3),
                              .workers = std::max<size_t>(rows / 2 / jobs, 3),
                              .groups = std::max<size_t>(rows / 8 / jobs, 2),
                              .links = 0};
    return title + status_text(*status, limits);
}

Wish read_keys() {
    std::array<char, 64> keys{};
    const ssize_t got = read(STDIN_FILENO, keys.data(), keys.size());
    if (got <= 0) return Wish::end;  // the terminal is gone
    for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
        if (keys[i] == 'q' || keys[i] == 'Q') return Wish::end;
    }
    return Wish::redraw;
}

}  // namespace

int run_top(const client::Endpoint& endpoint, double interval_s) {
    auto signals = watch_signals();
    if (!signals) return say_error(signals.error());
    auto timer = tick_every(interval_s);
    if (!timer) return say_error(timer.error());
    const auto terminal = Terminal::open();
    if (!terminal) return say_error(terminal.error());
    std::array<pollfd, 3> sources{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{timer->get(), POLLIN, 0},
                                  pollfd{signals->get(), POLLIN, 0}};
    for (;;) {
        if (poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR) return 1;
        std::array<Wish, 3> wishes{};
        if (sources[0].revents != 0) wishes[0] = read_keys();
        if (sources[1].revents != 0) wishes[1] = read_ticks(timer->get());
        if (sources[2].revents != 0) wishes[2] = read_signals(signals->get());
        const Wish wish = std::max({wishes[0], wishes[1], wishes[2]});
        if (wish == Wish::end) return 0;
        if (wish == Wish::redraw) terminal->show(view(endpoint, terminal->rows()));
    }
}

}  // namespace pace::pacectl
