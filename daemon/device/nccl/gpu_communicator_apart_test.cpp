// GpuCommunicator tests: sums over the GPUs of two processes, one of which may die.
#include "daemon/device/nccl/gpu_communicator_fixture.h"

namespace pace::device {
namespace {

using simulated_gpu::Apart;
using simulated_gpu::Line;

// One of two ranks, on its process's only GPU.
struct Member {
    Member(Line& its_line, uint32_t rank) : line(its_line) {
        const GroupId id = rank == 0 ? *make_group_id() : line.receive<GroupId>();
        if (rank == 0) line.send(id);
        communicator =
            GpuCommunicator::create(*gpus.loop, **NcclLibrary::get(), id, 2,
                                    {{gpus.devices[0].get(), rank}}, minutes(1), ready.callback());
        gpus.await(ready);
    }
    void sum_once() {
        Outcome ended;
        gpus.sum(*communicator, {0}, ended);
        gpus.await(ended);
        EXPECT_TRUE(*ended.result) << ended.text();
    }

    Line& line;
    Gpus gpus;
    Outcome ready;
    std::shared_ptr<GpuCommunicator> communicator;
};

// Both ranks, in processes with one GPU each.
class Both {
  public:
    Both(const std::string& gpu_of_first, const std::string& gpu_of_second,
         const std::function<void(Member&)>& first, const std::function<void(Member&)>& second)
        : first_({{"PACE_SIMULATED_GPU_FIRST", gpu_of_first}}, be(0, first)),
          second_({{"PACE_SIMULATED_GPU_FIRST", gpu_of_second}}, be(1, second)) {
        second_.line().send(first_.line().receive<GroupId>());
    }
    Apart& first() { return first_; }
    Apart& second() { return second_; }

  private:
    static std::function<void(Line&)> be(uint32_t rank, const std::function<void(Member&)>& code) {
        return [rank, code](Line& line) {
            simulated_gpu::use_simulated_nccl();
            Member member(line, rank);
            code(member);
        };
    }
    Apart first_;
    Apart second_;
};

TEST(GpuCommunicatorApart, ProcessesSumAlike) {
    const auto sum = [](float mine) {
        return [mine](Member& member) {
            member.gpus.write<float>(0, 0, {mine, 2 * mine, 3 * mine});
            member.sum_once();
            member.sum_once();
            EXPECT_EQ(member.gpus.read<float>(0, 0, 3), (std::vector<float>{60, 120, 180}));
        };
    };
    Both both("0", "1", sum(10), sum(20));
    EXPECT_EQ(both.first().end(), 0);
    EXPECT_EQ(both.second().end(), 0);
}

// Either process may be killed, even the one that made the group id.
TEST(GpuCommunicatorApart, AProcessThatIsKilledEndsTheOthersSum) {
    const auto survive = [](Member& member) {
        member.sum_once();
        Outcome ended;
        member.gpus.sum(*member.communicator, {0}, ended);
        member.gpus.loop->turn(true);  // the sum is on the stream
        member.line.tell();
        member.gpus.await(ended);
        EXPECT_TRUE(ended.failed(ErrorKind::unavailable)) << ended.text();
        EXPECT_EQ(member.communicator->state(), GpuCommunicator::State::broken);
    };
    const auto die = [](Member& member) {
        member.sum_once();
        member.line.await();  // never comes
    };
    {
        Both both("0", "1", survive, die);
        both.first().line().await();
        both.second().kill();
        EXPECT_EQ(both.first().end(), 0);
    }
    Both both("0", "1", die, survive);
    both.second().line().await();
    both.first().kill();
    EXPECT_EQ(both.second().end(), 0);
}

TEST(GpuCommunicatorApart, TwoRanksOnOneGpuAreRefused) {
    const auto be_refused = [](Member& member) {
        EXPECT_TRUE(member.ready.failed(ErrorKind::invalid)) << member.ready.text();
        EXPECT_NE(member.ready.text().find("Duplicate GPU"), std::string::npos)
            << member.ready.text();
        member.line.tell();
        member.line.await();
    };
    Both both("1", "1", be_refused, be_refused);
    // Both wait here, since a rank that leaves early would be another reason for an error.
    both.first().line().await();
    both.second().line().await();
    both.first().line().tell();
    both.second().line().tell();
    EXPECT_EQ(both.first().end(), 0);
    EXPECT_EQ(both.second().end(), 0);
}

}  // namespace
}  // namespace pace::device
