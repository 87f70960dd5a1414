// Flow: a node's part that is still arriving while its sum travels, and a result that is carried on while the rest of it is
// formed. So a vector that lies on a GPU is copied to the host, reduced and copied back side by side.
//
// It is this node's own affair: what goes over the wire is the same with it and without, and other nodes need not have one.
#pragma once

#include <cstddef>

#include "daemon/collectives/layout.h"
#include "daemon/collectives/signal.h"

namespace pace::collectives {

// One thread, the all_reduce's, which calls all of it. A Flow must outlive the all_reduce, and every notify() of the Signal
// behind changed(), within which the all_reduce may go on, call finished(), and end.
class Flow {
  public:
    virtual ~Flow() = default;

    // The sum needs, and makes final, the first strip of each of so many blocks of the vector, then the second of each, and so
    // on, as Blocks(bytes, blocks, strip_bytes) cuts them: the order in which the part does best to arrive, though any will do.
    // One block of one strip: it needs all of the part before it begins. Called once, before anything is asked for; not at all
    // if the vector is empty, or the call is refused. The part must come without waiting for anything of the result.
    virtual void begin(size_t blocks, size_t strip_bytes) = 0;

    // Whether the part may be read within the range, a strip or the whole vector. Once true, it stays so.
    virtual bool arrived(ByteRange range) const = 0;

    // `co_await flow.changed()` ends when more has arrived, or because the exchange has been given up: look again. Whoever
    // aborts the communicator, or finds it aborted while its all_reduce has not ended, wakes those who wait here.
    virtual Signal::Awaiter changed() = 0;

    // The result within the range, a strip or the whole vector, is final: until the all_reduce has ended it is only read.
    // Of a sum that ends well, each byte is told of once; of another, some may never be.
    virtual void finished(ByteRange range) = 0;
};

}  // namespace pace::collectives
