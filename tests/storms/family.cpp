#include "family.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pace::storms {

namespace {

uint64_t hash_of(std::span<const float> data) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a word at a time
    for (const float value : data) {
        uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        hash = (hash ^ bits) * 0x100000001b3;
    }
    return hash;
}

std::string at(size_t element, double value, const std::string& expected) {
    return "element " + std::to_string(element) + " is " + std::to_string(value) + ", not " +
           expected;
}

// Gradients whose sum can be read: rank r has a digit of three bits of its own, 1 to 5, that moves with the element and
// with the step. A result so tells of which step of which worker it holds the gradient.
class AllReduce : public Family {
  public:
    static constexpr uint32_t kRanks = 7, kPhases = 5;

    explicit AllReduce(uint32_t rank) : rank_(rank) {}

    void tune(pace_job_options& job) const override { job.policy = PACE_POLICY_ALL_REDUCE; }
    void next_step() override { phase_ = (phase_ + 1) % kPhases; }
    void fill(std::span<float> data) const override {
        for (size_t i = 0; i < data.size(); ++i)
            data[i] = static_cast<float>((1 + (i + phase_) % kPhases) << (3 * rank_));
    }
    void take_model(std::span<const float> /*data*/) override {}

    Finding look_at(std::span<const float> data, const pace_request_info& /*info*/,
                    std::span<const pace_member> members) override {
        Finding finding;
        const auto first = static_cast<uint32_t>(data[0]);
        for (size_t i = 0; i < data.size() && finding.wrong.empty(); ++i) {
            if (data[i] != static_cast<float>(expected(first, i)))
                finding.wrong =
                    at(i, data[i], std::to_string(expected(first, i)) + " as element 0 says");
        }
        uint32_t found = 0;
        uint32_t listed = 0;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            const uint32_t digit = digit_of(first, rank);
            finding.content += static_cast<char>('0' + digit);
            if (digit != 0) found |= 1U << rank;
        }
        for (const pace_member& member : members)
            if (member.weight != 0) listed |= 1U << member.rank;
        if (finding.wrong.empty() && digit_of(first, rank_) != 1 + phase_)
            finding.wrong = "this worker's gradient is not in it: " + finding.content;
        if (finding.wrong.empty() && found != listed)
            finding.wrong = "members " + std::to_string(listed) + " are told, " +
                            std::to_string(found) + " are in it";
        finding.hash = hash_of(data);
        return finding;
    }

  private:
    static uint32_t digit_of(uint32_t sum, uint32_t rank) { return (sum >> (3 * rank)) & 7; }
    static uint32_t expected(uint32_t first, size_t element) {
        uint32_t sum = 0;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            if (const uint32_t digit = digit_of(first, rank))
                sum |= static_cast<uint32_t>(1 + (digit - 1 + element) % kPhases) << (3 * rank);
        }
        return sum;
    }

    uint32_t rank_;
    uint32_t phase_ = 0;
};

// Every gradient is 1, 2, 3, 1, 2, 3, …: a sum is a whole multiple of that, whoever is late.
class Majority : public Family {
  public:
    void tune(pace_job_options& job) const override {
        job.policy = PACE_POLICY_ALL_REDUCE;
        job.quorum = PACE_QUORUM_MAJORITY;
    }
    void next_step() override {}
    void fill(std::span<float> data) const override {
        for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(1 + i % 3);
    }
    void take_model(std::span<const float> /*data*/) override {}
    Finding look_at(std::span<const float> data, const pace_request_info& info,
                    std::span<const pace_member> /*members*/) override {
        Finding finding{.wrong = {}, .hash = hash_of(data), .content = "-"};
        const float times = data[0];
        if (times < 0 || times != std::floor(times)) finding.wrong = at(0, times, "a whole number");
        for (size_t i = 0; i < data.size() && finding.wrong.empty(); ++i) {
            if (data[i] != times * static_cast<float>(1 + i % 3))
                finding.wrong = at(i, data[i], std::to_string(times) + " times its gradient");
        }
        // A late worker's result holds several rounds, which others had one by one.
        if (info.rounds != 1) finding.hash = 0;
        return finding;
    }
};

// Whole numbers above 0, other ones in each step: what top-k leaves of their sum is whole, and all members' is the same.
class SparDl : public Family {
  public:
    explicit SparDl(uint32_t rank) : rank_(rank) {}
    void tune(pace_job_options& job) const override {
        job.policy = PACE_POLICY_ALL_REDUCE;
        job.compression = PACE_COMPRESSION_SPARDL;
        job.density = 0.01;
    }
    void next_step() override { ++step_; }
    void fill(std::span<float> data) const override {
        for (size_t i = 0; i < data.size(); ++i) {
            const auto mixed =
                static_cast<uint32_t>(i) * 2654435761U + step_ * 40503U + rank_ * 977U;
            data[i] = static_cast<float>(1 + (mixed >> 9) % 64);
        }
    }
    void take_model(std::span<const float> /*data*/) override {}
    Finding look_at(std::span<const float> data, const pace_request_info& info,
                    std::span<const pace_member> /*members*/) override {
        Finding finding{.wrong = {}, .hash = hash_of(data), .content = "-"};
        uint64_t entries = 0;
        for (size_t i = 0; i < data.size() && finding.wrong.empty(); ++i) {
            if (data[i] == 0) continue;
            ++entries;
            if (data[i] < 0 || data[i] != std::floor(data[i]))
                finding.wrong = at(i, data[i], "a sum of whole numbers");
        }
        if (finding.wrong.empty() && info.dense == 0 && entries != info.entries)
            finding.wrong = std::to_string(info.entries) + " entries are told, " +
                            std::to_string(entries) + " are there";
        return finding;
    }

  private:
    uint32_t rank_;
    uint32_t step_ = 0;
};

// A model of one number, held as x, 2x, 4x, x, …: an average keeps that pattern, and stays between the least and the greatest
// of the numbers that steps draw the workers to.
class Average : public Family {
  public:
    Average(uint32_t rank, pace_policy policy)
        : goal_(static_cast<float>(rank + 1)), model_(goal_), policy_(policy) {}
    void tune(pace_job_options& job) const override {
        job.policy = policy_;
        job.group_size = 3;
    }
    bool averages() const override { return true; }
    void next_step() override { model_ = model_ * 0.75F + goal_ * 0.25F; }
    void fill(std::span<float> data) const override {
        for (size_t i = 0; i < data.size(); ++i)
            data[i] = model_ * static_cast<float>(1U << (i % 3));
    }
    void take_model(std::span<const float> data) override { model_ = data[0]; }
    Finding look_at(std::span<const float> data, const pace_request_info& /*info*/,
                    std::span<const pace_member> members) override {
        Finding finding{.wrong = {}, .hash = hash_of(data), .content = "-"};
        double weights = 0;
        for (const pace_member& member : members) weights += member.weight;
        if (std::abs(weights - 1) > 1e-6)
            finding.wrong = "weights add up to " + std::to_string(weights);
        if (data[0] < 0.99F || data[0] > 8.01F)
            finding.wrong = at(0, data[0], "between the least and greatest model");
        for (size_t i = 0; i < data.size() && finding.wrong.empty(); ++i) {
            const float expected = data[0] * static_cast<float>(1U << (i % 3));
            if (std::abs(data[i] - expected) > 1e-5F * expected)
                finding.wrong = at(i, data[i], std::to_string(expected));
        }
        take_model(data);
        return finding;
    }

  private:
    float goal_;
    float model_;
    pace_policy policy_;
};

// Every update adds 1 to every element: a model of one moment is the same number everywhere.
class Served : public Family {
  public:
    explicit Served(uint64_t elements) : elements_(elements) {}
    void tune(pace_job_options& job) const override {
        job.policy = PACE_POLICY_SSP;
        job.staleness_max = 3;
        job.rate = PACE_RATE_SUM;
        job.elements = elements_;
        job.has_filter = 1;
        job.checkpoint_every_ms = 500;
    }
    bool is_served() const override { return true; }
    void next_step() override {}
    void fill(std::span<float> data) const override { std::ranges::fill(data, 1.0F); }
    void take_model(std::span<const float> /*data*/) override {}
    Finding look_at(std::span<const float> data, const pace_request_info& /*info*/,
                    std::span<const pace_member> /*members*/) override {
        Finding finding{.wrong = {}, .hash = 0, .content = "-"};
        for (size_t i = 0; i < data.size() && finding.wrong.empty(); ++i)
            if (data[i] != data[0])
                finding.wrong = at(i, data[i], std::to_string(data[0]) + " as element 0");
        return finding;
    }

  private:
    uint64_t elements_;
};

}  // namespace

std::unique_ptr<Family> make_family(const std::string& name, uint32_t rank, uint64_t elements) {
    if (name == "all-reduce") return std::make_unique<AllReduce>(rank);
    if (name == "majority") return std::make_unique<Majority>();
    if (name == "spardl") return std::make_unique<SparDl>(rank);
    if (name == "partial-reduce")
        return std::make_unique<Average>(rank, PACE_POLICY_PARTIAL_REDUCE);
    if (name == "prague") return std::make_unique<Average>(rank, PACE_POLICY_PRAGUE_SMART);
    if (name == "ssp") return std::make_unique<Served>(elements);
    return nullptr;
}

}  // namespace pace::storms
