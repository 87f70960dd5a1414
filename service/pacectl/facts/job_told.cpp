#include "service/pacectl/facts/job_told.h"

namespace pace::pacectl {

std::string training_line(const Json& job) {
    const Json& steps = member(job, "steps");
    if (!steps.is_object()) return {};
    const std::string left =
        member(steps, "left_s").is_number()
            ? fmt::format(", {} left", duration_text(number(steps, "left_s") * 1e3))
            : std::string();
    return fmt::format("  training: {} of {} steps{}\n", count(steps, "done"),
                       count(steps, "total"), left);
}

std::string residual_line(const Json& job) {
    const Json& residual = member(job, "residual");
    if (!residual.is_object()) return {};
    const uint64_t exchanges = count(residual, "exchanges");
    if (exchanges == 0) return "  top-k keeps nothing back\n";
    return fmt::format("  top-k keeps back gradients in {}, for {} {}\n",
                       bytes_text(number(residual, "bytes")), exchanges,
                       exchanges == 1 ? "exchange" : "exchanges");
}

}  // namespace pace::pacectl
