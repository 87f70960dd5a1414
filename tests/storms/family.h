// Family: what a storm's trainer puts into its buffers, and whether what comes back is right. Every content is chosen so that
// one result, looked at alone, tells a torn, doubled or foreign one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "capi/testing/asked_session.h"
#include "pace.h"

namespace pace::storms {

// What a result says of itself: `hash` and `content` are the same at all members of one group.
struct Finding {
    std::string wrong;          // empty: the result is right
    uint64_t hash = 0;          // of every bit of it
    std::string content = "-";  // what it holds, in words of the family; "-" if it says nothing
    std::string value = {};     // a number that sums it up; empty: it has none
};

// How a trainer of the family goes on.
enum class Kind : uint8_t {
    rounds,    // gradients, everyone waits for all
    quorum,    // gradients, the late count later
    averages,  // parameters, in groups
    served     // updates, the daemons keep the model
};

using Members = std::span<const pace_member>;

class Family {
  public:
    explicit Family(Kind kind) : kind_(kind) {}
    virtual ~Family() = default;
    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;

    Kind kind() const { return kind_; }
    // Sets the policy and its options.
    virtual void tune(AskedSession& job) const = 0;
    // The worker's next step begins: what it hands over from now on.
    virtual void next_step() = 0;
    // Writes that, as often as it is called the same.
    virtual void fill(std::span<float> data) const = 0;
    // The same in words: "step=S", "value=V".
    virtual std::string handed_in() const = 0;
    // What a result, or a model that a broadcast gave, says by itself.
    virtual Finding look_at(std::span<const float> data) const = 0;
    // Holds a result against what else is told of it and what this worker knows: completes its finding, and the
    // worker goes on from it.
    virtual void take(std::span<const float> data, const pace_request_info& info, Members members,
                      Finding& finding) = 0;
    // The model that a broadcast gave becomes the worker's.
    virtual void take_model(std::span<const float> /*data*/) {}

    // Of the served: an update was taken.
    virtual void pushed() {}
    // Of the served: what the worker knows of the model is no longer so.
    virtual void forget() {}
    // Of top-k: what is owed can be asked for.
    virtual bool owes() const { return false; }

  private:
    Kind kind_;
};

uint64_t hash_of(std::span<const float> data);

// The sum of all elements.
double mass_of(std::span<const float> data);

// Null for a name that is none. The worker's first step is `first_step`: none of its rank had it before.
std::unique_ptr<Family> make_family(const std::string& name, uint32_t rank, uint64_t elements,
                                    uint64_t first_step);

}  // namespace pace::storms
