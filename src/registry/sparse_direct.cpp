// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of sparse direct methods.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/banded_lu.hpp>
#include <echelon/methods/least_squares/augmented.hpp>
#include <echelon/methods/least_squares/sparse_qr.hpp>
#include <echelon/methods/mapped_echelon.hpp>
#include <echelon/methods/sparse_cholesky.hpp>
#include <echelon/methods/sparse_ldlt.hpp>
#include <echelon/methods/sparse_lu.hpp>

#include <limits>
#include <vector>

namespace echelon {

std::vector<Option<BandedLuOptions>> BandedLuOptions::table() {
  return {{"ordering", enum_field<&BandedLuOptions::ordering>(),
           "numbering of rows and columns; auto: reverse Cuthill-McKee where the band is wide and becomes "
           "narrower, else natural"},
          {"refine",
           +[](BandedLuOptions& o) -> std::int64_t& { return o.refine; },
           "maximum number of refinement steps",
           {0, 10}},
          {"condition", +[](BandedLuOptions& o) -> bool& { return o.condition; },
           "estimate the condition number in every set-up, for at most 12 substitutions"},
          {"condition_of_updates", +[](BandedLuOptions& o) -> bool& { return o.condition_of_updates; },
           "estimate the condition number in every update of values, too, and not by the change of the "
           "pivots"},
          {"partitions",
           +[](BandedLuOptions& o) -> std::int64_t& { return o.partitions; },
           "partitions that are eliminated independently; 0: as many as suit the device",
           {0, 1e6}}};
}
template Options to_options(BandedLuOptions);

std::vector<Option<MappedEchelonOptions>> MappedEchelonOptions::table() {
  return {{"claim", enum_field<&MappedEchelonOptions::claim>(),
           "owner of an unknown: the claimant with the largest leading element relative to its row; "
           "ordered: the same, one unknown after the other; first: depends on the timing of threads"},
          {"order", enum_field<&MappedEchelonOptions::order>(),
           "natural, or slices: groups of rows that meet first in few unknowns, for bands"},
          {"field", +[](MappedEchelonOptions& o) -> std::string& { return o.field; },
           "real, or mod:p for exact arithmetic modulo a prime p < 2^31"},
          {"tolerance",
           +[](MappedEchelonOptions& o) -> std::optional<double>& { return o.tolerance; },
           "an element of at most this many times the sum of the magnitudes of its terms is zero; default 32 "
           "times the machine epsilon, and small pivots are tested for being amplified rounding errors",
           {0, 1}},
          {"refine",
           +[](MappedEchelonOptions& o) -> std::int64_t& { return o.refine; },
           "maximum number of refinement steps",
           {0, 10}}};
}
template Options to_options(MappedEchelonOptions);

std::vector<Option<SparseCholeskyOptions>> SparseCholeskyOptions::table() {
  return {
      {"ordering", enum_field<&SparseCholeskyOptions::ordering>(),
       "order of elimination, which determines the fill; auto: whichever of amd and dissection, and of metis "
       "before long factorisations on the host, has the fewest predicted flops"},
      {"refine",
       +[](SparseCholeskyOptions& o) -> std::int64_t& { return o.refine; },
       "host: maximum number of refinement steps, taken while the componentwise backward error exceeds 32 "
       "times the machine epsilon and each step halves it",
       {0, 20}},
      {"condition", +[](SparseCholeskyOptions& o) -> bool& { return o.condition; },
       "estimate the condition number in every set-up, for about ten substitutions"},
      {"condition_of_updates", +[](SparseCholeskyOptions& o) -> bool& { return o.condition_of_updates; },
       "host: estimate the condition number in every update of values, too, and not by the change of the "
       "pivots"}};
}
template Options to_options(SparseCholeskyOptions);

std::vector<Option<AugmentedOptions>> AugmentedOptions::table() {
  return {{"damping",
           +[](AugmentedOptions& o) -> double& { return o.damping; },
           "the d of min ||b - A x||^2 + d^2 ||x||^2",
           {0, std::numeric_limits<double>::infinity(), false, true}},
          {"refine",
           +[](AugmentedOptions& o) -> std::int64_t& { return o.refine; },
           "maximum number of corrections of x; 20 where A is rank-deficient",
           {0, 20}}};
}
template Options to_options(AugmentedOptions);

std::vector<Option<SparseLdltOptions>> SparseLdltOptions::table() {
  return {
      {"ordering", enum_field<&SparseLdltOptions::ordering>(),
       "order of elimination, which determines the fill; auto: whichever of amd and dissection, and of metis "
       "before long factorisations on the host, has the fewest predicted flops"},
      {"threshold",
       +[](SparseLdltOptions& o) -> double& { return o.threshold; },
       "host: a pivot is accepted if no element of its columns of L exceeds 1 / threshold; smaller values "
       "give less fill and more growth of elements",
       {0, 0.5, true, false}},
      {"refine",
       +[](SparseLdltOptions& o) -> std::int64_t& { return o.refine; },
       "maximum number of refinement steps: on the host while the componentwise backward error exceeds 32 "
       "times the machine epsilon and each step halves it; on a GPU at most 5, while the normwise one "
       "exceeds "
       "4 times the machine epsilon and each step reduces the residual",
       {0, 20}},
      {"condition", +[](SparseLdltOptions& o) -> bool& { return o.condition; },
       "estimate the condition number in every set-up, which also detects a singular A, for about ten "
       "substitutions"},
      {"condition_of_updates", +[](SparseLdltOptions& o) -> bool& { return o.condition_of_updates; },
       "host: estimate the condition number in every update of values, too, and not by the change of the "
       "pivots"}};
}
template Options to_options(SparseLdltOptions);

std::vector<Option<SparseLuOptions>> SparseLuOptions::table() {
  return {
      {"ordering", enum_field<&SparseLuOptions::ordering>(),
       "order of elimination, which determines the fill; auto: whichever of amd and dissection, and of metis "
       "before long factorisations on the host, has the fewest predicted flops"},
      {"factorization", enum_field<&SparseLuOptions::factorization>(),
       "host: left-looking, column by column in the blocks of a block triangular form, is quicker for "
       "circuits and power grids; auto: if few flops per entry are predicted"},
      {"threshold",
       +[](SparseLuOptions& o) -> double& { return o.threshold; },
       "host: least magnitude of a pivot relative to the largest in its column; smaller values give less "
       "fill and more growth of elements",
       {0, 1, true, false}},
      {"refine",
       +[](SparseLuOptions& o) -> std::int64_t& { return o.refine; },
       "maximum number of refinement steps: on the host while the componentwise backward error exceeds 32 "
       "times the machine epsilon and each step halves it; on a GPU at most 5, while the normwise one "
       "exceeds "
       "4 times the machine epsilon and each step reduces the residual",
       {0, 20}},
      {"condition", +[](SparseLuOptions& o) -> bool& { return o.condition; },
       "estimate the condition number in every set-up, which also detects a singular A, for about ten "
       "substitutions"},
      {"condition_of_updates", +[](SparseLuOptions& o) -> bool& { return o.condition_of_updates; },
       "host: estimate the condition number in every update of values, too, and not by the change of the "
       "pivots"}};
}
template Options to_options(SparseLuOptions);

std::vector<Option<SparseQrOptions>> SparseQrOptions::table() {
  return {{"damping",
           +[](SparseQrOptions& o) -> double& { return o.damping; },
           "the d of min ||b - A x||^2 + d^2 ||x||^2",
           {0, std::numeric_limits<double>::infinity(), false, true}},
          {"solution", enum_field<&SparseQrOptions::solution>(),
           "x of an A of deficient rank, or with more columns than rows: of those with the least residual"},
          {"tolerance",
           +[](SparseQrOptions& o) -> std::optional<double>& { return o.tolerance; },
           "a column is dependent if a part of at most this many times the largest norm of a column is "
           "independent of the columns before it; default max(m, n) times the machine epsilon",
           {0, 1}},
          {"refine",
           +[](SparseQrOptions& o) -> std::int64_t& { return o.refine; },
           "maximum number of corrections of x",
           {0, 10}}};
}
template Options to_options(SparseQrOptions);

namespace registry {

std::vector<Method> sparse_direct_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<BandedLuOptions>({.summary = "LU with partial pivoting of a band matrix",
                            .kind = direct,
                            .dense = false,
                            .usable_as_preconditioner = true}),
      row<MappedEchelonOptions>({.summary = "sparse elimination to mapped echelon form, any shape and rank",
                                 .kind = direct,
                                 .needs = any_shape,
                                 .dense = false}),
      row<SparseCholeskyOptions>({.summary = "sparse Cholesky factorisation",
                                  .kind = direct,
                                  .needs = symmetric_positive_definite,
                                  .dense = false,
                                  .usable_as_preconditioner = true}),
      row<AugmentedOptions>({.summary = "sparse least squares by L D L^T of the augmented matrix",
                             .kind = direct,
                             .needs = any_shape,
                             .dense = false}),
      row<SparseLdltOptions>({.summary = "sparse L D L^T factorisation with threshold pivoting",
                              .kind = direct,
                              .needs = symmetric,
                              .dense = false,
                              .usable_as_preconditioner = true}),
      row<SparseQrOptions>({.summary = "sparse QR factorisation: least squares, and its rank",
                            .kind = direct,
                            .needs = any_shape,
                            .dense = false}),
      row<SparseLuOptions>({.summary = "sparse LU factorisation with threshold pivoting",
                            .kind = direct,
                            .dense = false,
                            .usable_as_preconditioner = true}),
  };
}

}  // namespace registry

}  // namespace echelon
