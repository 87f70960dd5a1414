#include "bench/common/scoreboard.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace pace::bench {

namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

using Clock = std::chrono::steady_clock;

// The waiters are in several processes. std::atomic::wait() does not serve them.
void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
    while (word.load(std::memory_order_acquire) == value)
        syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}

void wake_sleepers(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

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
        board_->met_at_ns.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
        board_->generation.store(generation + 1, std::memory_order_release);
        if (!progress) wake_sleepers(board_->generation);
        return;
    }
    if (!progress) {
        sleep_while(board_->generation, generation);
        return;
    }
    while (board_->generation.load(std::memory_order_acquire) == generation) {
        progress();
        sched_yield();
    }
}

Clock::time_point Scoreboard::met_at() const {
    return Clock::time_point(Clock::duration(board_->met_at_ns.load(std::memory_order_relaxed)));
}

std::vector<double> Scoreboard::slowest(uint32_t count) const {
    std::vector<double> times(count);
    for (uint32_t i = 0; i < count; ++i) {
        const auto& row = board_->samples[i];
        times[i] = *std::max_element(row.begin(), row.begin() + world_);
    }
    return times;
}

std::vector<double> Scoreboard::mean(uint32_t count) const {
    std::vector<double> times(count);
    for (uint32_t i = 0; i < count; ++i) {
        const auto& row = board_->samples[i];
        times[i] = std::accumulate(row.begin(), row.begin() + world_, 0.0) / world_;
    }
    return times;
}

}  // namespace pace::bench
