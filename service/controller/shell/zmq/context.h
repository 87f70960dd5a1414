// Context: a ZeroMQ context, shared by everything that talks over inproc:// in one process.
//
// The header does not show zmq.h, so that a program may hold a context without knowing ZeroMQ.
#pragma once

#include <memory>

#include "base/result.h"

namespace pace::control_zmq {

class Context {
  public:
    static base::Result<std::shared_ptr<Context>> create();

    // Every socket of the context must be closed before; otherwise this waits for them.
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    void* handle() const { return handle_; }

  private:
    explicit Context(void* handle) : handle_(handle) {}
    void* handle_;
};

}  // namespace pace::control_zmq
