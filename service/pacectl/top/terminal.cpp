#include "service/pacectl/top/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace pace::pacectl {

using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;

namespace {

constexpr std::string_view kEnter = "\033[?1049h\033[?25l";  // alternate screen, no cursor
constexpr std::string_view kLeave = "\033[0m\033[?25h\033[?1049l";
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kClearLine = "\033[K";
constexpr std::string_view kClearBelow = "\033[J";
constexpr std::string_view kPlain = "\033[0m";

// The settings that a fault must restore; set before the handlers are installed.
termios before_fault{};

void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) return;  // no terminal; the next read reports it
        text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
}

// Calls only functions that are allowed in a signal handler. Then the signal's default action ends
// the process.
void give_back_and_die(int number) {
    const ssize_t ignored = write(STDOUT_FILENO, kLeave.data(), kLeave.size());
    static_cast<void>(ignored);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_fault);
    raise(number);
}

void watch_faults(const termios& before) {
    before_fault = before;
    struct sigaction action {};
    action.sa_handler = give_back_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        sigaction(number, &action, nullptr);
}

winsize window() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        size.ws_row = 24;
        size.ws_col = 80;
    }
    return size;
}

std::string_view cut_to(std::string_view line, size_t columns) {
    size_t shown = 0;
    for (size_t i = 0; i < line.size(); ++i) {
        const bool starts_one = (static_cast<unsigned char>(line[i]) & 0xC0U) != 0x80U;
        if (starts_one && shown++ == columns) return line.substr(0, i);
    }
    return line;
}

// Uses those of the eight standard colours that are readable on light and dark backgrounds.
std::string_view sequence_of(Style style) {
    switch (style) {
        case Style::plain:
            return {};
        case Style::title:
            return "\033[7m";
        case Style::heading:
            return "\033[1m";
        case Style::good:
            return "\033[32m";
        case Style::warning:
            return "\033[33m";
        case Style::bad:
            return "\033[31m";
        case Style::faint:
            return "\033[2m";
    }
    return {};
}

}  // namespace

Result<Terminal> Terminal::open() {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
        return make_error(ErrorKind::invalid,
                          "top needs a terminal; `pacectl status` prints once, to anything");
    termios before{};
    if (tcgetattr(STDIN_FILENO, &before) != 0) return make_errno_error(errno, "read terminal");
    Terminal terminal(before, wants_colour(std::getenv("NO_COLOR"), std::getenv("TERM")));
    watch_faults(before);
    terminal.enter();
    return terminal;
}

Terminal::Terminal(Terminal&& other) noexcept
    : before_(other.before_),
      has_colour_(other.has_colour_),
      open_(std::exchange(other.open_, false)) {}

Terminal::~Terminal() {
    if (open_) leave();
}

void Terminal::enter() const {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    write_all(kEnter);
}

void Terminal::leave() const {
    write_all(kLeave);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Terminal::stop() const {
    leave();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    raise(SIGTSTP);
    // The process stops here and continues here.
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    enter();
}

void Terminal::show(std::span<const StyledLine> lines) const {
    write_all(screen_text(lines, window().ws_col, has_colour_));
}

size_t Terminal::rows() const {
    return window().ws_row;
}

std::string screen_text(std::span<const StyledLine> lines, size_t columns, bool has_colour) {
    std::string screen(kHome);
    for (size_t i = 0; i < lines.size(); ++i) {
        const std::string_view sequence =
            has_colour ? sequence_of(lines[i].style) : std::string_view();
        if (i > 0) screen += "\r\n";
        screen += sequence;
        screen += cut_to(lines[i].text, columns);
        if (!sequence.empty()) screen += kPlain;
        screen += kClearLine;
    }
    screen += kClearBelow;
    return screen;
}

bool wants_colour(const char* no_color, const char* term) {
    const bool is_refused = no_color != nullptr && *no_color != '\0';
    return !is_refused && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

}  // namespace pace::pacectl
