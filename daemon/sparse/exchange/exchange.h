// Exchange: the state that the steps of one sparse all-reduce share, and the two ways in which the
// steps move blocks of entries. A function that works aside runs its work as aside.h says.
#pragma once

#include <span>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"
#include "daemon/sparse/exchange/aside.h"
#include "daemon/sparse/exchange/collection.h"
#include "daemon/sparse/exchange/messages.h"
#include "daemon/sparse/residual/sparse_state.h"
#include "daemon/sparse/wire/options.h"

namespace pace::sparse {

struct Exchange {
    collectives::Communicator& communicator;
    const Options& options;
    Collection& collection;
    Adaptation& adaptation;
    Aside aside;

    WireFormat format() const { return options.format; }
    // Names of the papers: P workers. This node is worker w.
    size_t P() const { return communicator.size(); }
    size_t w() const { return communicator.self(); }
    Frame frame(size_t block) const {
        const Block range = collection.division().block(block);
        return {range.length(), range.k};
    }
    // Ends the exchange for all nodes.
    base::Error fail(base::Error error) {
        communicator.abort(error);
        return error;
    }
};

// collection.cut() and collection.finish(), run aside. An error of a device becomes the exchange's
// error on all nodes.
base::Task<Entries> cut_aside(Exchange& exchange, size_t block, size_t k);
base::Task<> finish_aside(Exchange& exchange, size_t block, const Entries& chosen);

// The number of workers that hold alike what is kept, and this worker's place among them
// (Collection::keep()).
struct Holders {
    size_t count = 1;
    size_t place = 0;
};
// collection.keep(), run aside.
base::Task<> keep(Exchange& exchange, size_t block, const Entries& discarded, Holders holders);
// Adds `theirs` to `held`, cuts the sum to its top k, and keeps the rest. Runs aside.
base::Task<> add_and_cut(Exchange& exchange, size_t block, Entries& held, const Entries& theirs,
                         size_t k, Holders holders);
// Rounds `held` to the values that travel, and keeps what rounding takes away. Runs aside.
base::Task<> round_and_keep(Exchange& exchange, size_t block, Entries& held, Holders holders);

// encode() and decode(), run aside. encode_aside() returns as many bytes as the frame may take.
// Bytes that do not decode end the exchange for all nodes.
base::Task<Bytes> encode_aside(Exchange& exchange, Frame frame, const Entries& entries);
base::Task<base::Result<Entries>> decode_aside(Exchange& exchange, Frame frame,
                                               std::span<const std::byte> bytes_untrusted);

// Gathers every rank's entries at every rank. The result includes this rank's own entries. All
// entries have been coded for the wire, so they are the same bits on all ranks. Rank r's entries
// are coded in frames[r].
base::Task<base::Result<std::vector<Entries>>> gather_entries(Exchange& exchange, Ring ring,
                                                              SparsePhase phase,
                                                              std::vector<Frame> frames,
                                                              const Entries& own);

// Sends one block of entries to `to` and receives one from `from`. Both are coded in `frame`.
base::Task<base::Result<Entries>> exchange_entries(Exchange& exchange, size_t to,
                                                   const Entries& entries, size_t from, Frame frame,
                                                   uint32_t slot);

}  // namespace pace::sparse
