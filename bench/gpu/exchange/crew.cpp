#include "bench/gpu/exchange/crew.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <new>

#include "bench/gpu/exchange/gpu.h"
#include "bench/gpu/exchange/options.h"

namespace pace::gpu_bench {

// In memory that the processes share. The times follow.
struct Crew::Shared {
    pthread_barrier_t barrier;
    int warm_up = 0;
    Clock::time_point warm_at;
};

Crew::Crew(uint32_t processes, int exchanges, int warm_up, double warm_seconds)
    : processes_(processes),
      exchanges_(exchanges),
      bytes_(sizeof(Shared) + processes * static_cast<size_t>(exchanges) * sizeof(double)) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) stop("no memory");
    shared_ = new (memory) Shared;
    shared_->warm_up = warm_up;
    shared_->warm_at = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(warm_seconds));
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared_->barrier, &attributes, processes);
    pthread_barrierattr_destroy(&attributes);
}

// The barrier is not destroyed: a process that was ended may have been waiting at it.
Crew::~Crew() {
    munmap(shared_, bytes_);
}

double* Crew::times_of(uint32_t process) const {
    return reinterpret_cast<double*>(shared_ + 1) + process * static_cast<size_t>(exchanges_);
}

void Crew::run(const std::function<void(uint32_t)>& work) {
    std::vector<pid_t> running;
    for (uint32_t process = 0; process < processes_; ++process) {
        const pid_t child = fork();
        if (child < 0) stop("no more processes");
        if (child > 0) {
            running.push_back(child);
            continue;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(process);
        std::exit(0);
    }
    while (!running.empty()) {
        int status = 0;
        const pid_t ended = wait(&status);
        std::erase(running, ended);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        for (const pid_t other : running) kill(other, SIGKILL);
        while (wait(nullptr) > 0) {
        }
        if (WIFEXITED(status)) std::exit(WEXITSTATUS(status));
        stop("a worker was ended by signal " + std::to_string(WTERMSIG(status)));
    }
}

bool Crew::next() {
    // Between the two waits nobody else looks at how long the warm-up is.
    if (pthread_barrier_wait(&shared_->barrier) == PTHREAD_BARRIER_SERIAL_THREAD &&
        begun_ == shared_->warm_up && Clock::now() < shared_->warm_at)
        ++shared_->warm_up;
    pthread_barrier_wait(&shared_->barrier);
    return begun_++ < shared_->warm_up + exchanges_;
}

void Crew::took(uint32_t process, double seconds) {
    const int counted = begun_ - 1 - shared_->warm_up;
    if (counted >= 0) times_of(process)[counted] = seconds;
}

std::vector<double> Crew::slowest() const {
    std::vector<double> slowest(times_of(0), times_of(1));
    for (uint32_t process = 1; process < processes_; ++process)
        for (size_t i = 0; i < slowest.size(); ++i)
            slowest[i] = std::max(slowest[i], times_of(process)[i]);
    return slowest;
}

}  // namespace pace::gpu_bench
