// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "studies/crout/crout_factorization.hpp"
#include "studies/crout/elimination.hpp"

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
  DirectFactorization(const Device&, const Options& options)
      : crout::CroutFactorization<B, T>(options.equilibrate) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    return this->factor_scaled(context, [&] { return factor_in_place(context); });
  }

 private:
  Outcome factor_in_place(const direct::FactorContext<B, T>& context) {
    B& backend = context.backend;
    const crout::EliminationResult end = crout::eliminate<B, T>(
        backend, this->packed().view(), this->pivots(), this->zero_pivot(), context.control);
    this->add_replaced(end, 0);
    return end.cancelled ? cancelled_factorization() : Outcome{};
  }
};

}  // namespace

template <>
struct MethodWith<CroutOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, DirectFactorization<B, T>>;
};

template <>
struct MethodWith<CroutParallelOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, DirectFactorization<B, T>>;
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
