#include "base/threads/release_thread.h"

#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "base/attempt.h"

namespace pace::base {

namespace {

// The thread unmaps so many bytes at once. While it unmaps them, no other thread of the process can
// map memory.
constexpr size_t kPieceBytes = size_t{64} << 20U;

struct Threads {
    std::mutex mutex;
    std::vector<ReleaseThread*> all;  // in the order of their construction
};

// The list is never destroyed. An embedded daemon ends while the program's static objects are
// destroyed, and the daemon's release thread ends with it.
Threads& threads() {
    static Threads* const of_this_program = new Threads;
    return *of_this_program;
}

void unmap(std::byte* data, size_t bytes) {
    for (size_t begin = 0; begin < bytes; begin += kPieceBytes)
        munmap(data + begin, std::min(kPieceBytes, bytes - begin));
}

}  // namespace

ReleaseThread::ReleaseThread() {
    const std::lock_guard lock(threads().mutex);
    threads().all.push_back(this);
}

ReleaseThread::~ReleaseThread() {
    {
        const std::lock_guard lock(threads().mutex);
        std::erase(threads().all, this);
    }
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

bool ReleaseThread::take(Mapping& mapping) {
    const std::lock_guard lock(mutex_);
    if (!attempt([&] { waiting_.emplace_back(); })) return false;
    waiting_.back() = std::move(mapping);
    try {
        if (!thread_.joinable()) thread_ = std::thread([this] { work_off(); });
    } catch (const std::exception&) {
        // The next mapping that is handed over tries again to begin the thread.
    }
    changed_.notify_one();
    return true;
}

void ReleaseThread::work_off() {
    std::unique_lock lock(mutex_);
    for (;;) {
        while (waiting_.empty() && !stopping_) changed_.wait(lock);
        if (waiting_.empty()) return;
        Mapping mapping = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        if (mapping.data != nullptr) unmap(mapping.data, mapping.bytes);
        mapping = {};
        lock.lock();
    }
}

bool ReleaseThread::hand_over(Mapping mapping) {
    // The lock is held during the handover, so that the thread cannot end meanwhile.
    const std::lock_guard lock(threads().mutex);
    return !threads().all.empty() && threads().all.back()->take(mapping);
}

void release_mapping(std::byte* data, size_t bytes) {
    const bool is_little = bytes <= ReleaseThread::kLittleBytes;
    if (is_little || !ReleaseThread::hand_over({data, bytes, nullptr})) unmap(data, bytes);
}

void release_shared(std::byte* data, size_t bytes, UniqueFd fd) {
    fd.reset();
    if (!ReleaseThread::hand_over({data, bytes, nullptr})) unmap(data, bytes);
}

void release_object(std::shared_ptr<const void> object, size_t bytes) {
    if (bytes <= ReleaseThread::kLittleBytes) return;
    (void)ReleaseThread::hand_over({nullptr, 0, std::move(object)});
}

}  // namespace pace::base
