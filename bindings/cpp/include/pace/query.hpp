// query: what the library, or a daemon, tells of itself, as JSON.
#pragma once

#include <pace/result.hpp>

#include <optional>
#include <string>
#include <utility>

namespace pace {

// A JSON text. Move-only; owns it.
class json_text {
  public:
    explicit json_text(char* text) noexcept : text_(text) {}
    json_text(json_text&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
    json_text& operator=(json_text&& other) noexcept {
        std::swap(text_, other.text_);
        return *this;
    }
    ~json_text() { pace_text_free(text_); }

    // Zero-terminated; lives as long as this object.
    const char* c_str() const noexcept { return text_; }
    // A copy of it.
    operator std::string() const { return text_; }

  private:
    char* text_;
};

// A JSON document. `what`: "options" or "policies" (lists of objects), "versions" (an object),
// "status" (the cluster). `endpoint`: without one, only this library is asked, which knows no
// status. Otherwise the daemon at that endpoint is asked; endpoints are those of session_options,
// and "" is the daemon that a session without an endpoint finds. Threads: any. Blocks: with an
// endpoint at most ten seconds for connecting and ten for the answer, else no. Fails with: invalid,
// and with an endpoint as session::open().
inline result<json_text> query(nothrow_t, const char* what,
                               const char* endpoint = nullptr) noexcept {
    char* text = nullptr;
    pace_error error;
    if (pace_query(endpoint, what, &text, &error) != PACE_OK) return failure(error);
    return json_text(text);
}

#if defined(__cpp_exceptions)
inline std::string query(const std::string& what,
                         const std::optional<std::string>& endpoint = std::nullopt) {
    return query(nothrow, what.c_str(), endpoint ? endpoint->c_str() : nullptr).value();
}
#endif

}  // namespace pace
