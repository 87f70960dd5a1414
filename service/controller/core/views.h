// Views: how a job's members agree on who they are (the view-change protocol).
//
// A change of membership raises the epoch. Every node with a member in the old or the new view is
// told to prepare: it stops its rounds of older epochs and answers with how many rounds have
// committed there. When all have answered, C is the most that any has committed; one that has the
// last one's result is the donor, and the new view goes on from round C. Then a round that some
// member has completed is completed by all who took part in it, and one that nobody has is redone.
// A node lost meanwhile restarts the change under a higher epoch; answers of other epochs are
// ignored, so that no two views can be mixed.
//
// A node may have been out of a view or two (a controller that was restarted did not wait for it),
// and have begun the same round over an older one: what it brought to that is not in the result, and
// the result is not for it. So the nodes say over which view their rounds were.
//
// One job owns one Views; it says when to begin and who the members are.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "service/controller/core/turn.h"

namespace pace::controller {

// Above what a real job reaches, and far from overflow whatever a daemon says.
inline constexpr uint64_t kEpochMax = uint64_t{1} << 62U;

struct View {
    uint64_t epoch = 0;  // 0: no view yet
    uint64_t base_round = 0;
    std::vector<Member> members;
};

// The members' nodes, sorted and distinct.
std::vector<NodeId> nodes_of(std::span<const Member> members);

class Views {
  public:
    // `tells_leavers`: who was told to prepare and is not in the new view is told of it too.
    Views(JobId job, uint64_t token, bool tells_leavers)
        : job_(job), token_(token), tells_leavers_(tells_leavers) {}

    // The latest epoch issued; orders carry it.
    uint64_t epoch() const { return epoch_; }
    void raise_epoch_to(uint64_t epoch) { epoch_ = epoch > epoch_ ? epoch : epoch_; }

    // When the job's run began, for whoever is told to prepare.
    void set_run_began(uint64_t began) { run_began_ = began; }

    // The last committed view.
    const View& view() const { return view_; }

    // Begins a change, or begins it again, over these nodes (sorted, distinct, attached).
    void begin(std::span<const NodeId> nodes, const Turn& turn);

    bool is_changing() const { return changing_; }
    TimePoint changing_since() const { return since_; }

    // Whether the node was told to prepare for the change under way.
    bool covers(NodeId node) const;
    void on_prepared(const From<ViewPrepared>& event);

    // Whether the change under way needs no further answer.
    bool is_prepared() const { return changing_ && awaited_ == 0; }

    // A node that has not answered yet; 0 if none.
    NodeId first_awaited() const;

    // What has been answered so far: the most rounds that any node has completed, and the workers that
    // can give a newcomer no model.
    uint64_t completed(const std::set<NodeId>& left_out) const {
        return find_donor(left_out).completed;
    }
    const std::set<Rank>& without_model() const { return without_model_; }

    // Ends the change: what to tell the nodes of the members (in rank order), all of them covered.
    // `left_out` give the last result only if nobody else has it.
    To<CommitView> commit(std::vector<Member> members, const std::vector<Adoption>& adoptions,
                          const std::set<NodeId>& left_out = {});

  private:
    struct Answer {
        NodeId node = 0;
        bool given = false;
        uint64_t completed = 0;
        uint64_t round_epoch = 0;
        uint64_t result_epoch = 0;
    };
    size_t index_of(NodeId node) const;  // in answers_; its size if the node is not covered
    Answer find_donor(const std::set<NodeId>& left_out) const;
    std::vector<NodeId> behind(const Answer& donor) const;

    JobId job_;
    uint64_t token_;
    bool tells_leavers_;
    uint64_t run_began_ = 0;
    uint64_t epoch_ = 0;
    View view_;
    bool changing_ = false;
    TimePoint since_{};
    std::vector<Answer> answers_;  // sorted by node
    size_t awaited_ = 0;
    std::set<Rank> without_model_;
};

}  // namespace pace::controller
