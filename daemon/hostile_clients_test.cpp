// Hostile client tests: clients submit anything. The daemon touches only memory that they name,
// within its bounds, ends every request once, and serves the next client.
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "daemon/hostile_fixture.h"

namespace pace::daemon {
namespace {

// The f32 kinds come in pairs with equal digests.
constexpr std::array<std::pair<DType, uint64_t>, 8> kKinds{{{DType::f32, 87'108},
                                                            {DType::f32, 265'457},
                                                            {DType::f32, 31'225},
                                                            {DType::f32, 37'815},
                                                            {DType::f32, 11'639},
                                                            {DType::f32, 44'698},
                                                            {DType::f16, 87'108},
                                                            {DType::u32, 100}}};
constexpr std::byte kUntouched{0x5A};
constexpr uint64_t kBystanderFloats = 300'000;

// A trainer that makes random calls, and sometimes dies.
class Besieger {
  public:
    Besieger(HostileClients& daemon, uint32_t rank, Tune tune, uint64_t seed)
        : daemon_(daemon), rank_(rank), tune_(std::move(tune)), random_(seed) {}

    void act(Verb favourite) {
        if (!client_ || client_->is_gone()) come_back();
        if (!client_) return;
        const uint64_t dice = random_.below(100);
        if (dice < 2) {
            client_.reset();  // the trainer dies
        } else if (dice < 4) {
            client_->leave();
            client_.reset();
        } else if (dice < 10) {
            if (!ids_.empty()) client_->cancel(ids_[random_.below(ids_.size())]);
        } else if (dice < 14) {
            replace_buffer();
        } else if (client_->open() < 24) {
            submit(random_.below(4) == 0 ? static_cast<Verb>(random_.below(15)) : favourite);
        }
        if (client_)
            for (const auto& end : client_->ended()) ended_.push_back(end.id);
        if (++acts_ % 10 == 0) look_at_bystanders();
    }
    void go() { client_.reset(); }

  private:
    void come_back() {
        buffers_.clear();
        bystanders_.clear();
        ids_.clear();
        ended_.clear();
        client_.emplace(daemon_);
        if (!client_->join("besieged", rank_, 2, tune_)) {
            client_.reset();
            return;
        }
        for (size_t i = 0; i < 4; ++i) add_buffer();
    }
    // Each mapping lies below the previous one: an overrun of the second buffer hits the first.
    void add_buffer() {
        auto bystander = client_->create(DType::f32, kBystanderFloats);
        const auto [type, count] = kKinds[random_.below(kKinds.size())];
        auto buffer = client_->create(type, count);
        if (!bystander || !buffer) return;
        std::memset(bystander->memory.data(), static_cast<int>(kUntouched),
                    bystander->memory.size());
        std::memset(buffer->memory.data(), 0, buffer->memory.size());
        bystanders_.push_back(std::move(bystander));
        buffers_.push_back(std::move(buffer));
    }
    void replace_buffer() {
        if (buffers_.size() < 2) return;
        const auto old = buffers_.begin() + static_cast<ptrdiff_t>(random_.below(buffers_.size()));
        client_->free(**old);
        buffers_.erase(old);
        if (bystanders_.size() < 16) add_buffer();
    }
    void submit(Verb verb) {
        SubmissionEntry entry{};
        const bool again = !ended_.empty() && random_.below(5) == 0;
        entry.id = again ? ended_.back() : ++id_;
        if (again) ended_.pop_back();
        if (random_.below(500) == 0 && !ids_.empty()) entry.id = ids_.back();
        ids_.push_back(entry.id);
        entry.verb = verb;
        entry.op = random_.below(2) == 0 ? protocol::ReduceOp::mean : protocol::ReduceOp::sum;
        entry.iteration = random_.below(6);
        entry.root = static_cast<uint32_t>(random_.below(3));
        if (random_.below(10) == 0) entry.order = static_cast<protocol::Order>(random_.below(4));
        entry.keeps_local = random_.below(10) == 0 ? 1 : 0;
        entry.sparse = verb == Verb::push && random_.below(2) == 0 ? 1 : 0;
        entry.first = random_.below(4) == 0 ? random_.next() : random_.below(3) * 1000;
        entry.entries = random_.below(4) == 0 ? random_.next() : random_.below(101);
        const size_t most = protocol::has_buffers(verb) && random_.below(10) != 0 ? 2 : 0;
        const size_t count = most == 0 ? random_.below(3) : 1 + (random_.below(4) == 0 ? 1 : 0);
        for (size_t i = 0; i < count && !buffers_.empty(); ++i) {
            const ClientBuffer& buffer = *buffers_[random_.below(buffers_.size())];
            protocol::SubmittedSlice& slice = entry.slices[i];
            slice.buffer = buffer.index + (random_.below(50) == 0 ? 1000 : 0);
            slice.generation = buffer.generation;
            slice.first = random_.below(20) == 0 ? random_.next() : 0;
            slice.count = random_.below(20) == 0 ? random_.next() : buffer.count;
            ++entry.slice_count;
        }
        client_->submit(entry);
    }
    void look_at_bystanders() const {
        static const std::vector<std::byte> untouched(kBystanderFloats * sizeof(float), kUntouched);
        for (const auto& bystander : bystanders_)
            ASSERT_EQ(std::memcmp(bystander->memory.data(), untouched.data(), untouched.size()), 0)
                << "the daemon wrote to a buffer that nobody has named";
    }

    HostileClients& daemon_;
    uint32_t rank_;
    Tune tune_;
    base::Random random_;
    std::optional<RingClient> client_;
    std::vector<std::shared_ptr<ClientBuffer>> buffers_;
    std::vector<std::shared_ptr<ClientBuffer>> bystanders_;
    uint64_t acts_ = 0;
    std::vector<uint64_t> ids_;
    std::vector<uint64_t> ended_;
    uint64_t id_ = 0;
};

struct Family {
    const char* name;
    std::vector<Verb> verbs;
    Tune tune;
};

class Besieged : public HostileClients, public ::testing::WithParamInterface<Family> {};

TEST_P(Besieged, TouchesNothingThatIsNotNamed) {
    constexpr int kSteps = 400;
    for (uint64_t seed = 1; seed <= 3 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        base::Random random(seed);
        std::array<Besieger, 2> besiegers{Besieger(*this, 0, GetParam().tune, random.next()),
                                          Besieger(*this, 1, GetParam().tune, random.next())};
        for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
            const Verb favourite = GetParam().verbs[random.below(GetParam().verbs.size())];
            for (Besieger& besieger : besiegers) besieger.act(favourite);
            for (uint64_t turns = random.below(8); turns > 0; --turns) turn();
        }
        for (Besieger& besieger : besiegers) besieger.go();
        for (int i = 0; i < 20; ++i) turn();
    }
    expect_served(*this);
}

const std::vector<Verb> kRounds{Verb::reduce, Verb::reduce, Verb::broadcast, Verb::sync,
                                Verb::barrier};
const std::vector<Verb> kGroups{Verb::average, Verb::average, Verb::broadcast, Verb::sync};

INSTANTIATE_TEST_SUITE_P(
    Families, Besieged,
    ::testing::Values(
        Family{"rounds", kRounds,
               [](protocol::JobOptions& o) { o.policy = protocol::Policy::all_reduce; }},
        Family{"vetted", kRounds,
               [](protocol::JobOptions& o) {
                   o.policy = protocol::Policy::all_reduce;
                   o.reject_nonfinite = true;
               }},
        Family{"solo", kRounds,
               [](protocol::JobOptions& o) {
                   o.policy = protocol::Policy::all_reduce;
                   o.quorum = protocol::Quorum::solo;
               }},
        Family{"halves", kRounds,
               [](protocol::JobOptions& o) {
                   o.policy = protocol::Policy::all_reduce;
                   o.compression = protocol::Compression::f16;
               }},
        Family{"top_k",
               {Verb::reduce, Verb::residual_load, Verb::residual_save, Verb::broadcast},
               [](protocol::JobOptions& o) {
                   o.policy = protocol::Policy::all_reduce;
                   o.compression = protocol::Compression::spardl;
                   o.density = 0.01;
                   o.hierarchy = protocol::Hierarchy::flat;
                   o.dense_fallback = protocol::DenseFallback::never;
               }},
        Family{"groups", kGroups,
               [](protocol::JobOptions& o) {
                   o.policy = protocol::Policy::partial_reduce;
                   o.group_size = 2;
                   o.group_wait_ms = 5;
               }},
        Family{"initial", kGroups,
               [](protocol::JobOptions& o) {
                   o.policy = protocol::Policy::partial_reduce;
                   o.group_size = 2;
                   o.group_wait_ms = 5;
                   o.weights = protocol::Weights::dynamic;
                   o.missing = protocol::Missing::initial;
               }},
        Family{"static_groups", kGroups,
               [](protocol::JobOptions& o) { o.policy = protocol::Policy::prague_static; }},
        Family{"server",
               {Verb::push, Verb::push, Verb::pull, Verb::pull, Verb::broadcast},
               [](protocol::JobOptions& o) {
                   o.policy = protocol::Policy::ssp;
                   o.elements = 265'457;
                   o.staleness = 3;
               }}),
    [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace pace::daemon
