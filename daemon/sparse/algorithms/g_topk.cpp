#include "daemon/sparse/algorithms/g_topk.h"

#include <bit>
#include <memory>
#include <utility>

namespace pace::sparse {

using base::Result;
using base::Task;
using collectives::Operation;

namespace {

// One execution. M is the greatest power of two. Worker M + i is folded into worker i. Among the M
// workers, worker w takes from w + 2^j for each 2^j below w's lowest bit. It gives to w minus that
// bit.
class Tree {
  public:
    explicit Tree(Exchange& exchange)
        : exchange_(exchange),
          communicator_(exchange.communicator),
          frame_(exchange.frame(0)),
          size_(coded_bytes_max(exchange.format(), frame_)),
          folded_(std::bit_floor(exchange.P())) {
        const size_t w = exchange.w();
        if (w >= folded_) {
            parent_ = w - folded_;
            return;
        }
        if (w + folded_ < exchange.P()) children_.push_back(w + folded_);
        for (size_t distance = 1; distance < folded_; distance *= 2) {
            if ((w & distance) != 0) {
                parent_ = w - distance;
                return;
            }
            children_.push_back(w + distance);
        }
    }

    Task<Result<Entries>> run() {
        Entries held = co_await cut_aside(exchange_, 0, frame_.k);
        for (const size_t child : children_) {
            Result<Entries> theirs = co_await take_from(child);
            if (!theirs) co_return theirs;
            co_await add_and_cut(exchange_, 0, held, *theirs, frame_.k, {});
            co_await round_and_keep(exchange_, 0, held, {});
        }
        exchange_.collection.settle();
        Bytes final_bytes = co_await encode_aside(exchange_, frame_, held);
        Result<> moved = co_await up_and_down(final_bytes);
        if (!moved) co_return std::move(moved).error();
        Result<Entries> chosen = co_await decode_aside(exchange_, frame_, final_bytes);
        if (!chosen) co_return chosen;
        co_await finish_aside(exchange_, 0, *chosen);
        co_return chosen;
    }

  private:
    static constexpr uint32_t kNoRound = 0;

    Task<Result<Entries>> take_from(size_t child) {
        Bytes bytes(size_);
        Operation received;
        communicator_.post_receive(received, child, slot_of(SparsePhase::reduce_scatter, kNoRound),
                                   bytes);
        communicator_.note(co_await received.ended());
        if (communicator_.aborted()) co_return communicator_.status().error();
        co_return co_await decode_aside(exchange_, frame_, bytes);
    }

    // `bytes` is this worker's sum, and becomes the root's sum.
    Task<Result<>> up_and_down(Bytes& bytes) {
        if (parent_ != kNone) {
            Bytes root(bytes.size());
            Result<> moved = co_await give_and_get(bytes, root);
            if (!moved) co_return moved;
            bytes = std::move(root);
        }
        const std::unique_ptr<Operation[]> sent(new Operation[children_.size()]);
        // The farthest child first, because its subtree has the longest way to go on.
        for (size_t i = children_.size(); i-- > 0;)
            communicator_.post_send(sent[i], children_[i], slot_of(SparsePhase::gather, kNoRound),
                                    bytes);
        for (size_t i = 0; i < children_.size(); ++i) communicator_.note(co_await sent[i].ended());
        co_return communicator_.status();
    }

    Task<Result<>> give_and_get(const Bytes& own, Bytes& bytes) {
        Operation given;
        Operation got;
        communicator_.post_receive(got, parent_, slot_of(SparsePhase::gather, kNoRound), bytes);
        communicator_.post_send(given, parent_, slot_of(SparsePhase::reduce_scatter, kNoRound),
                                own);
        communicator_.note(co_await given.ended());
        communicator_.note(co_await got.ended());
        co_return communicator_.status();
    }

    static constexpr size_t kNone = SIZE_MAX;

    Exchange& exchange_;
    collectives::Communicator& communicator_;
    Frame frame_;
    size_t size_;
    size_t folded_;
    size_t parent_ = kNone;
    std::vector<size_t> children_;
};

}  // namespace

Task<Result<Entries>> g_topk(Exchange& exchange) {
    Tree tree(exchange);
    co_return co_await tree.run();
}

}  // namespace pace::sparse
