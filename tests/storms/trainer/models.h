// The families whose buffers hold a model: averages in groups, and parameter servers.
#pragma once

#include <optional>

#include "family.h"

namespace pace::storms {

// A model of one number, held as x, 2x, 4x, x, ... An average keeps this pattern. It also stays
// between the least and the greatest of the numbers towards which steps pull the workers.
class Average : public Family {
  public:
    Average(uint32_t rank, std::string policy)
        : Family(Kind::averages),
          goal_(static_cast<float>(rank + 1)),
          model_(goal_),
          policy_(policy) {}

    void tune(AskedSession& job) const override;
    void next_step() override { model_ = model_ * 0.75F + goal_ * 0.25F; }
    void fill(std::span<float> data) const override;
    std::string handed_in() const override;
    Finding look_at(std::span<const float> data) const override;
    void take(std::span<const float> data, const pace_request_info& info, Members members,
              Finding& finding) override;
    void take_model(std::span<const float> data) override { model_ = data[0]; }

  private:
    float goal_;
    float model_;
    std::string policy_;
};

// A tally of all updates. A pulled model shows how many updates of each worker it holds.
class Served : public Family {
  public:
    Served(uint32_t rank, uint64_t elements, std::string policy)
        : Family(Kind::served), rank_(rank), elements_(elements), policy_(policy) {}

    void tune(AskedSession& job) const override;
    void next_step() override {}
    // Writes an update. The model that the root's broadcast makes is zero.
    void fill(std::span<float> data) const override;
    std::string handed_in() const override { return "own=" + std::to_string(own_.value_or(0)); }
    Finding look_at(std::span<const float> data) const override;
    void take(std::span<const float> data, const pace_request_info& info, Members members,
              Finding& finding) override;
    void take_model(std::span<const float> data) override;
    void pushed() override;
    void forget() override { own_.reset(); }

  private:
    uint32_t rank_;
    uint64_t elements_;
    std::string policy_;
    // The number of this worker's updates that the model must have.
    std::optional<uint64_t> own_;
};

}  // namespace pace::storms
