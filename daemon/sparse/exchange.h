// Exchange: what the steps of one sparse all-reduce share, and the two ways in which they move
// blocks of entries.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/collection.h"
#include "daemon/sparse/messages.h"
#include "daemon/sparse/options.h"
#include "daemon/sparse/sparse_state.h"

namespace pace::sparse {

// Does what takes long: in a thread of the pool, so that the event loop goes on meanwhile, and what
// is under way with it. Little work is done at once, and all of it without `post`, which brings a
// callback to the event loop's thread. Only the exchange's own coroutine waits for it, so its data
// are in one thread at a time.
struct Aside {
    kernels::WorkerPool& pool;
    kernels::WorkerPool::Post post;
    size_t count;  // elements of the exchange, for a measure of the work

    base::Task<> run(const std::function<void()>& work) const;
};

struct Exchange {
    collectives::Communicator& communicator;
    const Options& options;
    Collection& collection;
    Adaptation& adaptation;
    Aside aside;

    WireFormat format() const { return options.format; }
    // As the papers name them: P workers, of which this is w.
    size_t P() const { return communicator.size(); }
    size_t w() const { return communicator.self(); }
    Frame frame(size_t block) const {
        const Block range = collection.division().block(block);
        return {range.length(), range.k};
    }
    // Ends the exchange for everyone.
    base::Error fail(base::Error error) {
        communicator.abort(error);
        return error;
    }
};

// collection.cut() and collection.finish(), aside. What a device says is everybody's error.
base::Task<Entries> cut_aside(Exchange& exchange, size_t block, size_t k);
base::Task<> finish_aside(Exchange& exchange, size_t block, const Entries& chosen);

// collection.keep(): aside of a gradient that is not on the host, and at once otherwise.
base::Task<> keep(Exchange& exchange, size_t block, const Entries& discarded, size_t holders,
                  size_t place);

// Every rank's entries at every rank, this one's included, as they came through the wire: the same
// bits everywhere. frames[r] is what rank r's are coded in.
base::Task<base::Result<std::vector<Entries>>> gather_entries(Exchange& exchange, Ring ring,
                                                              SparsePhase phase,
                                                              std::vector<Frame> frames,
                                                              const Entries& own);

// One block of entries to `to` and one from `from`, both coded in `frame`.
base::Task<base::Result<Entries>> exchange_entries(Exchange& exchange, size_t to,
                                                   const Entries& entries, size_t from, Frame frame,
                                                   uint32_t slot);

}  // namespace pace::sparse
