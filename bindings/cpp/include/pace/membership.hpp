// membership: the session of pace.h, which the session object and its buffers and requests keep
// together.
#pragma once

#include <pace.h>

#include <pace/reference.hpp>

#include <utility>

namespace pace {
namespace detail {

// Owns a pace_session. The last of its owners frees it, so no call on it can run then.
class membership final : public counted {
  public:
    explicit membership(pace_session* raw) noexcept : raw_(raw) {}
    ~membership() override { free(); }

    // NULL after free(), which pace.h answers with E_INVALID.
    pace_session* raw() const noexcept { return raw_; }
    void free() noexcept { pace_session_free(std::exchange(raw_, nullptr)); }

  private:
    pace_session* raw_;
};

inline pace_session* raw_of(const reference<membership>& session) noexcept {
    return session ? session->raw() : nullptr;
}

}  // namespace detail
}  // namespace pace
