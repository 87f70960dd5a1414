// Message reader: converts envelopes of the control plane into events of the core and messages for
// the shell. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "protocol/control_codec.h"
#include "service/controller/vocabulary/types.h"

namespace pace::controller {

// Errors: version, naming both versions; invalid.
base::Result<Hello> read_hello(const protocol::control::Hello& table);

// The event in a message from the daemon at `node`. Nothing for messages that do not concern the
// core (hello, status), and for messages that only a controller sends. Fails with invalid if the
// message has a choice that this controller does not know; then request_of() gives the request to
// refuse.
base::Result<std::optional<Event>> read_event(const protocol::control::Envelope& envelope,
                                              NodeId node);

// The request that a refusal must name; nothing if the message needs no answer.
std::optional<RequestId> request_of(const protocol::control::Envelope& envelope);

}  // namespace pace::controller
