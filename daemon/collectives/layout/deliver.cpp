#include "daemon/collectives/layout/deliver.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace pace::collectives {

namespace {

// The number of bytes of the logical vector that a thread claims at once. The number is small
// enough to balance the load, and large enough to stream.
constexpr size_t kGrainBytes = 65536;

using Outs = std::vector<std::vector<std::byte*>>;  // by segment, then recipient

Outs outs_by_segment(const Layout& layout, const std::vector<Recipient>& recipients) {
    Outs outs(layout.segments().size());
    for (size_t segment = 0; segment < outs.size(); ++segment)
        for (const Recipient& recipient : recipients)
            outs[segment].push_back(recipient.segments[segment]);
    return outs;
}

kernels::WorkerPool::Work sum_work(const LocalPart& part, double scale,
                                   const std::vector<Recipient>& recipients) {
    const auto outs = std::make_shared<const Outs>(outs_by_segment(part.layout(), recipients));
    return [&part, scale, outs](size_t begin, size_t end) {
        part.layout().for_each_piece({begin, end}, [&](const Piece& piece) {
            kernels::weighted_sum_into_all(piece.dtype, part.sources(piece.segment), scale,
                                           (*outs)[piece.segment], piece.count, piece.first);
        });
    };
}

kernels::WorkerPool::Work spread_work(const LocalPart& part,
                                      const std::vector<Recipient>& recipients) {
    const auto outs = std::make_shared<const Outs>(outs_by_segment(part.layout(), recipients));
    return [&part, outs](size_t begin, size_t end) {
        part.layout().for_each_piece({begin, end}, [&](const Piece& piece) {
            const size_t first = piece.first * protocol::size_of(piece.dtype);
            kernels::copy_into_all(part.members().front().segments[piece.segment] + first,
                                   (*outs)[piece.segment], piece.bytes(), first);
        });
    };
}

}  // namespace

void sum_into_members(const LocalPart& part, double scale, const std::vector<Recipient>& recipients,
                      kernels::WorkerPool& pool) {
    pool.parallel_for(part.layout().bytes(), kGrainBytes, sum_work(part, scale, recipients));
}

void sum_into_members(const LocalPart& part, double scale, const std::vector<Recipient>& recipients,
                      kernels::WorkerPool& pool, Notice notice) {
    pool.submit(part.layout().bytes(), kGrainBytes, sum_work(part, scale, recipients),
                std::move(notice.post), std::move(notice.done));
}

void copy_among_members(const LocalPart& part, const std::vector<Recipient>& recipients,
                        kernels::WorkerPool& pool) {
    pool.parallel_for(part.layout().bytes(), kGrainBytes, spread_work(part, recipients));
}

void copy_among_members(const LocalPart& part, const std::vector<Recipient>& recipients,
                        kernels::WorkerPool& pool, Notice notice) {
    pool.submit(part.layout().bytes(), kGrainBytes, spread_work(part, recipients),
                std::move(notice.post), std::move(notice.done));
}

kernels::WorkerPool::Work copying_to_members(const Layout& layout, const std::byte* result,
                                             const std::vector<Recipient>& recipients) {
    const auto outs = std::make_shared<const Outs>(outs_by_segment(layout, recipients));
    return [&layout, result, outs](size_t begin, size_t end) {
        layout.for_each_piece({begin, end}, [&](const Piece& piece) {
            kernels::copy_into_all(result + piece.offset, (*outs)[piece.segment], piece.bytes(),
                                   piece.first * protocol::size_of(piece.dtype));
        });
    };
}

void copy_to_members(const Layout& layout, const std::byte* result,
                     const std::vector<Recipient>& recipients, kernels::WorkerPool& pool) {
    pool.parallel_for(layout.bytes(), kGrainBytes, copying_to_members(layout, result, recipients));
}

void copy_to_members(const Layout& layout, const std::byte* result,
                     const std::vector<Recipient>& recipients, kernels::WorkerPool& pool,
                     Notice notice) {
    pool.submit(layout.bytes(), kGrainBytes, copying_to_members(layout, result, recipients),
                std::move(notice.post), std::move(notice.done));
}

}  // namespace pace::collectives
