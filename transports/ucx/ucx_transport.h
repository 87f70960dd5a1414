// UcxTransport: the transport between machines, over UCX 1.13 active messages.
//
// UCX moves bytes and notices broken connections; matching, and the choice between sending at once and
// offering first, are ours (see wire.h), so that ending an operation never waits for a peer that is frozen: UCX
// writes into its own buffers alone.
//
// The instance listens on the chosen interfaces with ports of the system's choice, which its address
// carries. UCX's TCP has no authentication: whoever reaches the port can speak to it, even write the
// process's memory, so the interface must lead to a trusted network only.
//
// UCX runs one thread of its own per process, which accepts connections; completions never run there.
#pragma once

#include <memory>

#include "transports/transport.h"
#include "transports/ucx/ucx_options.h"

namespace pace::transports {

class UcxTransport : public Transport {
  public:
    // Opens the interfaces. Several instances may live in one process, each in its own thread or in one.
    // Fails with ErrorKind::invalid for options that make no sense, ErrorKind::unavailable if UCX cannot open
    // the interfaces. What UCX
    // does to the signal handlers and memory calls of its host: see ucx_process.h.
    static base::Result<std::unique_ptr<UcxTransport>> create(const UcxOptions& options);
};

}  // namespace pace::transports
