// Terminal: a full-screen view: raw keys, alternate screen, hidden cursor. Given back when destroyed, and when the process dies of a fault.
#pragma once

#include <termios.h>

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "service/pacectl/top_view.h"

namespace pace::pacectl {

class Terminal {
  public:
    // Fails with invalid if standard input or output is no terminal. There may be one at a time.
    static base::Result<Terminal> open();
    Terminal(Terminal&& other) noexcept;
    Terminal& operator=(Terminal&&) = delete;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    // Replaces what is shown by the lines, as much of each as fits.
    void show(std::span<const StyledLine> lines) const;

    // Gives the screen back, stops this process as the terminal's stop key does, and takes the screen
    // again once somebody lets it go on. SIGTSTP is blocked before and after.
    void stop() const;
    // Takes the screen again, after somebody else has stopped the process or drawn over it.
    void enter() const;

    size_t rows() const;

  private:
    Terminal(const termios& before, bool has_colour) : before_(before), has_colour_(has_colour) {}
    void leave() const;

    termios before_;
    bool has_colour_;
    bool open_ = true;
};

// The lines cut to `columns` code points, for a screen: one escape sequence clears the rest of each line. Pure.
std::string screen_text(std::span<const StyledLine> lines, size_t columns, bool has_colour);

// Whether colours are wanted: NO_COLOR is not set, or empty, and TERM is not dumb.
bool wants_colour(const char* no_color, const char* term);

}  // namespace pace::pacectl
