#include "board.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace demo {
namespace {

class BoardTest : public testing::Test {
  protected:
    BoardTest() : path_(testing::TempDir() + fmt::format("/board-{}", getpid())) {}
    ~BoardTest() override { unlink(path_.c_str()); }

    std::string path_;
};

TEST_F(BoardTest, CollectsOneModelOfEveryWorkerPerQuestion) {
    Board evaluator = Board::create(path_, 2, 3);
    std::vector<std::thread> workers;
    for (uint32_t rank = 0; rank < 2; ++rank)
        workers.emplace_back([this, rank] {
            Board board = Board::open(path_, 2, 3);
            if (rank == 0) board.start();
            float step = 0;
            while (!board.should_stop()) {
                step = std::nextafter(step, HUGE_VALF);  // rises until a model is asked for
                board.hand_in(rank, std::vector<float>(3, step));
            }
        });
    evaluator.wait_for_start();
    float before = 0;
    for (int question = 0; question < 100; ++question) {
        evaluator.ask_for_models();
        evaluator.wait_for_models();
        const auto model = evaluator.model(1);
        EXPECT_GT(model[0], before);
        EXPECT_EQ(model[0], model[2]);  // whole, and unchanged while it is read
        before = model[0];
    }
    evaluator.stop();
    for (std::thread& worker : workers) worker.join();
}

TEST_F(BoardTest, RefusesWorkersOfAnotherRun) {
    const Board evaluator = Board::create(path_, 2, 3);
    EXPECT_THROW(Board::open(path_, 3, 3), std::runtime_error);
    EXPECT_THROW(Board::create(path_, 2, 3), std::runtime_error);
}

}  // namespace
}  // namespace demo
