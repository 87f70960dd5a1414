// Terminal: a full-screen view: raw keys, alternate screen, hidden cursor. The destructor restores
// the terminal, and so does a fault that kills the process.
#pragma once

#include <termios.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "service/pacectl/top/top_view.h"

namespace pace::pacectl {

class Terminal {
  public:
    // Fails with invalid if standard input or output is no terminal. At most one may exist at a
    // time.
    static base::Result<Terminal> open();
    Terminal(Terminal&& other) noexcept;
    Terminal& operator=(Terminal&&) = delete;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    // Replaces the screen by the lines, cut to fit.
    void show(std::span<const StyledLine> lines) const;

    // Restores the screen, stops this process as the terminal's stop key does, and takes the screen
    // again once the process is continued. SIGTSTP is blocked before and after.
    void stop() const;
    // Takes the screen again after another program has stopped the process or drawn over the
    // screen.
    void enter() const;

    size_t rows() const;

  private:
    Terminal(const termios& before, bool has_colour) : before_(before), has_colour_(has_colour) {}
    void leave() const;

    termios before_;
    bool has_colour_;
    bool open_ = true;
};

// The lines cut to `columns` code points, for a screen. An escape sequence clears the rest of each
// line. Pure.
std::string screen_text(std::span<const StyledLine> lines, size_t columns, bool has_colour);

// Whether to use colours: NO_COLOR is unset or empty, and TERM is not dumb.
bool wants_colour(const char* no_color, const char* term);

}  // namespace pace::pacectl
