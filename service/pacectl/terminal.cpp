#include "service/pacectl/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace pace::pacectl {

using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;

namespace {

constexpr std::string_view kEnter = "\033[?1049h\033[?25l";  // alternate screen, no cursor
constexpr std::string_view kLeave = "\033[?25h\033[?1049l";
constexpr std::string_view kHome = "\033[H";
constexpr std::string_view kClearLine = "\033[K";
constexpr std::string_view kClearBelow = "\033[J";

void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno != EINTR) return;  // the terminal is gone; the next read says so
        text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
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

}  // namespace

Result<Terminal> Terminal::open() {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
        return make_error(ErrorKind::invalid,
                          "top needs a terminal; `pacectl status` prints once, to anything");
    termios before{};
    if (tcgetattr(STDIN_FILENO, &before) != 0) return make_errno_error(errno, "read terminal");
    termios raw = before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) return make_errno_error(errno, "set terminal");
    write_all(kEnter);
    return Terminal(before);
}

Terminal::Terminal(Terminal&& other) noexcept
    : before_(other.before_), open_(std::exchange(other.open_, false)) {}

Terminal::~Terminal() {
    if (!open_) return;
    write_all(kLeave);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Terminal::show(std::string_view text) const {
    const winsize size = window();
    write_all(screen_text(text, size.ws_row, size.ws_col));
}

size_t Terminal::rows() const {
    return window().ws_row;
}

std::string screen_text(std::string_view text, size_t rows, size_t columns) {
    std::string screen(kHome);
    for (size_t row = 0; row < rows && !text.empty(); ++row) {
        const size_t end = std::min(text.find('\n'), text.size());
        if (row > 0) screen += "\r\n";
        screen += cut_to(text.substr(0, end), columns);
        screen += kClearLine;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    screen += kClearBelow;
    return screen;
}

}  // namespace pace::pacectl
