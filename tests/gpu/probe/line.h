// Line: messages between two processes of a fact. Partner: the second process, forked before the
// first call of the driver, since a process that has used the driver cannot fork.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::gpu_probe {

class Line {
  public:
    explicit Line(base::UniqueFd socket) : socket_(std::move(socket)) {}

    // Each message is a struct, perhaps with a descriptor. Errors: closed, if the other process has
    // ended; timeout, if nothing has come within ten seconds.
    template <typename Message>
    base::Result<> send(const Message& message, int descriptor = -1) {
        static_assert(std::is_trivially_copyable_v<Message>);
        return send_bytes(&message, sizeof(message), descriptor);
    }
    template <typename Message>
    base::Result<Message> receive(base::UniqueFd* ret_descriptor = nullptr) {
        Message message{};
        PACE_TRY(receive_bytes(&message, sizeof(message), ret_descriptor));
        return message;
    }
    // The end of what the partner has to do, in words. Empty: it has done it.
    base::Result<> send_text(const std::string& text);
    base::Result<std::string> receive_text();

  private:
    base::Result<> send_bytes(const void* message, size_t bytes, int descriptor);
    base::Result<> receive_bytes(void* ret_message, size_t bytes, base::UniqueFd* ret_descriptor);

    base::UniqueFd socket_;
};

// Where the partner runs.
enum class Where {
    here,
    other_user,       // nobody's; needs root
    other_shm,        // with a /dev/shm of its own, as a container; needs root
    other_processes,  // where processes have other numbers; needs root
};

class Partner {
  public:
    // `code` runs in the partner. If it fails, its error is the partner's text.
    Partner(Where where, const std::function<base::Result<>(Line&)>& code);
    ~Partner();
    Partner(const Partner&) = delete;
    Partner& operator=(const Partner&) = delete;

    Line& line() { return line_; }
    void kill();

  private:
    pid_t pid_ = -1;
    Line line_{base::UniqueFd()};
};

}  // namespace pace::gpu_probe
