// Exchange: what the steps of one sparse all-reduce share, and the two ways in which they move
// blocks of entries.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "daemon/sparse/aside.h"
#include "daemon/sparse/collection.h"
#include "daemon/sparse/messages.h"
#include "daemon/sparse/options.h"
#include "daemon/sparse/sparse_state.h"

namespace pace::sparse {

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

// How many workers alike hold what is kept, and which of them this one is (Collection::keep()).
struct Holders {
    size_t count = 1;
    size_t place = 0;
};
// collection.keep(), aside.
base::Task<> keep(Exchange& exchange, size_t block, const Entries& discarded, Holders holders);
// Adds `theirs` to `held`, cuts the sum to its top k, and keeps the rest. Aside.
base::Task<> add_and_cut(Exchange& exchange, size_t block, Entries& held, const Entries& theirs,
                         size_t k, Holders holders);
// Rounds `held` to what travels, and keeps what that takes away. Aside.
base::Task<> round_and_keep(Exchange& exchange, size_t block, Entries& held, Holders holders);

// encode() of as many bytes as the frame may take, and decode(), aside. What does not decode ends the exchange for everyone.
base::Task<Bytes> encode_aside(Exchange& exchange, Frame frame, const Entries& entries);
base::Task<base::Result<Entries>> decode_aside(Exchange& exchange, Frame frame,
                                               std::span<const std::byte> bytes_untrusted);

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
