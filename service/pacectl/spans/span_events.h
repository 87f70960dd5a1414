// The events of a Chrome trace that spans make. A process of the trace is a node with its workers
// of one job, a thread is a rank. A rank has further threads if its spans overlap.
#pragma once

#include <vector>

#include "service/pacectl/spans/span.h"

namespace pace::pacectl {

Json span_events(const std::vector<Span>& spans);

}  // namespace pace::pacectl
