#include "daemon/device/device.h"

#include <array>
#include <future>
#include <utility>

#include "base/attempt.h"
#include "daemon/device/board.h"

namespace pace::device {

using base::Result;
using namespace base::cuda;  // the driver's own names

Device::Device(const CudaDriver& driver, Facts facts, PrimaryContext context, base::EventLoop& loop)
    : driver_(driver), facts_(std::move(facts)), loop_(loop), context_(std::move(context)) {}

namespace {

std::string closed_by(int mode, bool has_mps, const std::string& id) {
    if (mode == kComputeModeProhibited)
        return fmt::format(
            "{} is in the compute mode Prohibited, in which no process may use it; set another "
            "mode (nvidia-smi -i {} -c DEFAULT)",
            id, id);
    if (mode == kComputeModeExclusive && !has_mps)
        return fmt::format(
            "{} is in the compute mode Exclusive_Process, in which a daemon and a trainer cannot "
            "both use it; set another mode (nvidia-smi -i {} -c DEFAULT), or start CUDA's MPS",
            id, id);
    return "";
}

}  // namespace

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
    facts.board = board_of(driver, device).value_or(facts.uuid);
    const auto attribute = [&](int which) {
        int value = 0;
        return driver.device_get_attribute(&value, which, device) == kSuccess ? value : 0;
    };
    facts.capability_major = attribute(kAttributeMajor);
    facts.capability_minor = attribute(kAttributeMinor);
    facts.exports_descriptors =
        attribute(kAttributeVirtualMemory) != 0 && attribute(kAttributeMemoryFd) != 0;
    facts.has_stream_words = driver.has_stream_words(device);
    facts.closed_by_mode =
        closed_by(attribute(kAttributeComputeMode), attribute(kAttributeMps) != 0, facts.id());
    return facts;
}

Result<std::unique_ptr<Device>> Device::open(const CudaDriver& driver, Facts facts,
                                             PrimaryContext context, base::EventLoop& loop) {
    std::unique_ptr<Device> device(new Device(driver, std::move(facts), std::move(context), loop));
    PACE_TRY_ASSIGN(watch, EventWatch::create(*device, loop));
    device->event_watch_ = std::move(watch);
    (void)device->free_bytes();
    return device;
}

Device::~Device() {
    const ContextScope scope = enter();
    // Also releases the memory and streams that callbacks hold.
    if (event_watch_) event_watch_->forget_all();
    releaser_.reset();
    for (CUevent event : events_) (void)driver_.event_destroy(event);
}

Result<CUstream> Device::create_stream() {
    const ContextScope scope = enter();
    CUstream stream = nullptr;
    PACE_TRY(check(driver_.stream_create(&stream, kStreamNonBlocking), "make a stream"));
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
    PACE_TRY(check(driver_.event_create(&event, kEventDisableTiming), "make an event"));
    events_.push_back(event);
    return event;
}

Result<> Device::follow(CUstream later, CUstream earlier) {
    const ContextScope scope = enter();
    PACE_TRY_ASSIGN(event, take_event());
    free_events_.push_back(event);  // a queued wait no longer needs the event
    PACE_TRY(check(driver_.event_record(event, earlier), "mark a place in a stream"));
    return check(driver_.stream_wait_event(later, event, 0), "order two streams");
}

Result<CUevent> Device::mark(CUstream stream) {
    const ContextScope scope = enter();
    PACE_TRY_ASSIGN(event, take_event());
    auto recorded = check(driver_.event_record(event, stream), "mark a place in a stream");
    if (recorded) return event;
    free_events_.push_back(event);
    return recorded.error();
}

void Device::when_done(CUstream stream, std::function<void(const Result<>&)> callback) {
    const auto marked = mark(stream);
    if (!marked) return when_all_done(marked.error(), std::move(callback));
    event_watch_->add(
        stream, *marked,
        [this, event = *marked, callback = std::move(callback)](const Result<>& done) {
            free_events_.push_back(event);
            callback(done);
        });
}

// Work that could not be marked may still use what the callback holds.
void Device::when_all_done(const base::Error& error,
                           std::function<void(const Result<>&)> callback) {
    const auto tell = scope_.bind([error, callback = std::move(callback)] { callback(error); });
    const bool waits = releaser_ && base::attempt([&] {
                           releaser_->run([this, tell, post = loop_.poster()] {
                               const ContextScope scope = enter();
                               (void)driver_.context_synchronize();
                               post(tell);
                           });
                       });
    if (!waits) loop_.defer(scope_.callback(tell));
}

// Returns what the context says of an event of its own.
CUresult Device::probe() {
    const ContextScope scope = enter();
    CUevent event = nullptr;
    CUresult result = driver_.event_create(&event, kEventDisableTiming);
    if (result != kSuccess) return result;
    result = driver_.event_record(event, nullptr);
    if (result == kSuccess) result = driver_.event_query(event);
    (void)driver_.event_destroy(event);
    return result;
}

Result<> Device::check(CUresult result, std::string_view what) {
    examine(result);
    return driver_.check(result, what);
}

void Device::examine(CUresult result) {
    if (!failed_ || !is_sticky(result)) return;
    const CUresult own = probe();
    if (!is_sticky(own)) return;
    const auto tell = std::exchange(failed_, {});
    tell(driver_.error(own, facts_.id()));
}

void Device::release(std::shared_ptr<const void> held) {
    if (releaser_) releaser_->run([held = std::move(held)] {});
}

void Device::await_released() {
    auto all_before = std::make_shared<std::promise<void>>();
    const std::future<void> ended = all_before->get_future();
    release(std::move(all_before));
    ended.wait();  // the promise is broken when its turn has come
}

Result<uint64_t> Device::free_bytes() const {
    const ContextScope scope = enter();
    size_t free = 0;
    size_t total = 0;
    PACE_TRY(driver_.check(driver_.mem_get_info(&free, &total), "ask a GPU's free memory"));
    free_lately_ = free;
    return free;
}

uint64_t Device::free_bytes_lately() {
    if (releaser_ && !asks_free_.exchange(true) && !base::attempt([this] {
            releaser_->run([this] {
                (void)free_bytes();
                asks_free_ = false;
            });
        }))
        asks_free_ = false;
    return free_lately_;
}

}  // namespace pace::device
