// loop: `loop c|throwing|nothrow STEPS`. Calls an average and its wait STEPS times, through pace.h
// or through pace.hpp. Prints the last iteration, which is STEPS.
#include <pace/pace.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// The loop of a careful C program: values that do not change are made once.
std::uint64_t by_c(pace_session* session, pace_buffer model, std::uint64_t steps) {
    const pace_slice all = pace_whole(model);
    pace_average_options how = PACE_AVERAGE_OPTIONS_INIT;
    pace_request_info info = PACE_REQUEST_INFO_INIT;
    info.iteration = 0;
    pace_error error;
    while (info.iteration < steps) {
        pace_request request;
        how.call.iteration = info.iteration;
        if (pace_average(session, &all, 1, &how, &request, &error) != PACE_OK) return 0;
        if (pace_request_wait(session, request, PACE_FOREVER, nullptr, &info, &error) != PACE_OK)
            return 0;
    }
    return info.iteration;
}

std::uint64_t by_throwing(pace::session& session, const pace::buffer<float>& model,
                          std::uint64_t steps) {
    std::uint64_t step = 0;
    while (step < steps) step = session.average(model, {step}).wait().iteration;
    return step;
}

std::uint64_t by_nothrow(pace::session& session, const pace::buffer<float>& model,
                         std::uint64_t steps) {
    std::uint64_t step = 0;
    while (step < steps) {
        auto request = session.average(pace::nothrow, model, {step});
        if (!request) return 0;
        const auto end = request->wait(pace::nothrow);
        if (!end) return 0;
        step = end->iteration;
    }
    return step;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::uint64_t steps = std::strtoull(argv[2], nullptr, 10);
    pace::session session{pace::session_options{}};
    const pace::buffer<float> model = session.make_buffer<float>(1);
    std::uint64_t done = 0;
    if (std::strcmp(argv[1], "c") == 0) done = by_c(session.native_handle(), model.raw(), steps);
    if (std::strcmp(argv[1], "throwing") == 0) done = by_throwing(session, model, steps);
    if (std::strcmp(argv[1], "nothrow") == 0) done = by_nothrow(session, model, steps);
    std::printf("%llu\n", static_cast<unsigned long long>(done));
    return done == steps ? 0 : 1;
}
