// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "dense/crout/crout_factorization.hpp"
#include "dense/crout/elimination.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/crout.hpp>
#include <echelon/methods/dense/crout_parallel.hpp>

namespace echelon {

namespace {

/// Implementation of crout and of its parallel variant: on the host, threads share the elements of each row
/// or column.
template <class B, class T>
class DirectFactorization final : public crout::CroutFactorization<B, T> {
 public:
  template <class Options>
  DirectFactorization(const Device& device, const Options& options)
      : crout::CroutFactorization<B, T>(device, options.equilibrate, options.refine) {}

 private:
  [[nodiscard]] bool calls_blas() const override { return false; }

  Outcome factor_in_place() override {
    B backend(this->device());
    const crout::Elimination end =
        crout::eliminate<B, T>(backend, this->factors().view(), this->pivots(), this->cancel());
    if (end.cancelled) return cancelled_factorization();
    return end.zero_pivot < 0 ? Outcome{} : zero_pivot(end.zero_pivot);
  }
};

}  // namespace

template <>
struct MethodWith<CroutOptions> {
  template <class B, class T>
  using Type = DirectFactorization<B, T>;
};

template <>
struct MethodWith<CroutParallelOptions> {
  template <class B, class T>
  using Type = DirectFactorization<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const CroutOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const CroutOptions&);

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const CroutParallelOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const CroutParallelOptions&);

}  // namespace echelon
