// Adoptions: newcomers that wait for the current model, and who gives it to them.
//
// An adoption is listed in the view that admits the newcomer. It stays on our list until an event
// shows that the newcomer has got it (its ready signal, or a heartbeat that finds it computing or
// past its first round), and is listed again in every view until then, with another donor where the
// first is not part of it: daemons stop transfers when the view changes, and a newcomer that no view
// lists goes on with what it has. A daemon must ignore an adoption of a newcomer whose request has
// ended.
#pragma once

#include <span>
#include <vector>

#include "service/controller/core/turn.h"
#include "service/controller/core/worker.h"

namespace pace::controller {

class Adoptions {
  public:
    using Adoption = CommitView::Adoption;

    // Lists the adoptions of a view about to be committed. `members` are its members in rank order;
    // the workers have their states of before, so that newcomers are still `admitted`. Donors are
    // members of the old view, of the lowest rank, on the newcomer's node if possible. A newcomer
    // for which there is none is not listed: it starts the model.
    std::vector<Adoption> list(std::span<const Member> members, const std::vector<Worker>& workers);

    void on_finished(Rank newcomer);
    bool is_pending(Rank newcomer) const;

  private:
    Rank donor_for(NodeId node, std::span<const Member> members,
                   const std::vector<Worker>& workers) const;

    std::vector<Adoption> pending_;
};

}  // namespace pace::controller
