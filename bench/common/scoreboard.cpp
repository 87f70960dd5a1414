#include "bench/common/scoreboard.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace pace::bench {

static_assert(std::atomic<uint32_t>::is_always_lock_free);

Scoreboard::Scoreboard(const std::string& path, uint32_t world, uint32_t rank)
    : world_(world), rank_(rank) {
    if (world > kWorldMax || rank >= world) {
        std::fprintf(stderr, "rank %u of %u does not fit the scoreboard\n", rank, world);
        std::exit(2);
    }
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Board)) != 0) {
        std::perror(path.c_str());
        std::exit(2);
    }
    void* address = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (address == MAP_FAILED) {
        std::perror(path.c_str());
        std::exit(2);
    }
    board_ = static_cast<Board*>(address);
}

Scoreboard::~Scoreboard() {
    munmap(board_, sizeof(Board));
}

void Scoreboard::meet(const std::function<void()>& progress) {
    const uint32_t generation = board_->generation.load(std::memory_order_acquire);
    if (board_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == world_) {
        board_->arrived.store(0, std::memory_order_relaxed);
        board_->generation.store(generation + 1, std::memory_order_release);
        return;
    }
    while (board_->generation.load(std::memory_order_acquire) == generation) {
        progress();
        sched_yield();
    }
}

std::vector<double> Scoreboard::slowest(uint32_t count) const {
    std::vector<double> times(count);
    for (uint32_t i = 0; i < count; ++i) {
        const auto& row = board_->samples[i];
        times[i] = *std::max_element(row.begin(), row.begin() + world_);
    }
    return times;
}

uint64_t Scoreboard::peak_rss_max() const {
    return *std::max_element(board_->peak_rss.begin(), board_->peak_rss.begin() + world_);
}

}  // namespace pace::bench
