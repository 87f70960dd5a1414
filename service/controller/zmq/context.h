// Context: a ZeroMQ context, shared by all users of inproc:// in one process.
//
// The header does not include zmq.h, so that a program may hold a context without ZeroMQ's headers.
#pragma once

#include <memory>

#include "base/result.h"

namespace pace::control_zmq {

class Context {
  public:
    static base::Result<std::shared_ptr<Context>> create();

    // Waits until every socket of the context is closed; close them first.
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    void* handle() const { return handle_; }

  private:
    explicit Context(void* handle) : handle_(handle) {}
    void* handle_;
};

}  // namespace pace::control_zmq
