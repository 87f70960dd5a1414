#include "service/controller/zmq/context.h"

#include <zmq.h>

#include <cerrno>

namespace pace::control_zmq {

base::Result<std::shared_ptr<Context>> Context::create() {
    void* handle = zmq_ctx_new();
    if (handle == nullptr) return base::make_errno_error(errno, "create ZeroMQ context");
    return std::shared_ptr<Context>(new Context(handle));
}

Context::~Context() {
    while (zmq_ctx_term(handle_) != 0 && errno == EINTR) {
    }
}

}  // namespace pace::control_zmq
