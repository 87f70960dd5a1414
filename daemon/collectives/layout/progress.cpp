#include "daemon/collectives/layout/progress.h"

namespace pace::collectives {

bool Progress::covers(ByteRange range) const {
    if (order_ == protocol::Order::backward)
        return all_ - layout_.elements_before(range.begin) <= elements_;
    return layout_.elements_before(range.end) <= elements_;
}

void Progress::advance(uint64_t elements) {
    if (elements <= elements_) return;
    elements_ = elements;
    moved_ = base::now();
    changed_.notify();
}

}  // namespace pace::collectives
