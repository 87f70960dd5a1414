#include "tests/cluster/trainers/trainer_steps.h"

#include <csignal>

#include <time.h>

namespace pace::cluster {

namespace {

volatile std::sig_atomic_t finish_is_told = 0;
volatile std::sig_atomic_t leave_is_told = 0;

sigset_t own_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    return set;
}

}  // namespace

void listen_to_signals() {
    struct sigaction action {};
    action.sa_handler = [](int number) {
        (number == SIGTERM ? finish_is_told : leave_is_told) = 1;
    };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGUSR1, &action, nullptr);
}

bool told_to_finish() {
    return finish_is_told != 0;
}

bool told_to_leave() {
    return leave_is_told != 0;
}

void hold_signals() {
    const sigset_t set = own_signals();
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

int next_signal() {
    const sigset_t set = own_signals();
    int number = 0;
    sigwait(&set, &number);
    return number;
}

uint64_t now_us() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000 +
           static_cast<uint64_t>(time.tv_nsec) / 1000;
}

void compute(uint32_t duration_us) {
    if (duration_us == 0) return;
    const timespec time{duration_us / 1000000, (duration_us % 1000000) * 1000L};
    nanosleep(&time, nullptr);
}

pace_buffer_options buffer_options(const TrainerOptions& options) {
    pace_buffer_options buffer = PACE_BUFFER_OPTIONS_INIT;
    if (options.on_gpu) buffer.device = {PACE_DEVICE_CUDA, 0};
    if (options.on_own_gpu) buffer.device = {PACE_DEVICE_CUDA, static_cast<int32_t>(options.rank)};
    return buffer;
}

bool is_to_start_anew(pace_status status) {
    return status == PACE_STALE || status == PACE_E_DAEMON_GONE || status == PACE_E_NO_CONTROLLER;
}

}  // namespace pace::cluster
