#include "daemon/sparse/residual/sparse_state.h"

#include <algorithm>

#include "daemon/sparse/residual/chosen.h"
#include "daemon/sparse/wire/packed.h"

namespace pace::sparse {

using base::ErrorKind;
using base::Result;

std::span<float> SparseState::begin(UndoLog log, bool leaves_nothing) {
    log_ = std::move(log);
    has_ended_ = false;
    leaves_nothing_ = leaves_nothing;
    next_ = adaptation_;
    return residual_.begin();
}

void SparseState::end() {
    log_ = UndoLog();
    has_ended_ = true;
}

void SparseState::commit() {
    if (!residual_.begun() || !has_ended_) return;
    residual_.commit(leaves_nothing_);
    adaptation_ = std::move(next_);
}

void SparseState::discard() {
    log_ = UndoLog();
    residual_.discard();
}

Result<> SparseState::conclude(const collectives::Layout& layout, std::span<const std::byte> result,
                               std::span<const std::byte> hidden_untrusted) {
    if (!residual_.begun())
        return base::make_error(ErrorKind::invalid, "there is no exchange to conclude");
    if (has_ended_) return {};
    const Packed packed(layout);
    if (packed.count() != residual_.count() || result.size() != layout.bytes())
        return base::make_error(ErrorKind::invalid,
                                "a result of {} elements in {} bytes cannot conclude an exchange "
                                "of {} elements",
                                packed.count(), result.size(), residual_.count());
    if (!log_.is_settled())
        return base::make_error(ErrorKind::invalid,
                                "this node had not sent all when its exchange ended: nobody can "
                                "have the result; discard the exchange and redo it");
    PACE_TRY_ASSIGN(chosen, chosen_indices(packed, result, hidden_untrusted));
    log_.undo_all(chosen, [this](size_t begin, std::span<const uint32_t> indices,
                                 std::span<const float> values) {
        residual_.write_next(begin, indices, values);
    });
    if (residual_.far()) PACE_TRY(residual_.far()->status());
    end();
    next_ = Adaptation();
    return {};
}

}  // namespace pace::sparse
