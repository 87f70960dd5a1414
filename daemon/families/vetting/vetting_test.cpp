#include "daemon/families/vetting/vetting.h"
#include "daemon/control/absent_controller.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "daemon/gpu/gpu_groups.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::daemon {
namespace {

using protocol::DType;
using protocol::Verb;

BufferPtr gradient_of(size_t count, DType dtype = DType::f32) {
    auto buffer = std::make_shared<Buffer>();
    auto memory = base::MappedMemfd::create("gradient", count * protocol::size_of(dtype), true);
    EXPECT_TRUE(memory);
    buffer->memory = std::move(*memory);
    buffer->dtype = dtype;
    buffer->count = count;
    return buffer;
}

Request barrier(uint64_t id) {
    Request request;
    request.id = request.serial = id;
    return request;
}

Request reduce(uint64_t id, std::vector<BufferPtr> buffers) {
    Request request = barrier(id);
    request.verb = Verb::reduce;
    request.buffers = std::move(buffers);
    return request;
}

class VettingTest : public testing::Test {
  protected:
    VettingTest() { services_->options.inline_bytes_max = 1000; }

    Vetting make(bool looks = true) {
        return Vetting(
            *services_, looks, half_,
            [this](const WorkerPtr&, const Request& request) {
                told_ += fmt::format("{} ", request.id);
            },
            [this](const WorkerPtr&, const Request& request, Place place) {
                told_ += fmt::format("{}:[{}][{}] ", request.id, place.buffer, place.element);
            });
    }
    // Turns the loop until the last of these requests is reported.
    void turn_until(const std::string& last) {
        while (!told_.ends_with(last + " ")) loop_->turn(true);
    }

    std::unique_ptr<base::EventLoop> loop_ = std::move(base::EventLoop::create()).value();
    transports::MemoryNetwork network_;
    std::unique_ptr<transports::MemoryTransport> transport_ = network_.create();
    Peers peers_{*transport_};
    kernels::WorkerPool pool_{2};
    Counters counters_;
    base::BackgroundThread disk_;
    AbsentController controller_;
    GpuGroups gpu_groups_{*loop_, 0};
    std::unique_ptr<Services> services_ =
        std::make_unique<Services>(*loop_, *transport_, peers_, pool_, counters_, ExchangeOptions{},
                                   disk_, controller_, gpu_groups_);
    WorkerPtr worker_ = std::make_shared<Worker>();
    std::optional<DType> half_;
    std::string told_;
};

constexpr size_t kMany = 1'000'000;

TEST_F(VettingTest, PassesAtOnceWhatIsLittle) {
    Vetting vetting = make();
    vetting.submit(worker_, reduce(1, {gradient_of(10)}));
    vetting.submit(worker_, barrier(2));
    EXPECT_EQ(told_, "1 2 ");
}

TEST_F(VettingTest, LooksThroughMuchBesideTheLoopAndKeepsTheOrder) {
    Vetting vetting = make();
    vetting.submit(worker_, reduce(1, {gradient_of(kMany)}));
    EXPECT_EQ(told_, "") << "the call does not wait";
    vetting.submit(worker_, reduce(2, {gradient_of(10)}));
    vetting.submit(worker_, barrier(3));
    EXPECT_EQ(told_, "");
    turn_until("3");
    EXPECT_EQ(told_, "1 2 3 ");
}

TEST_F(VettingTest, NamesTheFirstOfAllBuffers) {
    const BufferPtr halves = gradient_of(kMany, DType::f16);
    const BufferPtr doubles = gradient_of(kMany, DType::f64);
    auto* const values = reinterpret_cast<double*>(doubles->memory.data());
    values[kMany - 1] = std::numeric_limits<double>::infinity();
    Vetting vetting = make();
    vetting.submit(worker_, reduce(1, {halves, doubles}));
    turn_until("1:[1][999999]");
    values[7] = std::numeric_limits<double>::quiet_NaN();
    vetting.submit(worker_, reduce(2, {halves, doubles}));
    turn_until("2:[1][7]");
    reinterpret_cast<uint16_t*>(halves->memory.data())[kMany - 1] = 0x7C00;
    vetting.submit(worker_, reduce(3, {halves, doubles}));
    turn_until("3:[0][999999]");
}

struct Edge {
    DType half;
    float passes;
    float refused;
};

// The greatest float that the half type rounds to a finite number, and the next float.
constexpr Edge kEdges[] = {{DType::f16, 65519.996F, 65520.0F},
                           {DType::bf16, 0x1.fefffep127F, 0x1.ffp127F}};

TEST_F(VettingTest, RefusesWhatIsInfiniteAsTheHalfThatTravels) {
    for (const Edge& edge : kEdges) {
        half_ = edge.half;
        const BufferPtr singles = gradient_of(10);
        auto* const values = reinterpret_cast<float*>(singles->memory.data());
        Vetting vetting = make();
        values[3] = -edge.passes;
        vetting.submit(worker_, reduce(1, {singles}));
        values[3] = -edge.refused;
        vetting.submit(worker_, reduce(2, {singles}));
        EXPECT_EQ(told_, "1 2:[0][3] ") << protocol::name_of(edge.half);
        told_.clear();
    }
}

// Doubles become floats first.
TEST_F(VettingTest, RefusesDoublesThatAreInfiniteAsTheHalfThatTravels) {
    for (const Edge& edge : kEdges) {
        half_ = edge.half;
        const BufferPtr doubles = gradient_of(10, DType::f64);
        auto* const values = reinterpret_cast<double*>(doubles->memory.data());
        const double middle = (double{edge.passes} + double{edge.refused}) / 2;
        Vetting vetting = make();
        values[3] = std::nextafter(middle, 0.0);
        vetting.submit(worker_, reduce(1, {doubles}));
        values[3] = middle;
        vetting.submit(worker_, reduce(2, {doubles}));
        EXPECT_EQ(told_, "1 2:[0][3] ") << protocol::name_of(edge.half);
        told_.clear();
    }
}

// Halves that the job itself uses travel as they are.
TEST_F(VettingTest, PassesTheGreatestOfEachType) {
    const BufferPtr singles = gradient_of(1);
    *reinterpret_cast<float*>(singles->memory.data()) = std::numeric_limits<float>::max();
    const BufferPtr halves = gradient_of(2, DType::f16);
    *reinterpret_cast<uint16_t*>(halves->memory.data()) = 0x7BFF;
    Vetting plain = make();
    plain.submit(worker_, reduce(1, {singles, halves}));
    half_ = DType::f16;
    Vetting compressed = make();
    compressed.submit(worker_, reduce(2, {halves}));
    EXPECT_EQ(told_, "1 2 ");
}

TEST_F(VettingTest, TakesBackWhatHasNotPassed) {
    Vetting vetting = make();
    vetting.submit(worker_, reduce(1, {gradient_of(kMany)}));
    vetting.submit(worker_, reduce(2, {gradient_of(kMany)}));
    EXPECT_TRUE(vetting.cancel(*worker_, 1));
    EXPECT_FALSE(vetting.cancel(*worker_, 1));
    turn_until("2");
    EXPECT_EQ(told_, "2 ");
    EXPECT_FALSE(vetting.cancel(*worker_, 2));
}

TEST_F(VettingTest, ForgetsWhoIsGone) {
    Vetting vetting = make();
    const auto other = std::make_shared<Worker>();
    vetting.submit(worker_, reduce(1, {gradient_of(kMany)}));
    vetting.submit(other, reduce(2, {gradient_of(kMany)}));
    vetting.forget(*worker_);
    turn_until("2");
    EXPECT_EQ(told_, "2 ");
}

TEST_F(VettingTest, LooksAtNothingWhereNothingIsRefused) {
    Vetting vetting = make(false);
    const BufferPtr gradient = gradient_of(kMany);
    *reinterpret_cast<float*>(gradient->memory.data()) = std::numeric_limits<float>::infinity();
    vetting.submit(worker_, reduce(1, {gradient}));
    EXPECT_EQ(told_, "1 ");
}

}  // namespace
}  // namespace pace::daemon
