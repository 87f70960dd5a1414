// GradientStore: the memory in which a gradient is cut, added to and put back, and the operations
// there. The memory is on the host or in a device. From a device only the chosen elements come to
// the host.
//
// Use by one thread at a time. Each call blocks until its result is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/result.h"
#include "daemon/kernels/pool.h"
#include "daemon/sparse/wire/entries.h"

namespace pace::sparse {

class GradientStore {
  public:
    virtual ~GradientStore() = default;

    // Computes G at [begin, end).
    virtual void form(size_t begin, size_t end) = 0;
    // top_k() of these elements. In this and the following functions, indices count from `begin`.
    virtual Entries top_k(size_t begin, size_t length, size_t k) = 0;
    virtual void write(size_t begin, std::span<const uint32_t> indices,
                       std::span<const float> values) = 0;
    // Adds received entries as add() of entries.h does, and returns the old values.
    virtual Entries add(size_t begin, const Entries& received) = 0;
    // All elements. Empty if the processor cannot reach them.
    virtual std::span<const float> values() const = 0;
    // The first error. What was returned since the first error is not valid. The host has no
    // errors.
    virtual base::Result<> status() const { return {}; }
};

class HostGradient final : public GradientStore {
  public:
    using Form = std::function<void(size_t begin, size_t end)>;

    // `gradient` must outlive the HostGradient.
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

// A gradient in other memory: a residual, and the gradient of an exchange, which becomes the next
// residual.
class FarGradient : public GradientStore {
  public:
    std::span<const float> values() const override { return {}; }

    // Does scatter_result() (gradient.h) in the memory where the exchange's result belongs.
    virtual void scatter_result(const Entries& entries, double scale) = 0;
    // The gradient becomes the residual.
    virtual void swap() = 0;
    // Copies the residual to the host.
    virtual base::Result<> read(std::span<float> ret_residual) const = 0;
};

}  // namespace pace::sparse
