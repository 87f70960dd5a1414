// GradientStore: where a gradient lies while it is cut, added to and put back, and what is done to it
// there: on the host, or in the memory of a device, from which only what is chosen comes.
//
// One thread at a time, and each call blocks until its result is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/result.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/entries.h"

namespace pace::sparse {

class GradientStore {
  public:
    virtual ~GradientStore() = default;

    // Computes G at [begin, end).
    virtual void form(size_t begin, size_t end) = 0;
    // top_k() of these elements; indices count from `begin`, here and below.
    virtual Entries top_k(size_t begin, size_t length, size_t k) = 0;
    virtual void write(size_t begin, std::span<const uint32_t> indices,
                       std::span<const float> values) = 0;
    // Adds what was received, as add() of entries.h, and returns what was there.
    virtual Entries add(size_t begin, const Entries& received) = 0;
    // All elements; empty if the processor does not reach them.
    virtual std::span<const float> values() const = 0;
    // What has gone wrong first: what was returned since is worth nothing. Nothing does on the host.
    virtual base::Result<> status() const { return {}; }
};

class HostGradient final : public GradientStore {
  public:
    using Form = std::function<void(size_t begin, size_t end)>;

    // `gradient` outlives it.
    HostGradient(std::span<float> gradient, kernels::WorkerPool& pool, Form form)
        : gradient_(gradient), pool_(pool), form_(std::move(form)) {}

    void form(size_t begin, size_t end) override { form_(begin, end); }
    Entries top_k(size_t begin, size_t length, size_t k) override;
    void write(size_t begin, std::span<const uint32_t> indices,
               std::span<const float> values) override;
    Entries add(size_t begin, const Entries& received) override;
    std::span<const float> values() const override { return gradient_; }

  private:
    std::span<float> gradient_;
    kernels::WorkerPool& pool_;
    Form form_;
};

// In other memory: a residual, and the gradient of an exchange, which is the next residual.
class FarGradient : public GradientStore {
  public:
    std::span<const float> values() const override { return {}; }

    // scatter_result() (gradient.h), to wherever the exchange's result is wanted.
    virtual void scatter_result(const Entries& entries, double scale) = 0;
    // The gradient is the residual from now on.
    virtual void swap() = 0;
    // Copies the residual to the host.
    virtual base::Result<> read(std::span<float> ret_residual) const = 0;
};

}  // namespace pace::sparse
