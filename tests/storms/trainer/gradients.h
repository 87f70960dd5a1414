// The families whose buffers hold gradients: all-reduce, majority, SparDL.
#pragma once

#include "family.h"

namespace pace::storms {

// Each result holds one gradient of each member, all of the same round. This worker's gradient is
// of this step.
class AllReduce : public Family {
  public:
    AllReduce(uint32_t rank, uint64_t first_step, std::string compression);

    void tune(AskedSession& job) const override;
    void next_step() override { ++step_; }
    void fill(std::span<float> data) const override;
    std::string handed_in() const override;
    Finding look_at(std::span<const float> data) const override;
    void take(std::span<const float> data, const pace_request_info& info, Members members,
              Finding& finding) override;

  private:
    // Returns the step number that the gradient shows. Halves hold whole numbers up to 2048.
    uint64_t told_step() const;

    uint32_t rank_;
    uint64_t step_;
    std::string compression_;
};

// Each gradient counts in one round: the round of its step, or a later one.
class Majority : public Family {
  public:
    Majority(uint32_t rank, uint64_t first_step)
        : Family(Kind::quorum), rank_(rank), step_(first_step) {}

    void tune(AskedSession& job) const override;
    void next_step() override { ++step_; }
    void fill(std::span<float> data) const override;
    std::string handed_in() const override { return "step=" + std::to_string(step_); }
    Finding look_at(std::span<const float> data) const override;
    void take(std::span<const float> data, const pace_request_info& info, Members members,
              Finding& finding) override;

  private:
    uint32_t rank_;
    uint64_t step_;
};

// Gradients are whole numbers above 0, which differ in each step. So the part of their sum that
// top-k keeps is whole, and it is the same at all members.
class SparDl : public Family {
  public:
    SparDl(uint32_t rank, uint64_t first_step)
        : Family(Kind::rounds), rank_(rank), step_(first_step) {}

    void tune(AskedSession& job) const override;
    void next_step() override { ++step_; }
    void fill(std::span<float> data) const override;
    std::string handed_in() const override;
    Finding look_at(std::span<const float> data) const override;
    void take(std::span<const float> data, const pace_request_info& info, Members members,
              Finding& finding) override;
    bool owes() const override { return true; }

  private:
    float gradient(size_t element) const;

    uint32_t rank_;
    uint64_t step_;
    mutable double mass_ = 0;  // of the data that was filled last
};

}  // namespace pace::storms
