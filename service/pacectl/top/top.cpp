#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "service/pacectl/console/commands.h"
#include "service/pacectl/console/exit_code.h"
#include "service/pacectl/console/output.h"
#include "service/pacectl/console/wakeups.h"
#include "service/pacectl/status/status_feed.h"
#include "service/pacectl/top/terminal.h"
#include "service/pacectl/top/top_view.h"

namespace pace::pacectl {

namespace {

// A live view. The owner of the terminal restores it after the view has ended.
class Top {
  public:
    Top(StatusFeed feed, const Terminal& terminal, const TopOptions& options)
        : feed_(std::move(feed)), terminal_(terminal) {
        state_.job = options.job;
        state_.sort_key = options.sort_key;
    }

    int run(int signals, int ticks) {
        std::array<pollfd, 4> sources{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{ticks, POLLIN, 0},
                                      pollfd{signals, POLLIN, 0}, pollfd{feed_.fd(), POLLIN, 0}};
        for (;;) {
            if (poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR) return kNo;
            Wish wish = Wish::none;
            if (sources[0].revents != 0) wish = std::max(wish, read_keys());
            if (sources[1].revents != 0) tick(ticks);
            if (sources[2].revents != 0) wish = std::max(wish, read_signals(signals));
            if (sources[3].revents != 0) wish = std::max(wish, take_status());
            if (wish == Wish::end) return kDone;
            if (wish == Wish::stop) terminal_.stop();
            if (wish == Wish::take_again) terminal_.enter();
            if (wish != Wish::none) draw();
        }
    }

  private:
    void tick(int ticks) {
        read_ticks(ticks);
        if (!state_.is_paused) feed_.ask();
    }

    // If the daemon does not answer, shows this above the last known status. The next tick asks
    // again.
    Wish take_status() {
        auto answer = feed_.take();
        if (!answer || state_.is_paused) return Wish::none;
        failure_.clear();
        if (*answer) {
            status_ = std::move(**answer);
            state_.jobs = job_names(status_);
            is_known_ = true;
        } else {
            failure_ = printable(answer->error().message);
        }
        return Wish::redraw;
    }

    Wish read_keys() {
        std::array<char, 256> bytes{};
        const ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) return Wish::none;
        if (got <= 0) return Wish::end;  // the terminal is gone
        for (const Key& key : keys_.read({bytes.data(), static_cast<size_t>(got)})) {
            const TopWish wish = press(state_, key);
            if (wish == TopWish::end) return Wish::end;
            if (wish == TopWish::refresh) feed_.ask();
        }
        return Wish::redraw;
    }

    void draw() {
        TopView view = top_view(status_, state_, failure_);
        if (!is_known_ && !state_.shows_help)
            view.body = {{}, {failure_.empty() ? "asking the daemon …" : "", Style::faint}};
        terminal_.show(visible_lines(view, state_, terminal_.rows()));
    }

    StatusFeed feed_;
    const Terminal& terminal_;
    KeyReader keys_;
    TopState state_;
    Json status_ = Json::object();
    bool is_known_ = false;
    std::string failure_;
};

}  // namespace

int run_top(const client::Endpoint& endpoint, const TopOptions& options) {
    auto feed = StatusFeed::open(endpoint);
    if (!feed) return say_error(feed.error());
    auto ticks = tick_every(options.interval_s);
    if (!ticks) return say_error(ticks.error());
    auto signals = watch_signals(Signals::of_terminal);
    if (!signals) return say_error(signals.error());
    const auto terminal = Terminal::open();
    if (!terminal) return say_error(terminal.error());
    return Top(std::move(*feed), *terminal, options).run(signals->get(), ticks->get());
}

}  // namespace pace::pacectl
