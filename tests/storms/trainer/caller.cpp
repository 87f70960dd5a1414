#include "caller.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace pace::storms {

namespace {

constexpr int64_t kLookMs = 250;      // how often a wait looks at the clock
constexpr uint64_t kSlowMs = 10'000;  // no request may take longer
constexpr uint64_t kToldMs = 50;      // a call that blocks for less is not reported

}  // namespace

Caller::Caller(AskedSession options, uint64_t elements, bool (*is_over)(), const Diary& diary)
    : options_(std::move(options)), elements_(elements), is_over_(is_over), diary_(diary) {}

template <typename Call>
pace_status Caller::timed(const char* what, Call call) {
    const uint64_t began = now_ns();
    const pace_status status = call();
    const uint64_t ms = (now_ns() - began) / 1'000'000;
    if (ms >= kToldMs) diary_.blocked(what, ms);
    return status;
}

bool Caller::open() {
    const char* what = "open";
    pace_status status = timed(what, [&] { return options_.open(&session_, &error_); });
    for (size_t i = 0; i < buffers_.size() && status == PACE_OK; ++i) {
        void* data = nullptr;
        what = "buffer_create";
        status = timed(what, [&] {
            return pace_buffer_create(session_, PACE_F32, elements_, nullptr, &buffers_.at(i),
                                      &data, &error_);
        });
        data_.at(i) = static_cast<float*>(data);
    }
    if (status == PACE_OK) {
        (void)has_reconnected();
        return true;
    }
    pace_session_free(std::exchange(session_, nullptr));
    diary_.ended(what, status, PACE_CONTENTS_AS_CALLED, 0, error_.message);
    return false;
}

bool Caller::has_reconnected() {
    pace_session_info info = PACE_SESSION_INFO_INIT;
    if (pace_session_get_info(session_, &info, nullptr) != PACE_OK) return false;
    return std::exchange(generation_, info.generation) != generation_;
}

pace_status Caller::collect(const char* verb, size_t buffer, const Begin& begin) {
    const auto held = data(buffer);
    as_called_.assign(held.begin(), held.end());
    info_ = PACE_REQUEST_INFO_INIT;
    waited_ms_ = 0;
    pace_request request{};
    pace_status status = timed(verb, [&] { return begin(&request); });
    if (status == PACE_OK) status = wait(verb, request);
    if (status != PACE_OK) {
        diary_.ended(verb, status, contents(), waited_ms_, error_.message);
        judge_contents(verb, status, buffer);
    }
    return status;
}

pace_status Caller::wait(const char* verb, pace_request request) {
    pace_wait_options how = PACE_WAIT_OPTIONS_INIT;
    how.members = members_.data();
    how.member_capacity = kMembers;
    bool told = false;
    while (true) {
        const uint64_t began = now_ns();
        const pace_status status =
            pace_request_wait(session_, request, kLookMs, &how, &info_, &error_);
        // A wait that took much longer is one during which this process was frozen itself.
        waited_ms_ += std::min<uint64_t>((now_ns() - began) / 1'000'000, kLookMs);
        if (status != PACE_TIMEOUT) return status;
        if (!told && waited_ms_ > kSlowMs) diary_.slow(verb, waited_ms_);
        told = waited_ms_ > kSlowMs;
        if (told && is_over_()) std::exit(3);
    }
}

void Caller::judge_contents(const char* verb, pace_status status, size_t buffer) {
    const bool are_promised =
        status == PACE_ABORTED || status == PACE_CANCELED ||
        (status == PACE_E_DAEMON_GONE && contents() == PACE_CONTENTS_AS_CALLED);
    const auto held = data(buffer);
    if (!are_promised ||
        std::memcmp(as_called_.data(), held.data(), held.size() * sizeof(float)) == 0)
        return;
    const auto [was, is] = std::ranges::mismatch(as_called_, held);
    diary_.wrong(verb, std::string("ended as ") + pace_status_name(status) +
                           ", and its buffer is not as it was: element " +
                           std::to_string(was - as_called_.begin()) + " is " + std::to_string(*is) +
                           ", was " + std::to_string(*was));
}

}  // namespace pace::storms
