// From the control plane's envelopes to what the core, or the shell, understands. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "protocol/control_codec.h"
#include "service/controller/core/types.h"

namespace pace::controller {

// Fails with version, naming both, or with invalid.
base::Result<Hello> read_hello(const protocol::control::Hello& table);

// The event that a message of the daemon at `node` means, if a daemon may send it at all. Nothing for messages that are not the core's
// business (hello, status) or that only a controller sends. Fails with invalid if it holds a choice that this controller does not know;
// `request_of` then tells whom to refuse.
base::Result<std::optional<Event>> read_event(const protocol::control::Envelope& envelope,
                                              NodeId node);

// The request that a refusal must name; nothing if the message asks for no answer.
std::optional<RequestId> request_of(const protocol::control::Envelope& envelope);

}  // namespace pace::controller
