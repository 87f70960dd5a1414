// Status builder: converts the state into a StatusView.
#pragma once

#include "service/controller/core/jobs/job.h"
#include "service/controller/core/status/status.h"

namespace pace::controller {

NodeView view_of(const Node& node, TimePoint now);
JobView view_of(const Job& job, TimePoint now);
std::vector<ZoneView> zones_of(const Job& job, const Membership& nodes);
std::vector<LinkView> links_of(const LinkTable& links);
std::vector<CutView> cuts_of(const CutLinks& cuts, TimePoint now);

}  // namespace pace::controller
