// The families whose buffers hold gradients: all-reduce, majority, SparDL.
#pragma once

#include "family.h"

namespace pace::storms {

// Each result holds one gradient of each member, of the same round, this worker's of this step.
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
    // What its gradient says: halves hold whole numbers up to 2048.
    uint64_t told_step() const;

    uint32_t rank_;
    uint64_t step_;
    std::string compression_;
};

// Each gradient counts in one round, that of its step or a later one.
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

// Whole numbers above 0, other ones in each step: what top-k leaves of their sum is whole, and all members' is the same.
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
    mutable double mass_ = 0;  // of what was filled last
};

}  // namespace pace::storms
