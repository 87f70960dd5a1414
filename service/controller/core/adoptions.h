// Adoptions: newcomers that wait for the current model, and who gives it to them.
//
// An adoption is listed in the view that admits the newcomer. It stays on our list until an event
// shows that the newcomer has got it (its ready signal, or a heartbeat that finds it computing or
// past its first round), and is listed again in every view until then, with another donor where the
// first is not part of it: daemons stop transfers when the view changes, and a newcomer that no view
// lists goes on with what it has. A daemon must ignore an adoption of a newcomer whose request has
// ended.
//
// Who has a model to give, the daemons say with every change of the view: nothing that could be
// forgotten is kept here.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "service/controller/core/turn.h"
#include "service/controller/core/worker.h"

namespace pace::controller {

class Adoptions {
  public:
    // Of a view about to be committed.
    struct Situation {
        std::span<const Member> members;  // in rank order
        // With their states of before, so that newcomers are still `admitted`.
        const std::vector<Worker>& workers;
        const std::set<Rank>& without_model;  // as their daemons say
        bool rounds_made = false;
    };
    struct Answer {
        std::vector<Adoption> adoptions;
        std::vector<Rank> without_donor;  // must be told, and are in no view
    };

    // Donors are members of the old view that have a model, of the lowest rank, on the newcomer's
    // node if possible; else newcomers that did not ask for one and have one. If nobody has a
    // model, the newcomer
    //   - waits with the members for the first, before any round;
    //   - has no donor, once rounds were made;
    //   - is not listed, if there is no member either: it keeps what it has, which is then the job's
    //     model. Of several that is the one with the most iterations; the others get it from there.
    Answer list(const Situation& view);

    void on_finished(Rank newcomer);
    bool is_pending(Rank newcomer) const;

  private:
    struct Donor {
        Rank rank = kNoRank;
        bool members_exist = false;  // whether it was found or not
    };
    Donor donor_for(NodeId node, const Situation& view) const;
    std::vector<Rank> asking(const Situation& view) const;
    void list_among_newcomers(const std::vector<Rank>& asking, const Situation& view);

    std::vector<Adoption> pending_;
};

}  // namespace pace::controller
