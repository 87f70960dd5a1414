// Claims: the elements of buffers that a request in flight names. No two requests in flight name
// the same element.
#pragma once

#include "base/result.h"
#include "libclient/connection/buffer.h"
#include "libclient/requests/operation.h"
#include "libclient/requests/request.h"

namespace pace::client {

// Claims what the operation's slices and results name, and sets the request's parts. Fails with
// `handle` or `invalid`, and the message names the argument. After an error the request has some of
// its claims: call release_claims().
base::Result<> claim(BufferTable& buffers, const Operation& operation, Request& request);

void release_claims(BufferTable& buffers, Request& request);

// Checks that the claimed buffers are all on the host, or all on one GPU and named as a whole.
// Returns that GPU, or null for the host. Also checks that the operation's stream is of that GPU.
base::Result<Gpu*> common_gpu(const BufferTable& buffers, const Operation& operation,
                              const Request& request);

}  // namespace pace::client
