#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>

#include "base/unique_fd.h"
#include "service/pacectl/commands.h"
#include "service/pacectl/output.h"
#include "service/pacectl/status_text.h"
#include "service/pacectl/terminal.h"

namespace pace::pacectl {

using base::make_errno_error;
using base::Result;
using base::UniqueFd;

namespace {

// SIGINT and SIGTERM end the view, SIGWINCH draws it anew; all as a descriptor.
Result<UniqueFd> watch_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGWINCH);
    if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return make_errno_error(errno, "block signals");
    UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.valid()) return make_errno_error(errno, "watch signals");
    return fd;
}

Result<UniqueFd> tick_every(double interval_s) {
    UniqueFd fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!fd.valid()) return make_errno_error(errno, "create a timer");
    itimerspec spec{};
    spec.it_interval.tv_sec = static_cast<time_t>(interval_s);
    spec.it_interval.tv_nsec =
        std::lround((interval_s - std::floor(interval_s)) * 1e9) % 1'000'000'000;
    spec.it_value.tv_nsec = 1;  // the first one now
    if (timerfd_settime(fd.get(), 0, &spec, nullptr) != 0)
        return make_errno_error(errno, "set a timer");
    return fd;
}

// A daemon that is away is shown as that, and asked again at the next tick.
std::string view(const client::Endpoint& endpoint, size_t rows) {
    const std::string title = "pacectl top, q ends\n";
    const auto status = fetch_document(endpoint, "status");
    if (!status) return title + "\n" + printable(status.error().message) + "\n";
    const size_t jobs = std::max<size_t>(list(*status, "jobs").size(), 1);
    // Half of the screen for workers, what is left for the rest: no list drowns the others.
    const StatusLimits limits{.nodes = std::max<size_t>(rows / 6, 3),
                              .workers = std::max<size_t>(rows / 2 / jobs, 3),
                              .groups = std::max<size_t>(rows / 8 / jobs, 2)};
    return title + status_text(*status, limits);
}

// What a wake-up asks for.
enum class Wish { none, redraw, end };

Wish read_signals(int fd) {
    signalfd_siginfo info{};
    Wish wish = Wish::none;
    while (read(fd, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
        if (info.ssi_signo != SIGWINCH) return Wish::end;
        wish = Wish::redraw;
    }
    return wish;
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

Wish read_timer(int fd) {
    uint64_t ticks = 0;
    return read(fd, &ticks, sizeof(ticks)) > 0 ? Wish::redraw : Wish::none;
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
        if (sources[1].revents != 0) wishes[1] = read_timer(timer->get());
        if (sources[2].revents != 0) wishes[2] = read_signals(signals->get());
        const Wish wish = std::max({wishes[0], wishes[1], wishes[2]});
        if (wish == Wish::end) return 0;
        if (wish == Wish::redraw) terminal->show(view(endpoint, terminal->rows()));
    }
}

}  // namespace pace::pacectl
