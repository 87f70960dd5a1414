// Processes: which simulated process runs now, and which memory is mapped in each. So a process can
// die at any step of the client plane: what it writes from then on is seen by nobody.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/simulation/simulated_process.h"

namespace pace::world {

class Process {
  public:
    virtual ~Process() = default;
    // As ppoll(). Only trainers wait.
    virtual int wait(std::span<pollfd> watched, base::TimePoint deadline) = 0;
    // The process has come to a point of the client plane.
    virtual void passes(const std::string& point) = 0;
};

class Processes final : public base::SimulatedProcesses {
  public:
    // While one exists, the process runs.
    class Runs {
      public:
        Runs(Processes& processes, Process* process)
            : processes_(processes), before_(std::exchange(processes.running_, process)) {}
        ~Runs() { processes_.running_ = before_; }
        Runs(const Runs&) = delete;
        Runs& operator=(const Runs&) = delete;

      private:
        Processes& processes_;
        Process* before_;
    };

    // The process has died: the memory that it shares with others is its own from now on, and its
    // ends of the connections to the socket at `path` are closed.
    void cut_off(const Process& process, const std::string& path);

    int wait(std::span<pollfd> watched, base::TimePoint deadline) override;
    void passes(const char* step, std::span<const std::byte> packet) override;
    void maps(std::byte* data, size_t bytes, int fd) override;
    void unmaps(std::byte* data) override { mappings_.erase(data); }

    // How much memory is mapped, of all processes.
    size_t mappings() const { return mappings_.size(); }
    // The ring of the process's session; empty if it has none.
    std::span<std::byte> ring_of(const Process& process) const;

  private:
    struct Mapping {
        size_t bytes = 0;
        int fd = -1;
        const Process* process = nullptr;
    };

    Process* running_ = nullptr;
    std::map<std::byte*, Mapping> mappings_;
};

}  // namespace pace::world
