// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "multigrid/smoothers/smoother.hpp"
#include "relaxation/gauss_seidel/by_levels.hpp"

namespace echelon::multigrid {

/// Smoother by exact Gauss-Seidel sweeps, forward before the coarse correction and backward after it, or
/// symmetric both times. Results have the same bits on every device. Rows without a diagonal element keep
/// their x.
template <class B, class T>
class SweepSmoother final : public Smoother<B, T> {
 public:
  SweepSmoother(const Device& device, const Csr<T>& A, bool symmetric_sweeps, std::int64_t sweeps,
                double omega)
      : device_(device),
        A_(&A),
        symmetric_sweeps_(symmetric_sweeps),
        sweeps_(sweeps),
        omega_{static_cast<Real<T>>(omega)} {}

  [[nodiscard]] std::size_t bytes() const override { return 0; }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace(int /*columns*/) const override {
    return std::make_unique<Scratch>(device_);
  }
  void start(const SmootherArguments<B, T>& arguments) const override {
    for (int c = 0; c < arguments.x.columns(); ++c) {
      arguments.backend.fill(A_->rows(), T{0}, arguments.x[c]);
    }
    pre_smooth(arguments);
  }
  void start_with_residual(const SmootherArguments<B, T>& arguments) const override {
    start(arguments);
    form_residuals(*A_, arguments);
  }
  void pre_smooth(const SmootherArguments<B, T>& arguments) const override {
    sweep(arguments, symmetric_sweeps_ ? SweepKind::symmetric : SweepKind::forward);
  }
  void post_smooth(const SmootherArguments<B, T>& arguments) const override {
    sweep(arguments, symmetric_sweeps_ ? SweepKind::symmetric : SweepKind::backward);
  }

 private:
  struct Scratch final : Workspace {
    explicit Scratch(const Device& device) : memory(device) {}
    [[nodiscard]] std::size_t bytes() const override { return memory.bytes(); }
    gauss_seidel::SweepWorkspace<B, T> memory;
  };

  void sweep(const SmootherArguments<B, T>& arguments, SweepKind kind) const {
    const std::int64_t n = A_->rows();
    for (int c = 0; c < arguments.x.columns(); ++c) {
      gauss_seidel::Sweeps<T> sweeps{
          .A = A_,
          .right_hand_sides = 1,
          .b = arguments.b[c],
          .leading_b = n,
          .x = arguments.x[c],
          .leading_x = n,
          .kind = kind,
          .sweeps = sweeps_,
          .omega = omega_,
      };
      gauss_seidel::sweep(arguments.backend, sweeps, static_cast<Scratch*>(arguments.workspace)->memory);
    }
  }

  Device device_;
  const Csr<T>* A_;
  bool symmetric_sweeps_;
  std::int64_t sweeps_;
  T omega_;
};

}  // namespace echelon::multigrid
