// Test flows: parts that arrive when a test says so, and the nodes that reduce them meanwhile.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/collectives/all_reduce.h"
#include "daemon/collectives/layout/blocks.h"
#include "daemon/collectives/layout/flow.h"
#include "daemon/collectives/tests/test_cluster.h"
#include "daemon/collectives/tests/test_data.h"
#include "daemon/collectives/tests/test_zones.h"

namespace pace::collectives {

// The value of bytes that have not arrived. It is NaN in every type, so that a sum that has read
// one shows it.
inline constexpr std::byte kNotThere{0xFF};

inline std::vector<Worker> not_there(std::vector<Worker> workers) {
    for (Worker& worker : workers)
        for (Bytes& segment : worker.segments) std::fill(segment.begin(), segment.end(), kNotThere);
    return workers;
}

template <typename Memory>
auto at(Memory& memory, size_t offset) {
    return memory.begin() + static_cast<ptrdiff_t>(offset);
}

// One node's part, flow and result. The test fails if a byte is read before it has arrived, or
// reported too early or twice.
class ArrivingPart final : public Addend, public Flow {
  public:
    ArrivingPart(const Layout& layout, std::vector<Worker> workers, Bytes expected)
        : layout_(layout),
          whole_(std::move(workers)),
          buffers_(not_there(whole_)),
          part_(local_part(layout, buffers_)),
          expected_(std::move(expected)),
          result_(layout.bytes(), std::byte{0xAB}),
          here_(layout.bytes() / kCutBytes, false),
          told_(layout.bytes() / kCutBytes, false) {}

    const Layout& layout() const override { return layout_; }
    void sum(ByteRange range, double scale, std::byte* out) const override {
        EXPECT_TRUE(all_of(here_, range)) << "read too early: from " << range.begin;
        part_.sum(range, scale, out);
    }
    std::span<const std::byte> direct(ByteRange range) const override {
        EXPECT_TRUE(all_of(here_, range)) << "read too early: from " << range.begin;
        return part_.direct(range);
    }

    void begin(size_t blocks, size_t strip_bytes) override {
        EXPECT_TRUE(strips_.empty());
        const Blocks cut(layout_.bytes(), blocks, strip_bytes);
        for (size_t strip = 0; strip < cut.chunks_max(); ++strip)
            for (size_t block = 0; block < blocks; ++block)
                if (strip < cut.chunks(block)) strips_.push_back(cut.chunk(block, strip));
    }
    bool arrived(ByteRange range) const override {
        EXPECT_TRUE(range == whole() || is_strip(range));
        return all_of(here_, range);
    }
    Signal::Awaiter changed() override { return changed_.changed(); }
    void finished(ByteRange range) override {
        EXPECT_TRUE(range == whole() || is_strip(range));
        EXPECT_TRUE(std::equal(at(result_, range.begin), at(result_, range.end),
                               at(expected_, range.begin)))
            << "told of too early: " << range.begin;
        for (size_t cut = range.begin / kCutBytes; cut < range.end / kCutBytes; ++cut) {
            EXPECT_FALSE(told_[cut]) << "told of twice: " << range.begin;
            told_[cut] = true;
        }
    }

    void arrive(ByteRange range) {
        for (size_t w = 0; w < whole_.size(); ++w)
            layout_.for_each_piece(range, [&](const Piece& piece) {
                const size_t first = piece.first * protocol::size_of(piece.dtype);
                std::copy_n(at(whole_[w].segments[piece.segment], first), piece.bytes(),
                            at(buffers_[w].segments[piece.segment], first));
            });
        for (size_t cut = range.begin / kCutBytes; cut < range.end / kCutBytes; ++cut)
            here_[cut] = true;
        changed_.notify();
    }
    void wake() { changed_.notify(); }

    ByteRange whole() const { return {0, layout_.bytes()}; }
    // The strips in the order in which they are needed. The list is empty before begin().
    const std::vector<ByteRange>& strips() const { return strips_; }
    bool is_told(ByteRange range) const { return all_of(told_, range); }
    size_t cuts_told() const {
        return static_cast<size_t>(std::count(told_.begin(), told_.end(), true));
    }
    Bytes& result() { return result_; }
    bool is_expected() const { return result_ == expected_; }

  private:
    static bool all_of(const std::vector<bool>& cuts, ByteRange range) {
        return std::all_of(at(cuts, range.begin / kCutBytes), at(cuts, range.end / kCutBytes),
                           [](bool is) { return is; });
    }
    bool is_strip(ByteRange range) const {
        return std::find(strips_.begin(), strips_.end(), range) != strips_.end();
    }

    Layout layout_;
    std::vector<Worker> whole_;
    std::vector<Worker> buffers_;
    LocalPart part_;
    Bytes expected_;
    Bytes result_;
    std::vector<bool> here_;  // by kCutBytes
    std::vector<bool> told_;
    std::vector<ByteRange> strips_;
    Signal changed_;
};

// All nodes' all_reduces of arriving parts.
struct Arrivals {
    Arrivals(const ZonedExchange& exchange, const AllReduceOptions& equal_options,
             std::optional<uint64_t> seed = std::nullopt)
        : cluster(exchange.nodes.size(), seed, exchange.contributes, exchange.zones),
          scale(exchange.scale),
          options(equal_options) {
        const bool is_little = exchange.layout.bytes() <= options.small_bytes_max;
        const Bytes expected = is_little
                                   ? reference_all_reduce(exchange.layout, exchange.nodes,
                                                          exchange.scale, exchange.contributes)
                                   : zoned_reference(exchange);
        for (const auto& workers : exchange.nodes)
            parts.push_back(std::make_unique<ArrivingPart>(exchange.layout, workers, expected));
    }

    size_t size() const { return parts.size(); }
    ArrivingPart& part(size_t node) { return *parts[node]; }

    void start(size_t node, bool has_flow = true) {
        AllReduceOptions own = options;
        if (has_flow) own.flow = parts[node].get();
        cluster.start(node, all_reduce(cluster.communicator(node), part(node), scale,
                                       part(node).result(), own));
    }
    void start_all() {
        for (size_t i = 0; i < size(); ++i) start(i);
    }
    void arrive_all() {
        for (const auto& part : parts) part->arrive(part->whole());
    }

    void expect_told() const {
        for (const auto& part : parts) {
            ASSERT_TRUE(part->is_expected());
            ASSERT_TRUE(part->is_told(part->whole()));
        }
    }

    // Ends a failed exchange as a caller must: aborts the communicators at the dead node and wakes
    // all waiters. The dead node's operations end with its transport.
    void expect_all_end(base::ErrorKind kind, size_t dead) {
        if (dead < size()) cluster.communicator(dead).abort({kind, "dead"});
        for (const auto& part : parts) part->wake();
        cluster.run();
        for (size_t i = 0; i < size(); ++i) {
            if (i == dead) continue;
            ASSERT_EQ(cluster.ends(i), 1) << "node " << i;
            if (cluster.outcome(i)) {
                ASSERT_TRUE(part(i).arrived(part(i).whole()));
            } else {
                ASSERT_EQ(cluster.outcome(i).error().kind, kind);
            }
            ASSERT_TRUE(cluster.communicator(i).waiting_for().empty());
        }
    }

    std::vector<std::unique_ptr<ArrivingPart>> parts;
    // The cluster stands after the parts. Its destructor ends operations that use the parts.
    TestCluster cluster;
    double scale;
    AllReduceOptions options;
};

}  // namespace pace::collectives
