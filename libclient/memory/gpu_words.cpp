#include "libclient/memory/gpu_words.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "base/attempt.h"

namespace pace::client {

using base::Result;
using namespace base::cuda;  // the driver's own names

namespace {

// The primary context of a device, as long as this lives.
class RetainedContext {
  public:
    RetainedContext(const CudaDriver& driver, CUdevice device)
        : driver_(&driver),
          device_(device),
          is_retained_(driver.primary_context_retain(&context_, device) == kSuccess) {}
    RetainedContext(RetainedContext&& other) noexcept
        : driver_(other.driver_),
          device_(other.device_),
          context_(other.context_),
          is_retained_(std::exchange(other.is_retained_, false)) {}
    RetainedContext& operator=(RetainedContext&&) = delete;
    ~RetainedContext() {
        if (is_retained_) (void)driver_->primary_context_release(device_);
    }

    ContextScope enter() const { return {*driver_, context_}; }

  private:
    const CudaDriver* driver_;
    CUdevice device_;
    CUcontext context_ = nullptr;
    bool is_retained_;
};

// Whether the queued work of a slot has used its words.
bool is_done(const SlotWords& words, uint64_t recorded, uint64_t waits) {
    return words.ready.load() >= recorded && words.passed.load() >= waits;
}

// Words whose GpuWords is gone while a stream of the trainer's may still write them or wait for
// them. They are kept until that has happened; the driver would not say so by itself.
struct LeftWords {
    struct Slot {
        uint64_t recorded = 0;
        uint64_t waits = 0;
    };
    RetainedContext context;
    std::unique_ptr<StreamWords> words;
    std::vector<Slot> slots;

    bool is_used() const {
        for (uint32_t i = 0; i < slots.size(); ++i)
            if (!is_done(words->at(i), slots[i].recorded, slots[i].waits)) return true;
        return false;
    }
    void drop() {
        const ContextScope scope = context.enter();
        words.reset();
    }
};

struct AllLeftWords {
    std::mutex mutex;
    std::list<LeftWords> list;

    void sweep() {
        for (LeftWords& left : list)
            if (!left.is_used()) left.drop();
        std::erase_if(list, [](const LeftWords& left) { return left.words == nullptr; });
    }
};

// Never destroyed, because the driver may end before this library does.
AllLeftWords& left_words() {
    static auto& all = *new AllLeftWords;
    return all;
}

bool is_this_process(int socket) {
    ucred peer{};
    socklen_t bytes = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid == getpid();
}

}  // namespace

Result<std::shared_ptr<GpuWords>> GpuWords::create(const CudaDriver& driver, CUdevice device,
                                                   uint32_t slots) {
    if (!driver.has_stream_words(device))
        return base::make_error(base::ErrorKind::unavailable, "the driver has no words of streams");
    {
        const std::scoped_lock lock(left_words().mutex);
        left_words().sweep();
    }
    const RetainedContext context(driver, device);
    const ContextScope scope = context.enter();
    PACE_TRY_ASSIGN(words, StreamWords::create(driver, slots));
    // That the driver knows the functions does not mean that it does them, for example under MPS.
    CUstream stream = nullptr;
    PACE_TRY(driver.check(driver.stream_create(&stream, kStreamNonBlocking), "make a stream"));
    const CUresult written = words.write(stream, words.at(0).probe, 1);
    if (written == kSuccess) (void)driver.stream_synchronize(stream);
    (void)driver.stream_destroy(stream);
    PACE_TRY(driver.check(written, "write a word in a stream"));
    return std::shared_ptr<GpuWords>(new GpuWords(driver, device, std::move(words)));
}

GpuWords::GpuWords(const CudaDriver& driver, CUdevice device, StreamWords words)
    : process_(getpid()),
      driver_(driver),
      device_(device),
      words_(std::make_unique<StreamWords>(std::move(words))),
      queued_(words_->slots()) {}

// The words of a forked child are the parent's. Words that cannot be remembered stay for ever.
GpuWords::~GpuWords() {
    if (process_ == getpid()) {
        release();
        if (base::attempt([this] { leave_words(); })) return;
    }
    (void)words_.release();
}

void GpuWords::leave_words() {
    LeftWords left{RetainedContext(driver_, device_), nullptr, {}};
    for (const Queued& queued : queued_) left.slots.push_back({queued.recorded, queued.waits});
    const std::scoped_lock lock(left_words().mutex);
    left_words().list.push_back(std::move(left));
    left_words().list.back().words = std::move(words_);
    left_words().sweep();
}

Result<> GpuWords::follow(int socket) {
    is_hosted_ = is_this_process(socket);
    PACE_TRY_ASSIGN(watch, HangupWatch::start(socket, [this] { store(); }));
    watch_ = std::move(watch);
    return {};
}

CUresult GpuWords::record(uint32_t slot, uint64_t request, CUstream stream) {
    const CUresult written = words_->write(stream, words_->at(slot).ready, request);
    if (written == kSuccess) queued_.at(slot).recorded = request;
    return written;
}

void GpuWords::submitted(uint32_t slot, uint64_t request) {
    Queued& queued = queued_.at(slot);
    queued.before = std::exchange(queued.submitted, request);
}

// The daemon's streams may still owe the end of the slot's request before. A dying daemon's stream
// could then write that smaller number after we have stored the greatest one, and the stream would
// wait for ever. So no stream waits for this request before the other one has been told.
CUresult GpuWords::await_on(uint32_t slot, uint64_t request, CUstream stream) {
    Queued& queued = queued_.at(slot);
    SlotWords& words = words_->at(slot);
    if (is_hosted_) return has_come(slot, request);
    if (!base::cuda::has_come(words.ended, queued.before)) return kNotReady;
    const CUresult waits = words_->wait(stream, words.ended, request);
    if (waits != kSuccess) return waits;
    return words_->write(stream, words.passed, ++queued.waits);
}

// A value that we have stored ourselves tells nothing of the result.
CUresult GpuWords::has_come(uint32_t slot, uint64_t request) {
    const uint64_t ended = words_->at(slot).ended.load(std::memory_order_acquire);
    return ended >= request && ended != StreamWords::kReleased ? kSuccess : kNotReady;
}

void GpuWords::release() {
    watch_.reset();
    store();
}

void GpuWords::store() const {
    for (uint32_t slot = 0; slot < words_->slots(); ++slot)
        words_->at(slot).ended = StreamWords::kReleased;
}

}  // namespace pace::client
