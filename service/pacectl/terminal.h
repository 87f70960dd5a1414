// Terminal: a full-screen view: raw keys, alternate screen, hidden cursor. Restored when destroyed.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::pacectl {

class Terminal {
  public:
    // Fails with invalid if standard input or output is no terminal.
    static base::Result<Terminal> open();
    Terminal(Terminal&& other) noexcept;
    Terminal& operator=(Terminal&&) = delete;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    // Replaces what is shown by as many lines, and as much of each, as fit.
    void show(std::string_view text) const;

    size_t rows() const;

  private:
    explicit Terminal(const termios& before) : before_(before) {}

    termios before_;
    bool open_ = true;
};

// `text` cut to `rows` lines of `columns` code points, for a screen: one escape sequence clears the
// rest of each line. Pure.
std::string screen_text(std::string_view text, size_t rows, size_t columns);

}  // namespace pace::pacectl
