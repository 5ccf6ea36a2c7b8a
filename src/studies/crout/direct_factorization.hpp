// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "studies/crout/crout_factorization.hpp"
#include "studies/crout/elimination.hpp"

namespace echelon::crout {

/// `crout` and its parallel variant: the threads of the host, or the work-items of a device, share the
/// elements of each row or column.
template <class B, class T>
class DirectFactorization final : public CroutFactorization<B, T> {
 public:
  template <class Options>
  DirectFactorization(const Device&, const Options& options)
      : CroutFactorization<B, T>(options.equilibrate) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    return this->factor_scaled(context, [&] { return factor_in_place(context); });
  }

 private:
  Outcome factor_in_place(const direct::FactorContext<B, T>& context) {
    B& backend = context.backend;
    const EliminationResult end =
        eliminate<B, T>(backend, this->packed().view(), this->pivots(), this->zero_pivot(), context.control);
    this->add_replaced(end, 0);
    return end.cancelled ? cancelled_factorization() : Outcome{};
  }
};

}  // namespace echelon::crout
