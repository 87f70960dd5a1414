#include "trainer.h"

#include <zlib.h>

#include <chrono>

namespace demo {
namespace {

std::optional<Board> open_board(const Options& options, uint64_t parameters) {
    if (options.board.empty()) return std::nullopt;
    return Board::open(options.board, options.world, parameters);
}

uint32_t checksum_of(std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    return static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

auto as_vector(std::span<float> values) {
    return Eigen::Map<Eigen::VectorXf>(values.data(), static_cast<Eigen::Index>(values.size()));
}

auto as_vector(std::span<const float> values) {
    return Eigen::Map<const Eigen::VectorXf>(values.data(),
                                             static_cast<Eigen::Index>(values.size()));
}

bool is_first_of(const std::vector<pace_member>& members, uint32_t rank) {
    return !members.empty() && members.front().rank == rank;
}

double seconds_since(Time begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Trainer::Trainer(const Options& options)
    : options_(options),
      network_(options.hidden),
      board_(open_board(options, network_.parameter_count())),
      events_(options.events),
      data_(load_dataset(options.data, "train")),
      batches_(data_, options.rank, options.world, options.seed),
      images_(kPixels, options.batch),
      tempo_(options),
      exchange_(options),
      model_(exchange_.make_buffer(network_.parameter_count())),
      done_(exchange_.make_buffer(1)),
      velocity_(Eigen::VectorXf::Zero(as_vector(model_.values).size())) {}

Result Trainer::run() {
    begin_together();
    if (options_.is_all_reduce())
        train_on_common_steps();
    else
        train_with_whoever_is_ready();
    const Result result = end_together();
    exchange_.leave();
    return result;
}

// All workers start from worker 0's model, at one moment.
void Trainer::begin_together() {
    if (options_.rank == 0) network_.initialize(model_.values, options_.seed);
    exchange_.broadcast(model_, 0);
    exchange_.barrier();
    start_ = std::chrono::steady_clock::now();
    if (board_ && options_.rank == 0) board_->start();
}

// All-reduce and related policies. Every worker takes the mean of all workers' steps. If rounds do
// not wait for the slow, it takes the sum of the rounds since its last call. So all models are
// equal, except for steps that a worker has not received yet.
//
// If a round waits for all workers, all must leave after the same round. One element behind the
// step carries each worker's wish to leave. It is far larger than any element of a step, so that a
// compression keeps it.
void Trainer::train_on_common_steps() {
    const Buffer buffer = exchange_.make_buffer(model_.values.size() + 1);
    const auto step = buffer.values.first(model_.values.size());
    float& wish_to_leave = buffer.values.back();
    bool leaves = false;
    while (!leaves) {
        const Time begin = std::chrono::steady_clock::now();
        compute_step(step);
        wish_to_leave = should_leave() ? 1.0F : 0.0F;
        tempo_.sleep_out(steps_, begin);
        const Outcome outcome = exchange_.reduce(buffer, steps_);
        apply(step);
        after_exchange(outcome, options_.rank == 0 ? outcome.info.rounds : 0);
        if (outcome.info.resync == 1) average_models(0);
        leaves = options_.waits_for_all() ? wish_to_leave != 0.0F : should_leave();
    }
}

// Partial reduce (Miao et al., SIGMOD 2021, Algorithm 2): a local step, then the average of the
// parameters over a group. Each worker leaves on its own, except where groups take turns. There the
// others would wait for a worker that has left.
void Trainer::train_with_whoever_is_ready() {
    std::vector<float> step(model_.values.size());
    uint64_t iteration = 0;
    const bool by_turns = options_.averages_by_turns();
    while (by_turns ? !is_end_agreed() : !should_leave()) {
        const Time begin = std::chrono::steady_clock::now();
        compute_step(step);
        apply(step);
        tempo_.sleep_out(steps_, begin);
        const Outcome outcome =
            exchange_.average(model_, iteration, [&] { return !by_turns && should_leave(); });
        if (!outcome.done) break;
        iteration = outcome.info.iteration + 1;
        after_exchange(outcome, is_first_of(outcome.members, options_.rank) ? 1 : 0);
    }
}

// Gradient descent with momentum. A step includes the learning rate and the momentum. So steps of
// several workers and rounds may be added up in any order, and the model is only ever added to. The
// velocity stays with the worker. Averaging it too, as a second buffer of the same exchange, costs
// twice the bytes and did not learn faster here.
void Trainer::compute_step(std::span<float> ret_step) {
    batches_.next(&images_, &labels_);
    network_.gradient(model_.values, images_, labels_, ret_step);
    velocity_ = options_.momentum * velocity_ + as_vector(ret_step);
    as_vector(ret_step) = learning_rate() * velocity_;
    ++steps_;
}

void Trainer::apply(std::span<const float> step) {
    as_vector(model_.values) -= as_vector(step);
}

float Trainer::learning_rate() const {
    if (!options_.anneal) return options_.learning_rate;
    const auto done = static_cast<float>(steps_) / static_cast<float>(options_.steps_max);
    return options_.learning_rate * (1.0F - done);
}

// `exchanges` is the number of exchanges that this worker counts, so that each exchange is counted
// once.
void Trainer::after_exchange(const Outcome& outcome, uint64_t exchanges) {
    if (!board_) return;
    BoardSlot& slot = board_->slot(options_.rank);
    slot.steps = steps_;
    slot.exchanges += exchanges;
    events_.write(seconds_since(start_), steps_, outcome);
    board_->hand_in(options_.rank, model_.values);
}

bool Trainer::should_leave() const {
    return steps_ >= options_.steps_max || (board_ && board_->should_stop());
}

// Every few steps, returns whether any worker wishes to leave. All workers ask after the same step.
bool Trainer::is_end_agreed() {
    constexpr uint64_t kStepsBetween = 8;
    if (steps_ % kStepsBetween != 0) return false;
    done_.values[0] = should_leave() ? 1.0F : 0.0F;
    exchange_.sync({done_.handle}, [] {});
    return done_.values[0] > 0;
}

// Averages all models, and returns the average of `done`. The average is 1 when all workers are
// done with their steps.
float Trainer::average_models(float done) {
    const Eigen::VectorXf own = as_vector(model_.values);
    done_.values[0] = done;
    // The evaluator gets the model of a waiting worker, but not the buffer while it is being
    // averaged.
    exchange_.sync({model_.handle, done_.handle}, [&] {
        if (board_) board_->hand_in(options_.rank, {own.data(), model_.values.size()});
    });
    return done_.values[0];
}

// The job's model is the average of all workers' models, as in the paper. Workers that are still
// training may ask for averages, too. A worker that is done takes part in these averages.
Result Trainer::end_together() {
    Result result;
    result.steps = steps_;
    result.seconds = seconds_since(start_);

    const Eigen::VectorXf own = as_vector(model_.values);
    while (average_models(1.0F) < 1.0F) continue;
    const auto mean = as_vector(model_.values);
    result.distance = (own - mean).norm() / mean.norm();
    result.checksum = checksum_of(model_.values);
    if (options_.rank == 0)
        result.accuracy =
            accuracy_of(&network_, model_.values, load_dataset(options_.data, "t10k"));
    return result;
}

}  // namespace demo
