// Program: what a simulated trainer computes, calls and checks. One for each family of verbs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/members/request.h"
#include "tests/world/ledger.h"
#include "tests/world/plan.h"

namespace pace::world {

// The worker that runs a program, as the program knows it.
struct Self {
    const protocol::JobOptions& job;
    uint32_t rank = 0;
    uint64_t run = 0;  // which run of the job it is in
    std::string name;
};

class Program {
  public:
    virtual ~Program() = default;

    // The worker's process has just begun.
    virtual void begin(const Self& self) = 0;
    // The worker's model, which broadcasts give and take.
    virtual std::span<float> model() = 0;
    // A broadcast has ended: the model is another one.
    virtual void took_model(const Self& /*self*/, const daemon::Ending& /*ending*/,
                            Ledger& /*ledger*/) {}

    // The step that follows the iteration to which a broadcast has brought the worker.
    virtual uint64_t step_after(uint64_t iteration) const { return iteration + 1; }

    // Whether the worker asks for the model when its daemon has died. Else it repeats its call.
    virtual bool takes_model_anew() const { return true; }

    // The verb and the fields of the next call, without its buffers.
    virtual daemon::Request next(uint64_t step) const = 0;
    // The contents of the call's buffer. Empty: the call is made on the model.
    virtual std::vector<float> contents(const Self& self, uint64_t step) const = 0;
    // The call has ended well, and its buffer (or the model) holds this. Returns the next step.
    // Without members it is not known whose gradients are in the result.
    virtual uint64_t ended(const Self& self, uint64_t step, const daemon::Ending& ending,
                           std::span<const float> result, Ledger& ledger) = 0;
    // The daemon died during the call, and nothing is known but that the buffer holds the whole
    // result.
    virtual void check_whole(const Self& self, uint64_t step, std::span<const float> result,
                             Ledger& ledger) const = 0;
};

std::unique_ptr<Program> program_of(const protocol::JobOptions& job);

}  // namespace pace::world
