// SPDX-License-Identifier: BSD-3-Clause
// The set-up of multigrid for stencil matrices.
#include "multigrid/structured/hierarchy.hpp"

namespace echelon {

template std::optional<StencilMatrix<float>> find_stencil(ThisTarget::Backend&, const Csr<float>&,
                                                          const Grid&, std::string&);
template std::optional<StencilMatrix<double>> find_stencil(ThisTarget::Backend&, const Csr<double>&,
                                                           const Grid&, std::string&);

}  // namespace echelon

namespace echelon::multigrid {

template StencilCharacter describe_stencil<true>(ThisTarget::Backend&, const StencilMatrix<float>&);
template StencilCharacter describe_stencil<true>(ThisTarget::Backend&, const StencilMatrix<double>&);
template StencilMatrix<float> expanded(ThisTarget::Backend&, const StencilMatrix<float>&);
template StencilMatrix<double> expanded(ThisTarget::Backend&, const StencilMatrix<double>&);
template StencilHierarchy<float> coarsen_stencil(ThisTarget::Backend&, const StencilMatrix<float>&,
                                                 const StencilCharacter&, double, std::int64_t, bool);
template StencilHierarchy<double> coarsen_stencil(ThisTarget::Backend&, const StencilMatrix<double>&,
                                                  const StencilCharacter&, double, std::int64_t, bool);

}  // namespace echelon::multigrid
