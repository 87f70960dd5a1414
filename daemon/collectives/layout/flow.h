// Flow: a node's part that arrives while its sum travels, and a result that is consumed while the
// rest of the result is still formed. So a vector on a GPU is copied to the host, reduced and
// copied back concurrently.
//
// A flow is local to its node. Messages are the same with and without a flow, and other nodes need
// none.
#pragma once

#include <cstddef>

#include "daemon/collectives/layout/layout.h"
#include "daemon/collectives/layout/signal.h"

namespace pace::collectives {

// A Flow is used in one thread, the all_reduce's. All calls are made by the all_reduce. A Flow must
// outlive the all_reduce and every notify() of the Signal behind changed(). Within notify() the
// all_reduce may go on, call finished(), and end.
class Flow {
  public:
    virtual ~Flow() = default;

    // Announces the order in which the sum needs the part and makes the result final. The first
    // strip of each of `blocks` blocks of the vector comes first, then the second strip of each,
    // and so on. Blocks(bytes, blocks, strip_bytes) defines the strips. The part should arrive in
    // this order, but may arrive in any order. One block of one strip means that the sum needs the
    // whole part before it begins. begin() is called once, before all other calls. It is not called
    // if the vector is empty or the all_reduce is refused. The part must arrive without waiting for
    // any of the result.
    virtual void begin(size_t blocks, size_t strip_bytes) = 0;

    // Returns whether the part may be read within `range`, which is a strip or the whole vector.
    // Once true, the answer stays true.
    virtual bool arrived(ByteRange range) const = 0;

    // `co_await flow.changed()` ends when more of the part has arrived, or because the exchange has
    // been aborted. Then the waiter must check again. Code that aborts the communicator must wake
    // the waiters here. So must code that finds the communicator aborted while its all_reduce has
    // not ended.
    virtual Signal::Awaiter changed() = 0;

    // Reports that the result within `range`, a strip or the whole vector, is final. Until the
    // all_reduce has ended, this range is only read. If the sum succeeds, each byte is reported
    // exactly once. Otherwise some bytes may never be reported.
    virtual void finished(ByteRange range) = 0;
};

}  // namespace pace::collectives
