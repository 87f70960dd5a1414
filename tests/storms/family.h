// Family: what a storm's trainer puts into its buffers, and whether what comes back is right. Every content is chosen so that
// one result, looked at alone, tells a torn, doubled or foreign one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pace.h"

namespace pace::storms {

// What a result says of itself: `hash` and `content` are the same at all members of one group.
struct Finding {
    std::string wrong;    // empty: the result is right
    uint64_t hash = 0;    // of every bit of it
    std::string content;  // what it holds, in words of the family; "-" if it says nothing
};

class Family {
  public:
    virtual ~Family() = default;

    // Sets the policy and its options.
    virtual void tune(pace_job_options& job) const = 0;
    // The worker's next step begins: what it hands over from now on.
    virtual void next_step() = 0;
    // Writes that, as often as it is called the same.
    virtual void fill(std::span<float> data) const = 0;
    virtual Finding look_at(std::span<const float> data, const pace_request_info& info,
                            std::span<const pace_member> members) = 0;
    // The model that a broadcast has given becomes the worker's.
    virtual void take_model(std::span<const float> data) = 0;
    // Averages hand over parameters and go on from the result.
    virtual bool averages() const { return false; }
    virtual bool is_served() const { return false; }
};

// "all-reduce", "majority", "spardl", "partial-reduce", "prague", "ssp"; null for another name.
std::unique_ptr<Family> make_family(const std::string& name, uint32_t rank, uint64_t elements);

}  // namespace pace::storms
