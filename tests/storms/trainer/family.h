// Family: the contents that a storm's trainer puts into its buffers, and the check of the results.
// Every content is chosen so that one result alone shows a torn, doubled or foreign one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "capi/testing/asked_session.h"
#include "pace.h"

namespace pace::storms {

// The description of a result. `hash` and `content` are the same at all members of one group.
struct Finding {
    std::string wrong;  // empty means that the result is right
    uint64_t hash = 0;  // of every bit of the result
    // The contents, in words of the family. "-" means that the result holds nothing.
    std::string content = "-";
    // A number that sums up the result. Empty means that there is none.
    std::string value = {};
};

// How a trainer of the family goes on.
enum class Kind : uint8_t {
    rounds,    // gradients; every worker waits for all
    quorum,    // gradients; late ones count later
    averages,  // parameters, in groups
    served     // updates; the daemons keep the model
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
    // Begins the worker's next step, which determines its contribution from now on.
    virtual void next_step() = 0;
    // Writes the contribution. Every call within a step writes the same.
    virtual void fill(std::span<float> data) const = 0;
    // Returns the contribution in words: "step=S", "value=V".
    virtual std::string handed_in() const = 0;
    // Describes a result, or a model that a broadcast gave, from its contents alone.
    virtual Finding look_at(std::span<const float> data) const = 0;
    // Compares a result with its info, its members and this worker's knowledge, and completes its
    // finding. The worker goes on from the result.
    virtual void take(std::span<const float> data, const pace_request_info& info, Members members,
                      Finding& finding) = 0;
    // The model that a broadcast gave becomes the worker's.
    virtual void take_model(std::span<const float> /*data*/) {}

    // Concerns parameter servers: an update was accepted.
    virtual void pushed() {}
    // Concerns parameter servers: the worker's knowledge of the model is no longer valid.
    virtual void forget() {}
    // Concerns top-k: whether residuals can be asked for.
    virtual bool owes() const { return false; }

  private:
    Kind kind_;
};

uint64_t hash_of(std::span<const float> data);

// Returns the sum of all elements.
double mass_of(std::span<const float> data);

// Returns null for an unknown name. The worker's first step is `first_step`. No earlier worker of
// its rank had this step.
std::unique_ptr<Family> make_family(const std::string& name, uint32_t rank, uint64_t elements,
                                    uint64_t first_step);

}  // namespace pace::storms
