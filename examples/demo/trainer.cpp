#include "trainer.h"

#include <zlib.h>

#include <algorithm>
#include <thread>

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

}  // namespace

Trainer::Trainer(const Options& options)
    : options_(options),
      network_(options.hidden),
      board_(open_board(options, network_.parameter_count())),
      events_(options.events),
      data_(load_dataset(options.data, "train")),
      batches_(data_, options.rank, options.world, options.seed),
      images_(kPixels, options.batch),
      exchange_(options),
      model_(exchange_.make_buffer(network_.parameter_count())),
      velocity_(Eigen::VectorXf::Zero(as_vector(model_.values).size())) {}

Result Trainer::run() {
    begin_together();
    if (options_.is_all_reduce())
        train_with_all();
    else
        train_with_whoever_is_ready();
    return end_together();
}

// Everyone starts from worker 0's model, at one moment.
void Trainer::begin_together() {
    if (options_.rank == 0) network_.initialize(model_.values, options_.seed);
    exchange_.broadcast(model_, 0);
    exchange_.barrier();
    if (board_ && options_.rank == 0) board_->start();
}

// All-reduce: the same step everywhere, down the mean of all gradients. One element behind the
// gradient carries each worker's wish to leave, so that all leave after the same round.
void Trainer::train_with_all() {
    const Buffer buffer = exchange_.make_buffer(model_.values.size() + 1);
    const auto gradient = buffer.values.first(model_.values.size());
    float& wish_to_leave = buffer.values.back();
    do {
        const Time begin = std::chrono::steady_clock::now();
        compute_gradient(gradient);
        wish_to_leave = should_leave() ? 1.0F : 0.0F;
        sleep_out_step(begin);
        const Outcome outcome = exchange_.reduce(buffer, steps_);
        descend(gradient);
        after_exchange(outcome);
    } while (wish_to_leave == 0.0F);
}

// Partial reduce (Miao et al., SIGMOD 2021, Algorithm 2): a local step, then the average of the
// parameters over a group. Each worker leaves on its own.
void Trainer::train_with_whoever_is_ready() {
    std::vector<float> gradient(model_.values.size());
    uint64_t iteration = 0;
    while (!should_leave()) {
        const Time begin = std::chrono::steady_clock::now();
        compute_gradient(gradient);
        descend(gradient);
        sleep_out_step(begin);
        const Outcome outcome =
            exchange_.average(model_, iteration, [this] { return should_leave(); });
        if (!outcome.done) break;
        iteration = outcome.info.iteration + 1;
        after_exchange(outcome);
    }
}

void Trainer::compute_gradient(std::span<float> ret_gradient) {
    batches_.next(&images_, &labels_);
    network_.gradient(model_.values, images_, labels_, ret_gradient);
    ++steps_;
}

// Gradient descent with momentum. The velocity stays with the worker: averaging it too, as a second
// buffer of the same exchange, costs twice the bytes and did not learn faster here.
void Trainer::descend(std::span<const float> gradient) {
    velocity_ = options_.momentum * velocity_ + as_vector(gradient);
    as_vector(model_.values) -= options_.learning_rate * velocity_;
}

// The workers of the demo share a few cores. Sleeping out the rest of a step makes each behave like
// a machine of its own, and the slow one like a slow machine, without taking time from the others.
void Trainer::sleep_out_step(Time begin) const {
    const std::chrono::duration<double, std::milli> whole(options_.step_ms * options_.slowdown);
    std::this_thread::sleep_until(begin +
                                  std::chrono::duration_cast<std::chrono::nanoseconds>(whole));
}

void Trainer::after_exchange(const Outcome& outcome) {
    if (!board_) return;
    BoardSlot& slot = board_->slot(options_.rank);
    slot.steps = steps_;
    if (!outcome.members.empty() && outcome.members.front().rank == options_.rank)
        ++slot.groups_led;
    const int64_t elapsed_ns = now_ns() - board_->started_ns();
    events_.write(static_cast<double>(elapsed_ns) / 1e9, steps_, outcome);
    board_->hand_in(options_.rank, model_.values);
}

bool Trainer::should_leave() const {
    return steps_ >= options_.steps_max || (board_ && board_->should_stop());
}

// The job's model is the average of all workers' models, as in the paper.
Result Trainer::end_together() {
    const Eigen::VectorXf own = as_vector(model_.values);
    exchange_.sync(model_);
    const auto mean = as_vector(model_.values);

    Result result;
    result.steps = steps_;
    result.distance = (own - mean).norm() / mean.norm();
    result.checksum = checksum_of(model_.values);
    if (options_.rank == 0)
        result.accuracy =
            accuracy_of(&network_, model_.values, load_dataset(options_.data, "t10k"));
    return result;
}

}  // namespace demo
