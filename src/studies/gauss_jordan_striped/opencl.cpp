// SPDX-License-Identifier: BSD-3-Clause
// The striped scheme on an OpenCL device.
#include "backend/target.hpp"
#include "solver/instantiate.hpp"
#include "studies/gauss_jordan_striped/striped_loops.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace echelon {

namespace {

template <class B, class T>
class StripedOnDevice final : public SolverImplementation<T> {
 public:
  StripedOnDevice(const Device& device, const GaussJordanStripedOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    n_ = A.rows();
    matrix_ = StripedLoops<B, T>(A, options_);
    B backend(this->device());
    return matrix_.eliminate(backend);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Workspace>();
  }
  [[nodiscard]] std::size_t bytes() const override { return matrix_.bytes(); }

  void solve(Workspace& /*workspace*/, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& /*jobs*/) const override {
    B backend(this->device());
    apply_passes(backend, matrix_.elements(), matrix_.multipliers(), n_, rhs, X);
  }

 private:
  GaussJordanStripedOptions options_;
  std::int64_t n_ = 0;
  StripedLoops<B, T> matrix_;
};

}  // namespace

template <>
struct MethodWith<GaussJordanStripedOptions> {
  template <class B, class T>
  using Type = StripedOnDevice<B, T>;
};

template <class Target, class T>
StripedForm<T> reduce_striped_on(const Dense<T>& A, const GaussJordanStripedOptions& options) {
  OpenCl backend(A.device());
  StripedLoops<OpenCl, T> matrix(A, options);
  Outcome outcome = matrix.eliminate(backend);
  if (!outcome.ok()) return {.outcome = std::move(outcome), .R = {}, .pivots = {}};
  return form_of(backend, matrix.elements(), A.rows(), A.columns());
}

#define ECHELON_INSTANTIATE(T)                                                               \
  template StripedForm<T> reduce_striped_on<OpenClTarget>(const Dense<T>&,                   \
                                                          const GaussJordanStripedOptions&); \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<OpenClTarget>(       \
      const Device&, const GaussJordanStripedOptions&);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
