// UcxTransport: the transport between machines, over UCX 1.13 active messages.
//
// UCX moves bytes and notices broken connections. Matching is ours, and so is the choice between
// sending at once and offering first (see wire.h). Ending an operation therefore never waits for a
// frozen peer: UCX writes only into its own buffers.
//
// The instance listens on the chosen interfaces. The system chooses the ports, and the instance's
// address carries them. UCX's TCP has no authentication: anyone who reaches the port can speak to
// it and can even write the process's memory. The interface must therefore lead to a trusted
// network only.
//
// UCX runs one thread of its own per process, which accepts connections. Completions never run in
// that thread.
#pragma once

#include <memory>

#include "transports/transport.h"
#include "transports/ucx/ucx_options.h"

namespace pace::transports {

class UcxTransport : public Transport {
  public:
    // Opens the interfaces. Several instances may live in one process. Each instance may have its
    // own thread, or several may share one. Fails with ErrorKind::invalid for options that make no
    // sense. Fails with ErrorKind::unavailable if UCX cannot open the interfaces. ucx_process.h
    // describes the effects of UCX on the signal handlers and memory calls of its host.
    static base::Result<std::unique_ptr<UcxTransport>> create(const UcxOptions& options);
};

}  // namespace pace::transports
