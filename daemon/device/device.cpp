#include "daemon/device/device.h"

#include <array>
#include <mutex>
#include <utility>

namespace pace::device {

using base::Result;
using namespace base::cuda;  // the driver's own names

namespace {

// The driver wakes the loop when a stream has come so far; of a device that has failed it does not, so that we look, too.
constexpr base::Duration kLookAgain = std::chrono::milliseconds(500);

}  // namespace

// For the driver's threads, which may come when the device and its loop are gone.
class Device::Bell {
  public:
    Bell(base::EventLoop& loop, Device& device) : loop_(&loop), device_(&device) {}

    void silence() {
        const std::scoped_lock lock(mutex_);
        loop_ = nullptr;
    }
    // Takes `bell`, a pointer to a shared pointer.
    static void ring(void* bell) {
        const std::unique_ptr<std::shared_ptr<Bell>> own(static_cast<std::shared_ptr<Bell>*>(bell));
        const std::scoped_lock lock((*own)->mutex_);
        if ((*own)->loop_ == nullptr) return;
        (*own)->loop_->post(base::keep(*own, [](const Bell& ringing) {
            // In the loop's thread, as silence() is.
            if (ringing.loop_ != nullptr) ringing.device_->look();
        }));
    }

  private:
    std::mutex mutex_;
    base::EventLoop* loop_;  // null: nobody is to be woken any more
    Device* device_;
};

Device::Device(const CudaDriver& driver, Facts facts, base::EventLoop& loop)
    : driver_(driver),
      facts_(std::move(facts)),
      loop_(loop),
      bell_(std::make_shared<Bell>(loop, *this)) {}

Result<Facts> facts_of(const CudaDriver& driver, int ordinal) {
    Facts facts;
    facts.ordinal = ordinal;
    CUdevice device = 0;
    PACE_TRY(driver.check(driver.device_get(&device, ordinal), "look at a GPU"));
    std::array<char, 128> name{};
    PACE_TRY(driver.check(driver.device_get_name(name.data(), name.size() - 1, device),
                          "ask a GPU's name"));
    facts.name = name.data();
    PACE_TRY(driver.check(driver.device_get_uuid(&facts.uuid, device), "ask a GPU's number"));
    size_t bytes = 0;
    PACE_TRY(driver.check(driver.device_total_mem(&bytes, device), "ask a GPU's memory"));
    facts.bytes = bytes;
    const auto attribute = [&](int which) {
        int value = 0;
        return driver.device_get_attribute(&value, which, device) == kSuccess ? value : 0;
    };
    facts.capability_major = attribute(kAttributeMajor);
    facts.capability_minor = attribute(kAttributeMinor);
    facts.exports_descriptors =
        attribute(kAttributeVirtualMemory) != 0 && attribute(kAttributeMemoryFd) != 0;
    return facts;
}

Result<std::unique_ptr<Device>> Device::open(const CudaDriver& driver, Facts facts,
                                             base::EventLoop& loop) {
    CUdevice number = 0;
    PACE_TRY(driver.check(driver.device_get(&number, facts.ordinal), "look at a GPU"));
    std::unique_ptr<Device> device(new Device(driver, std::move(facts), loop));
    PACE_TRY(driver.check(driver.primary_context_retain(&device->context_, number),
                          "open " + device->facts_.id()));
    return device;
}

Device::~Device() {
    bell_->silence();
    if (context_ == nullptr) return;
    {
        const ContextScope scope = enter();
        for (const auto& [stream, waiters] : waiters_)
            for (const Waiter& waiter : waiters) (void)driver_.event_destroy(waiter.event);
        for (CUevent event : free_events_) (void)driver_.event_destroy(event);
        waiters_.clear();  // with the memory and the streams that they hold
    }
    CUdevice number = 0;
    if (driver_.device_get(&number, facts_.ordinal) == kSuccess)
        (void)driver_.primary_context_release(number);
}

Result<CUstream> Device::create_stream() {
    const ContextScope scope = enter();
    CUstream stream = nullptr;
    PACE_TRY(driver_.check(driver_.stream_create(&stream, kStreamNonBlocking), "make a stream"));
    return stream;
}

void Device::destroy_stream(CUstream stream) {
    const ContextScope scope = enter();
    (void)driver_.stream_destroy(stream);
}

Result<CUevent> Device::take_event() {
    if (!free_events_.empty()) {
        CUevent event = free_events_.back();
        free_events_.pop_back();
        return event;
    }
    CUevent event = nullptr;
    PACE_TRY(driver_.check(driver_.event_create(&event, kEventDisableTiming), "make an event"));
    return event;
}

Result<> Device::follow(CUstream later, CUstream earlier) {
    const ContextScope scope = enter();
    PACE_TRY_ASSIGN(event, take_event());
    free_events_.push_back(event);  // a wait that is queued needs it no more
    PACE_TRY(driver_.check(driver_.event_record(event, earlier), "mark a place in a stream"));
    return driver_.check(driver_.stream_wait_event(later, event, 0), "order two streams");
}

Result<> Device::queue_waiter(CUstream stream, Waiter& waiter) {
    const ContextScope scope = enter();
    PACE_TRY_ASSIGN(event, take_event());
    waiter.event = event;
    PACE_TRY(driver_.check(driver_.event_record(event, stream), "mark a place in a stream"));
    auto own = std::make_unique<std::shared_ptr<Bell>>(bell_);
    PACE_TRY(driver_.check(driver_.launch_host_function(stream, Bell::ring, own.get()),
                           "wait for a place in a stream"));
    (void)own.release();  // ring() has it
    return {};
}

void Device::when_done(CUstream stream, std::function<void(const Result<>&)> callback) {
    Waiter waiter;
    waiter.callback = std::move(callback);
    if (const auto queued = queue_waiter(stream, waiter); !queued) {
        if (waiter.event != nullptr) free_events_.push_back(waiter.event);
        loop_.defer(
            scope_.callback([callback = std::move(waiter.callback), queued] { callback(queued); }));
        return;
    }
    waiters_[stream].push_back(std::move(waiter));
    look_later();
}

void Device::look_later() {
    if (!look_again_.pending()) look_again_ = loop_.run_after(kLookAgain, [this] { look(); });
}

// Whose place has been reached is told, in the order of each stream.
void Device::look() {
    std::vector<std::pair<std::function<void(const Result<>&)>, Result<>>> due;
    {
        const ContextScope scope = enter();
        for (auto& [stream, waiters] : waiters_) {
            while (!waiters.empty()) {
                const CUresult state = driver_.event_query(waiters.front().event);
                if (state == kNotReady) break;
                free_events_.push_back(waiters.front().event);
                due.emplace_back(std::move(waiters.front().callback),
                                 driver_.check(state, facts_.id() + " failed"));
                waiters.pop_front();
            }
        }
        std::erase_if(waiters_, [](const auto& entry) { return entry.second.empty(); });
    }
    if (!waiters_.empty()) look_later();
    for (const auto& [callback, result] : due) callback(result);
}

Result<uint64_t> Device::free_bytes() const {
    const ContextScope scope = enter();
    size_t free = 0;
    size_t total = 0;
    PACE_TRY(driver_.check(driver_.mem_get_info(&free, &total), "ask a GPU's free memory"));
    return free;
}

}  // namespace pace::device
