// Outlet: where the dispatcher's output goes. The server's is a socket and a journal, a test's a
// list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

class Outlet {
  public:
    virtual ~Outlet() = default;

    // False if the connection is gone or its peer does not read: the message is lost.
    virtual bool send(std::string_view route, std::span<const std::byte> message) = 0;

    virtual void append(std::vector<std::byte> record) = 0;

    // Why hard state cannot be made durable now; nothing if it can.
    virtual std::optional<base::Error> journal_failure() const = 0;

    virtual void note(const Note& note) = 0;

    // This process's clock, which daemons compare with theirs; 0: not sent.
    virtual uint64_t clock_ns() const { return 0; }

    // The answer to a StatusRequest.
    virtual std::string status_json() const = 0;
};

}  // namespace pace::controller
