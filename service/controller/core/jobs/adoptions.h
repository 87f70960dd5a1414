// Adoptions: the newcomers that wait for the current model, and their donors.
//
// An adoption is listed in the view that admits the newcomer. It stays pending until an event shows
// that the newcomer has the model: its ready signal, its daemon's answer to the next change of the
// view, or a heartbeat that finds it computing or past its first round. Until then every view lists
// the adoption again, with another donor if the first has left. This is necessary since daemons
// stop transfers when the view changes, and a newcomer that no view lists continues with its own
// model. A daemon must ignore an adoption whose newcomer no longer has a request.
//
// Daemons report which workers have a model with every view change. So nothing here is lost by a
// restart.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "service/controller/core/members/worker.h"
#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

class Adoptions {
  public:
    // The view that is about to be committed.
    struct Situation {
        std::span<const Member> members;  // in rank order
        // The workers in their states before the view, so that newcomers are still `admitted`.
        const std::vector<Worker>& workers;
        const std::set<Rank>& without_model;  // as their daemons report
        bool rounds_made = false;             // which the newcomers lack
    };
    struct Answer {
        std::vector<Adoption> adoptions;
        std::vector<Rank> without_donor;  // must be told, and left out of the view
    };

    // Donors are members of the old view that have a model: of the lowest rank, on the newcomer's
    // node if possible. Otherwise they are newcomers that have a model and did not ask for one. If
    // nobody has a model, the newcomer
    //   - waits with the members for the first model, before they have made any round;
    //   - has no donor, once rounds were made;
    //   - is not listed, if there are no members either: it keeps its model.
    // Several unlisted newcomers use the model of the one with the most iterations, which is the
    // job's.
    Answer list(const Situation& view);

    void on_finished(Rank newcomer);
    bool is_pending(Rank newcomer) const;

  private:
    struct Donor {
        Rank rank = kNoRank;
        bool members_exist = false;  // whether or not a donor was found
    };
    Donor donor_for(NodeId node, const Situation& view) const;
    std::vector<Rank> asking(const Situation& view) const;
    void list_among_newcomers(const std::vector<Rank>& asking, const Situation& view);

    std::vector<Adoption> pending_;
};

}  // namespace pace::controller
