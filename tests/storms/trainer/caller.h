// Caller: a session with its buffers. The Caller makes one request at a time and waits for it. It
// measures everything that blocks, and compares the library's statements about the buffers with
// their contents.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "capi/testing/asked_session.h"
#include "diary.h"
#include "pace.h"

namespace pace::storms {

class Caller {
  public:
    using Begin = std::function<pace_status(pace_request* ret_request)>;

    // `is_over` tells a waiting Caller to give up.
    Caller(AskedSession options, uint64_t elements, bool (*is_over)(), const Diary& diary);
    ~Caller() {
        pace_session_leave(session_, 1000, nullptr);
        pace_session_free(session_);
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    // Opens the session and makes both buffers. Reports a failure to the diary. Blocks as
    // pace_session_open does.
    bool open();

    // Makes a request that names the buffer with this number, and waits for its end. Reports the
    // end to the diary if it is not OK.
    pace_status collect(const char* verb, size_t buffer, const Begin& begin);

    // The number names one of the two buffers.
    std::span<float> data(size_t number) { return {data_.at(number), elements_}; }
    const pace_buffer* buffer(size_t number) const { return &buffers_.at(number); }

    // Returns whether the session has reconnected to another daemon since the last call of this
    // function.
    bool has_reconnected();

    pace_session* session() const { return session_; }
    pace_error* error() { return &error_; }
    // Returns the info of the last request.
    const pace_request_info& info() const { return info_; }
    pace_contents contents() const { return static_cast<pace_contents>(info_.contents); }
    std::span<const pace_member> members() const { return {members_.data(), info_.member_listed}; }
    uint64_t waited_ms() const { return waited_ms_; }

  private:
    static constexpr uint32_t kMembers = 128;

    pace_status wait(const char* verb, pace_request request);
    void judge_contents(const char* verb, pace_status status, size_t buffer);
    template <typename Call>
    pace_status timed(const char* what, Call call);

    AskedSession options_;
    uint64_t elements_;
    bool (*is_over_)();
    const Diary& diary_;
    pace_session* session_ = nullptr;
    std::array<pace_buffer, 2> buffers_{};
    std::array<float*, 2> data_{};
    // The contents of the request's buffer at the time of the call.
    std::vector<float> as_called_;
    std::array<pace_member, kMembers> members_{};
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    pace_error error_{};
    uint64_t waited_ms_ = 0;
    uint64_t generation_ = 0;  // of the daemon
};

}  // namespace pace::storms
