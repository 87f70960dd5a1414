// One node's part of a server job. The test plays the controller and the other node, and sees what
// this node says to both.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/control/heard_controller.h"
#include "daemon/families/serving/shards/server_mail.h"
#include "daemon/jobs/tests/other_node_fixture.h"

namespace pace::daemon {

// Worker 0 is here and worker 1 on the other node. Each node keeps one half of the model.
class ServedJob : public WithOtherNode {
  protected:
    static constexpr uint64_t kServed = 8;  // elements
    static constexpr uint64_t kHalf = kServed / 2;
    static constexpr uint32_t kOurShard = 0;
    static constexpr uint32_t kTheirShard = 1;
    static constexpr control::JobId kJob = 1;
    static constexpr uint32_t kUser = 1000;
    static constexpr uint64_t kServedToken = 77;

    // A letter that the other node got, with its content.
    struct Came {
        server::Letter letter;
        std::vector<std::byte> bytes;

        std::vector<float> values() const {
            std::vector<float> values(kHalf);
            const auto read = server::read_vector(letter, kHalf, bytes);
            EXPECT_TRUE(read) << "the letter has no update of a shard";
            if (read) read->add_to(values, 1);
            return values;
        }
    };

    ServedJob() : WithOtherNode(&told_) {
        options_.name = "served";
        options_.world = 2;
        options_.policy = control::Policy::ssp;
        options_.elements = kServed;
        options_.filter = 0;
        view_.members = {{0, kSelf, 0, 0}, {1, kOther, 0, 0}};
        view_.shards = {kSelf, kOther};
        view_.job = kJob;
    }
    ~ServedJob() override {
        job_.reset();
        mail_.close(base::make_error(base::ErrorKind::canceled, "the test is over"));
        transport_->end();
        other_transport_->end();
    }

    // Opens the job without a view.
    void open() {
        services_.users[kJob] = kUser;
        job_.emplace(services_, options_, kUser);
        job_->state().id = kJob;
        job_->state().token = kServedToken;
        job_->add(worker_);
    }
    // Opens the job and commits its first view, with which a model begins.
    void begin() {
        open();
        view_.model_begins = true;
        view_.generation = 1;
        commit();
        view_.model_begins = false;
    }
    // Commits the next view at the position of the order that was told last.
    void commit() {
        ++view_.epoch;
        view_.ledger.position = position_;
        listen();
        job_->commit(view_);
        mail_.open(kServedToken, view_.epoch, {kSelf, kOther});
    }
    // An entry of the order, about worker 0 unless the test changes it.
    control::ServerEntry entry(control::ServerStep step, uint64_t clock) {
        control::ServerEntry entry;
        entry.position = ++position_;
        entry.step = step;
        entry.clock = clock;
        entry.version = clock;
        entry.rate = 1;
        entry.count = kServed;
        entry.worker.clock = step == control::ServerStep::push ? clock + 1 : clock;
        return entry;
    }
    void tell(const control::ServerEntry& entry) {
        job_->order({.job = kJob, .generation = view_.generation, .entries = {entry}});
    }
    void tell(control::ServerStep step, uint64_t clock) { tell(entry(step, clock)); }

    uint64_t submit(Request request) {
        const uint64_t id = request.id;
        job_->submit(worker_, std::move(request));
        return id;
    }
    uint64_t push(uint64_t clock, float value) {
        return submit(request(protocol::Verb::push, buffer_of(kServed, value), clock));
    }
    uint64_t pull(uint64_t clock) { return submit(request(protocol::Verb::pull, model_, clock)); }
    uint64_t checkpoint() {
        Request asked = request(protocol::Verb::checkpoint, model_, 0);
        asked.buffers.clear();
        asked.elements = asked.ready = 0;
        return submit(std::move(asked));
    }
    protocol::Outcome outcome_of(uint64_t id) {
        EXPECT_TRUE(port_.ended(id)) << "request " << id << " has not ended";
        return port_.ended(id) ? port_.endings.at(id).outcome : protocol::Outcome::failed;
    }
    std::string message_of(uint64_t id) { return port_.endings[id].message; }

    // Moves all messages between the nodes.
    void all_arrives() {
        for (int quiet = 0; quiet < 5; ++quiet)
            if (loop_->turn(false)) quiet = 0;
    }
    // The letters that have come to the other node since the last such call.
    std::vector<Came> take_letters() {
        all_arrives();
        return std::exchange(come_, {});
    }
    // The other node sends a letter of this model.
    void send(server::Letter letter, const std::vector<float>& values = {}) {
        letter.generation = view_.generation;
        const auto kept = std::make_shared<const std::vector<float>>(values);
        const auto bytes =
            values.empty() ? std::span<const std::byte>() : server::name_elements(*kept, letter);
        mail_.send(kSelf, letter, {kept, bytes});
        all_arrives();
    }
    // The other node answers an update or a checkpoint.
    void answer(const Came& came, server::LetterKind kind, uint32_t rank = 0) {
        server::Letter letter = came.letter;
        letter.kind = kind;
        letter.rank = rank;
        letter.sparse = false;
        letter.count = letter.bytes = 0;
        mail_.send(kSelf, letter);
        all_arrives();
    }
    std::vector<float> model() const { return {floats(*model_).begin(), floats(*model_).end()}; }
    static std::vector<float> halves(float ours, float theirs) {
        std::vector<float> all(kHalf, ours);
        all.insert(all.end(), kHalf, theirs);
        return all;
    }

    HeardController told_;
    control::JobOptions options_;
    control::CommitView view_;
    uint64_t position_ = 0;
    std::optional<Job> job_;
    const WorkerPtr worker_ = new_worker(0);
    const BufferPtr model_ = buffer_of(kServed, -1);
    std::vector<Came> come_;
    std::vector<std::string> broken_;  // why the other node lost its way to this one
    ServerMail mail_{
        other_services_,
        kServed,
        Payer{Accounts::create(), 0},
        [this](NodeId, const server::Letter& letter, const Parcel& parcel) {
            come_.push_back({letter, {parcel.bytes.begin(), parcel.bytes.end()}});
        },
        [](NodeId, const server::Letter&, const base::Error& error) {
            ADD_FAILURE() << error.message;
        },
        [this](NodeId, const base::Error& error) { broken_.push_back(error.message); }};
};

}  // namespace pace::daemon
