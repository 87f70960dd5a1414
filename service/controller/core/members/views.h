// Views: how a job's members agree on the membership (the view-change protocol).
//
// A change of membership raises the epoch. Every node with a member in the old or the new view is
// told to prepare: the node stops its rounds of older epochs and answers with the number of rounds
// committed there. When all have answered, C is the highest number. A node that has the result of
// the last round is the donor, and the new view continues from round C. So a round that some member
// has completed is completed by all that took part in it, and a round that nobody has completed is
// repeated. As long as a member may lack the last round's result, nodes that have it are told to
// prepare even if their own members have left. If a node is lost meanwhile, the change restarts
// under a higher epoch. Answers of other epochs are ignored, so that two views never mix.
//
// A node may have missed a view or two (a restarted controller did not wait for it), and have begun
// the same round over an older view. Then its contribution is not in the result, and the result is
// not for it. So nodes report the view over which their rounds ran.
//
// A job owns one Views. The job decides when a change begins and who the members are.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "service/controller/vocabulary/turn.h"

namespace pace::controller {

// Above what a real job reaches, and far from overflow whatever value a daemon sends.
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
    // `tells_leavers`: whether nodes that were told to prepare, but are not in the new view, are
    // told of the view too.
    Views(JobId job, uint64_t token, bool tells_leavers)
        : job_(job), token_(token), tells_leavers_(tells_leavers) {}

    // The latest epoch issued; orders carry it.
    uint64_t epoch() const { return epoch_; }
    void raise_epoch_to(uint64_t epoch) { epoch_ = epoch > epoch_ ? epoch : epoch_; }

    // When the job's run began, for the nodes that are told to prepare.
    void set_run_began(uint64_t began) { run_began_ = began; }

    // The last committed view.
    const View& view() const { return view_; }

    // Begins or restarts a change over these nodes (sorted, distinct, attached).
    void begin(std::span<const NodeId> nodes, const Turn& turn);

    bool is_changing() const { return changing_; }
    TimePoint changing_since() const { return since_; }

    // Whether the node was told to prepare for the present change.
    bool covers(NodeId node) const;
    void on_prepared(const From<ViewPrepared>& event);

    // Nodes outside the view that have the result of the round before it, which a member's node
    // lacked when the view was committed. In order.
    const std::vector<NodeId>& holders() const { return holders_; }

    // Whether the present change needs no further answer.
    bool is_prepared() const { return changing_ && awaited_ == 0; }

    // A node that has not answered yet; 0 if none.
    NodeId first_awaited() const;

    // The answers so far: the most rounds that any node has completed, and the workers that cannot
    // give a newcomer a model.
    uint64_t completed(const std::set<NodeId>& left_out) const {
        return find_donor(left_out).completed;
    }
    const std::set<Rank>& without_model() const { return without_model_; }
    // Whether a node of the view has completed a round since the view was committed.
    bool has_gone_on() const;
    // The nodes, in order, that have not the rounds with which the new view continues, and cannot
    // fetch what they lack: a controller that had lost the end of its journal took them for
    // members.
    std::vector<NodeId> left_behind(const std::set<NodeId>& left_out) const;

    // Ends the change. Returns the message for the nodes of the members (in rank order), all of
    // which must be covered. Nodes in `left_out` give the last result only if no other node has it.
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
    size_t index_of(NodeId node) const;  // in answers_; its size if not covered
    bool counts(const Answer& answer) const;
    void find_holders(const Answer& donor, const To<CommitView>& commit);
    Answer find_donor(const std::set<NodeId>& left_out) const;
    static bool is_behind(const Answer& answer, const Answer& donor);
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
    std::vector<NodeId> holders_;
    std::set<Rank> without_model_;
};

}  // namespace pace::controller
