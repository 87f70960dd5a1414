#include "tests/simulated_gpu/driver/contexts.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tests/simulated_gpu/driver/events.h"
#include "tests/simulated_gpu/driver/host_memory.h"
#include "tests/simulated_gpu/driver/plain_memory.h"
#include "tests/simulated_gpu/driver/state/settings.h"
#include "tests/simulated_gpu/driver/state/stream.h"
#include "tests/simulated_gpu/driver/streams.h"

namespace pace::simulated_gpu {

namespace {

// The contexts are never destroyed, because their streams may still run.
std::vector<std::unique_ptr<Context>>& contexts() {
    static auto& all = *[] {
        auto* const made = new std::vector<std::unique_ptr<Context>>;
        for (int ordinal = 0; ordinal < settings().devices; ++ordinal)
            made->push_back(std::make_unique<Context>(ordinal));
        return made;
    }();
    return all;
}

Context* find_context(CUcontext handle) {
    const auto found = std::find_if(contexts().begin(), contexts().end(),
                                    [&](const auto& one) { return one->handle() == handle; });
    return found == contexts().end() ? nullptr : found->get();
}

// There is no destructor. Static objects may call the driver after the destruction of this thread's
// variables.
constexpr size_t kDepthMax = 64;
thread_local std::array<Context*, kDepthMax> stack;
thread_local size_t depth = 0;

}  // namespace

CUresult context_synchronize() {
    const Current current = current_context();
    if (current) synchronize_streams(*current.context);
    return current.result;
}

bool is_device(int ordinal) {
    return ordinal >= 0 && ordinal < settings().devices;
}

int number_on_machine(int ordinal) {
    return settings().first + ordinal;
}

void Context::retain() {
    const std::scoped_lock lock(mutex_);
    ++users_;
}

bool Context::release() {
    const std::scoped_lock lock(mutex_);
    if (users_ == 0) return false;
    if (--users_ > 0) return true;
    // The streams end first, because their work may use the memory.
    null_stream_.reset();
    forget_streams(this);
    end_streams(this);
    forget_events(this);
    forget_plain_memory(this);
    forget_host_memory(this);
    return true;
}

std::shared_ptr<Stream> Context::null_stream() {
    const std::scoped_lock lock(mutex_);
    if (null_stream_ == nullptr) null_stream_ = Stream::start(*this);
    return null_stream_;
}

Current current_context() {
    if (depth == 0) return {};
    Context* const top = stack[depth - 1];
    if (!top->is_active()) return {kContextIsDestroyed, nullptr};
    return {kSuccess, top};
}

CUresult primary_context_retain(CUcontext* ret_context, CUdevice device) {
    if (ret_context == nullptr) return kInvalidValue;
    if (!is_device(device)) return kInvalidDevice;
    Context& context = *contexts()[static_cast<size_t>(device)];
    context.retain();
    *ret_context = context.handle();
    return kSuccess;
}

CUresult primary_context_release(CUdevice device) {
    if (!is_device(device)) return kInvalidDevice;
    return contexts()[static_cast<size_t>(device)]->release() ? kSuccess : kInvalidContext;
}

CUresult context_push(CUcontext handle) {
    Context* const context = find_context(handle);
    if (context == nullptr || !context->is_active()) return kInvalidContext;
    if (depth == kDepthMax) return kOutOfMemory;
    stack[depth++] = context;
    return kSuccess;
}

CUresult context_pop(CUcontext* ret_context) {
    if (depth == 0) return kInvalidContext;
    Context* const top = stack[--depth];
    if (ret_context != nullptr) *ret_context = top->handle();
    return kSuccess;
}

CUresult context_get_device(CUdevice* ret_device) {
    if (ret_device == nullptr) return kInvalidValue;
    const Current current = current_context();
    if (!current) return current.result;
    *ret_device = current.context->ordinal();
    return kSuccess;
}

}  // namespace pace::simulated_gpu
