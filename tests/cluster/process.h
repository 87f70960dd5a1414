// Process: one child, its standard output by lines, and its certain end.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace pace::cluster {

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline within(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() + time;
}

class Process {
  public:
    // Starts `arguments[0]`; `environment` ("NAME=value") is added to ours. Standard error goes to `log_file`. The child
    // dies with us, however we end.
    Process(std::vector<std::string> arguments, const std::string& log_file,
            std::vector<std::string> environment = {});
    // The same with a terminal of its own for standard input and output.
    static Process on_terminal(std::vector<std::string> arguments, const std::string& log_file);
    // Kills and reaps.
    ~Process();
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    pid_t pid() const { return pid_; }
    bool running();
    void signal(int number) const;
    // Its files may not grow beyond `bytes`, which tells of a full disk without filling one; RLIM_INFINITY: they may.
    bool limit_files(rlim_t bytes) const;
    // What a person types; only for a process on a terminal.
    void type(const std::string& keys) const;

    // The next line of its output; none if the deadline passed or the output ended.
    std::optional<std::string> read_line(Deadline deadline);
    // The rest of the first line that begins with `prefix`, skipping others; none as above.
    std::optional<std::string> wait_for(const std::string& prefix, Deadline deadline);
    // Reads until the output, whatever its lines, holds `text`; false as above.
    bool wait_for_text(const std::string& text, Deadline deadline);
    // The exit status, or 128 + signal; none if it still runs at the deadline.
    std::optional<int> wait(Deadline deadline);
    const std::vector<std::string>& lines() const { return lines_; }

  private:
    Process() = default;
    // Takes over `output`, our end; the child gets `input` (-1: ours) and `child_output`.
    void start(std::vector<std::string> arguments, const std::string& log_file,
               std::vector<std::string> environment, int input, int child_output);
    bool fill(Deadline deadline);

    pid_t pid_ = -1;
    base::UniqueFd pidfd_;
    base::UniqueFd output_;
    std::string pending_;
    std::vector<std::string> lines_;  // read so far
    std::optional<int> status_;
};

}  // namespace pace::cluster
