// Process: one child process, its standard output by lines, and its certain end.
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
    // Starts `arguments[0]`. `environment` ("NAME=value") is added to this process's environment.
    // Standard error goes to `log_file`. The child dies with this process, however this process
    // ends.
    Process(std::vector<std::string> arguments, const std::string& log_file,
            std::vector<std::string> environment = {});
    // Does the same with a terminal of the child's own for standard input and output.
    static Process on_terminal(std::vector<std::string> arguments, const std::string& log_file);
    // Kills and reaps the child.
    ~Process();
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    pid_t pid() const { return pid_; }
    bool running();
    void signal(int number) const;
    // Limits the size of the child's files to `bytes`. This imitates a full disk without filling
    // one. RLIM_INFINITY removes the limit.
    bool limit_files(rlim_t bytes) const;
    // Types the keys as a person would. Serves only a process on a terminal.
    void type(const std::string& keys) const;

    // Returns the next line of the output. Returns nothing if the deadline passed or the output
    // ended.
    std::optional<std::string> read_line(Deadline deadline);
    // Skips lines until one begins with `prefix`, and returns the rest of that line. Returns
    // nothing in the cases of read_line().
    std::optional<std::string> wait_for(const std::string& prefix, Deadline deadline);
    // Reads until the output, whatever its lines, contains `text`. Returns false in the cases of
    // read_line().
    bool wait_for_text(const std::string& text, Deadline deadline);
    // Returns the exit status, or 128 + signal. Returns nothing if the child still runs at the
    // deadline.
    std::optional<int> wait(Deadline deadline);
    const std::vector<std::string>& lines() const { return lines_; }

  private:
    Process() = default;
    // Takes over `output`, which is this process's end. The child gets `input` and `child_output`.
    // An `input` of -1 means this process's input.
    void start(std::vector<std::string> arguments, const std::string& log_file,
               std::vector<std::string> environment, int input, int child_output);
    bool fill(Deadline deadline);

    pid_t pid_ = -1;
    base::UniqueFd pidfd_;
    base::UniqueFd output_;
    std::string pending_;
    // The lines read so far.
    std::vector<std::string> lines_;
    std::optional<int> status_;
};

}  // namespace pace::cluster
