#include "tests/simulated_gpu/nccl/nccl_rank.h"

#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "tests/simulated_gpu/nccl/nccl_rendezvous.h"
#include "tests/simulated_gpu/nccl/nccl_settings.h"

namespace pace::simulated_gpu {

using base::cuda::ContextScope;
using base::cuda::CudaDriver;
using base::cuda::CUdevice;
using base::cuda::kSuccess;

namespace {

// An aborted kernel leaves bytes that nobody should use.
constexpr int kAbortedBytes = 0xA5;

std::atomic<const char*> last_error_text{""};

// The ranks of this process that end together, by the id of their communicator.
class Ends {
  public:
    void join(const std::string& id) {
        const std::scoped_lock lock(mutex_);
        ++waited_for_[id];
    }
    void end(const std::string& id) {
        std::unique_lock lock(mutex_);
        --waited_for_[id];
        changed_.notify_all();
        if (nccl_settings().together) changed_.wait(lock, [&] { return waited_for_[id] == 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, int> waited_for_;
};

Ends& ends() {
    static auto& all = *new Ends;
    return all;
}

}  // namespace

// A caller that was given an older text may still read it. So older texts are kept.
void set_last_error(const std::string& text) {
    static std::mutex& mutex = *new std::mutex;
    static auto& all = *new std::deque<std::string>;
    const std::scoped_lock lock(mutex);
    last_error_text = all.emplace_back(text).c_str();
}

const char* last_error() {
    return last_error_text;
}

std::shared_ptr<Rank> Rank::join(const CudaDriver& driver, const ncclUniqueId& id, int world,
                                 int rank) {
    CUdevice device = 0;
    Joining joining{0, rank, world};
    if (driver.context_get_device(&device) != kSuccess ||
        driver.device_get_attribute(&joining.bus, base::cuda::kAttributePciBus, device) != kSuccess)
        return nullptr;
    auto joined = std::make_shared<Rank>(driver, device);
    (void)driver.primary_context_retain(&joined->context_, device);
    joined->id_.assign(reinterpret_cast<const char*>(&id), sizeof(id));
    ends().join(joined->id_);
    joined->socket_ = connect_to_rendezvous(id);
    joined->thread_ = std::thread([joined] { joined->hear(); });
    joined->begin(MessageKind::join, &joining, sizeof(joining));
    return joined;
}

ncclResult_t Rank::state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
}

void Rank::await_settled() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ != ncclInProgress; });
}

// An error stays.
void Rank::settle(ncclResult_t state) {
    const std::scoped_lock lock(mutex_);
    if (state_ == ncclSuccess || state_ == ncclInProgress) state_ = state;
    changed_.notify_all();
}

void Rank::begin(MessageKind kind, const void* bytes, size_t size) {
    settle(ncclInProgress);
    say(kind, 0, bytes, size);
}

// hear() notices if nobody listens.
void Rank::say(MessageKind kind, int number, const void* bytes, size_t size) {
    const std::scoped_lock lock(saying_);
    (void)send_message(socket_.get(), kind, number, bytes, size);
}

void Rank::queue(std::vector<Sum> sums) {
    {
        const std::scoped_lock lock(mutex_);
        waiting_ = std::move(sums);
    }
    begin(MessageKind::connect);
}

void Rank::finalize() {
    begin(MessageKind::finalize);
}

void Rank::abort() {
    {
        const std::scoped_lock lock(mutex_);
        aborted_ = true;
        changed_.notify_all();
    }
    ends().end(id_);
    (void)shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
    (void)driver_.primary_context_release(device_);
}

void Rank::hear() {
    while (auto message = receive_message(socket_.get())) take(std::move(*message));
    settle(ncclRemoteError);
}

void Rank::take(Message message) {
    switch (message.kind) {
        case MessageKind::done:
            return settle(launch());
        case MessageKind::total: {
            const std::scoped_lock lock(mutex_);
            total_ = std::move(message.bytes);
            changed_.notify_all();
            return;
        }
        case MessageKind::failed:
            set_last_error(message.text());
            return settle(static_cast<ncclResult_t>(message.number));
        default:
            return settle(ncclInternalError);
    }
}

// Queues the sums that wait until all ranks are connected.
ncclResult_t Rank::launch() {
    std::vector<Sum> sums;
    {
        const std::scoped_lock lock(mutex_);
        sums.swap(waiting_);
    }
    const ContextScope scope(driver_, context_);
    for (const Sum& sum : sums) {
        base::cuda::CUcontext of_stream = nullptr;
        if (driver_.stream_get_context(sum.stream, &of_stream) != kSuccess || of_stream != context_)
            return ncclUnhandledCudaError;
        auto queued = std::make_unique<Queued>(Queued{shared_from_this(), sum});
        const auto run = [](void* data) {
            const std::unique_ptr<Queued> own(static_cast<Queued*>(data));
            own->rank->do_sum(own->sum);
        };
        if (driver_.launch_host_function(sum.stream, run, queued.get()) != kSuccess)
            return ncclUnhandledCudaError;
        (void)queued.release();  // run() owns it
    }
    return ncclSuccess;
}

void Rank::do_sum(const Sum& sum) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, nccl_settings().delay, [this] { return aborted_; });
    if (!aborted_) {
        lock.unlock();
        say(MessageKind::share, sum.type, sum.from, sum.bytes);
        lock.lock();
        changed_.wait(lock, [this] { return aborted_ || total_; });
    }
    if (aborted_)
        std::memset(sum.to, kAbortedBytes, sum.bytes);
    else
        std::memcpy(sum.to, total_->data(), sum.bytes);
    total_.reset();
}

}  // namespace pace::simulated_gpu
