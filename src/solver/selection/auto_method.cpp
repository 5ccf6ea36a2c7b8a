// SPDX-License-Identifier: BSD-3-Clause
/// `auto` as a method.
#include "backend/targets.hpp"
#include "solver/implementation.hpp"
#include "solver/make.hpp"
#include "solver/selection/method_choice.hpp"

#include <echelon/methods/auto.hpp>

#include <support/scalar_list.hpp>

#include <complex>
#include <memory>
#include <vector>

namespace echelon {

namespace {

/// Solves by whole solvers, which MethodChoice makes. The functions of SolverImplementation, which solve a
/// part of a report, are not called.
template <class T>
class AutoMethod final : public SolverImplementation<T> {
 public:
  AutoMethod(const Device& device, const AutoOptions& options)
      : SolverImplementation<T>(device), choice_(device, limits_of(options)) {}

  [[nodiscard]] MethodChooser<T>* chooser() override { return &choice_; }
  [[nodiscard]] bool takes_any_shape() const override { return true; }
  [[nodiscard]] bool takes_operator() const override { return true; }
  void set_near_null_space(const Dense<double>& vectors) override { choice_.set_near_null_space(vectors); }
  [[nodiscard]] std::size_t bytes() const override {
    const auto chosen = choice_.chosen();
    return chosen == nullptr ? 0 : chosen->solver().bytes();
  }

  Outcome setup(const MatrixRef<T>& /*A*/) override { throw Error("auto is not a part of another method"); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    throw Error("auto is not a part of another method");
  }
  void solve(Workspace& /*workspace*/, DenseView<const T> /*B*/, DenseView<T> /*X*/,
             std::vector<Job>& /*jobs*/) const override {
    throw Error("auto is not a part of another method");
  }

 private:
  MethodChoice<T> choice_;
};

}  // namespace

#define ECHELON_SPECIALIZE(Target, T)                                                                \
  template <>                                                                                        \
  std::unique_ptr<SolverImplementation<T>> make_implementation<Target>(const Device& device,         \
                                                                       const AutoOptions& options) { \
    return std::make_unique<AutoMethod<T>>(device, options);                                         \
  }
#define ECHELON_INSTANTIATE(T) ECHELON_SPECIALIZE(HostTarget, T)
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE
ECHELON_SPECIALIZE(CudaTarget, float)
ECHELON_SPECIALIZE(CudaTarget, double)
ECHELON_SPECIALIZE(CudaTarget, std::complex<double>)
ECHELON_SPECIALIZE(OpenClTarget, float)
ECHELON_SPECIALIZE(OpenClTarget, double)
#undef ECHELON_SPECIALIZE

}  // namespace echelon
