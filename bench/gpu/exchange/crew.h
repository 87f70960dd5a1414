// Crew: the processes of a measurement. Each makes its exchanges at the same time as the others,
// and tells how long they took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace pace::gpu_bench {

class Crew {
  public:
    // `exchanges` are counted, after those of the warm-up: at least `warm_up` of them, and for
    // `warm_seconds`. There must be one thread in this process, and nothing of CUDA.
    Crew(uint32_t processes, int exchanges, int warm_up, double warm_seconds);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Calls `work` with its number in each of the processes, and waits for them. If one fails, the
    // others are ended, and this process ends with its status.
    void run(const std::function<void(uint32_t process)>& work);

    // For a process of the crew: waits for all others. Returns whether there is another exchange.
    bool next();
    // It took so long.
    void took(uint32_t process, double seconds);

    // After run(): of each counted exchange, the slowest process's time.
    std::vector<double> slowest() const;

  private:
    struct Shared;
    double* times_of(uint32_t process) const;

    uint32_t processes_;
    int exchanges_;
    size_t bytes_;
    Shared* shared_;
    int begun_ = 0;  // by this process
};

}  // namespace pace::gpu_bench
