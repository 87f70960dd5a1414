#include "daemon/device/shared_words.h"

#include <utility>

namespace pace::device {

using base::Result;
using namespace base::cuda;  // the driver's own names

Result<std::shared_ptr<SharedWords>> SharedWords::adopt(Device& device, base::UniqueFd fd,
                                                        uint32_t slots) {
    if (!device.facts().has_stream_words)
        return base::make_error(base::ErrorKind::unavailable,
                                "streams of {} have no words of the host's memory",
                                device.facts().id());
    const ContextScope scope = device.enter();
    PACE_TRY_ASSIGN(words, StreamWords::adopt(device.driver(), std::move(fd), slots));
    return std::shared_ptr<SharedWords>(new SharedWords(device, std::move(words)));
}

SharedWords::~SharedWords() {
    const ContextScope scope = device_.enter();
    words_.reset();
}

Result<> SharedWords::probe(CUstream stream) const {
    const ContextScope scope = device_.enter();
    return device_.check(words_->write(stream, words_->at(0).probe, 1), "write a word in a stream");
}

void SharedWords::await_data(const void* owner, uint32_t slot, uint64_t request,
                             std::function<void(const Result<>&)> callback) {
    device_.event_watch().add(owner, &words_->at(slot).ready, request, std::move(callback));
}

// A word that no stream can write is stored, so that nobody waits for ever.
Result<> SharedWords::tell(uint32_t slot, uint64_t request, CUstream stream) {
    const ContextScope scope = device_.enter();
    std::atomic<uint64_t>& ended = words_->at(slot).ended;
    auto told = device_.check(words_->write(stream, ended, request), "tell the trainer's stream");
    if (!told) ended = request;
    return told;
}

void SharedWords::release(uint32_t slot, uint64_t request, CUstream stream) {
    (void)tell(slot, request, stream);
}

}  // namespace pace::device
