// Apart: a piece of a test in a process of its own, with its own environment and its own simulated
// driver, and a line to the test.
//
// A process loads its driver once, and a process that has used it cannot fork. The process of the
// tests therefore never uses the driver, and each test runs apart. If a test needs other processes,
// it starts them before its own first call of the driver.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace pace::simulated_gpu {

// One end of the line between two processes. Each message is a struct. A message may also hand over
// a descriptor.
class Line {
  public:
    explicit Line(base::UniqueFd socket) : socket_(std::move(socket)) {}

    template <typename Message>
    void send(const Message& message, int descriptor = -1) {
        static_assert(std::is_trivially_copyable_v<Message>);
        send_bytes(&message, sizeof(message), descriptor);
    }
    // Waits for a message. If the other process has ended, the test fails and the message is zeros.
    template <typename Message>
    Message receive(base::UniqueFd* ret_descriptor = nullptr) {
        Message message{};
        receive_bytes(&message, sizeof(message), ret_descriptor);
        return message;
    }
    // Tells only that it is time to go on.
    void tell() { send('.'); }
    void await() { (void)receive<char>(); }

  private:
    void send_bytes(const void* message, size_t bytes, int descriptor);
    void receive_bytes(void* ret_message, size_t bytes, base::UniqueFd* ret_descriptor);

    base::UniqueFd socket_;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

class Apart {
  public:
    // Runs `code` in a child. The child calls exit() with 1 if it has found failures, otherwise
    // with 0. The child dies with this process.
    Apart(const Environment& environment, const std::function<void(Line&)>& code);
    ~Apart();
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

    Line& line() { return line_; }
    void kill() const;
    // Waits for the child. Returns the exit status, or 128 + signal.
    int end();

  private:
    pid_t pid_ = -1;
    Line line_{base::UniqueFd()};
};

// Runs a whole test apart. Its failures are the test's failures.
void apart(const Environment& environment, const std::function<void()>& test);

}  // namespace pace::simulated_gpu
