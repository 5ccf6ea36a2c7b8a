// SPDX-License-Identifier: BSD-3-Clause
/// A square dense matrix factored by LU, or, where that fails, between butterflies or by QR.
#pragma once

#include "backend/store.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "dense/lu/butterfly.hpp"
#include "dense/lu/factorization.hpp"
#include "dense/mixed_precision/products.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/direct/growth.hpp"
#include "solver/factor_status.hpp"
#include "support/machine_epsilon.hpp"
#include "support/text.hpp"
#ifdef __CUDACC__
#include "dense/lu/workspace.cuh"
#endif

#include <echelon/error.hpp>
#include <echelon/methods/dense/lu.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::lu {

/// Factorisation of the scaled matrix S.
enum class FactorizationKind {
  plain,        ///< P S = L U
  butterflies,  ///< P U^T S V = L U for butterflies U and V
  qr,           ///< S = Q R
};

/// Growth up to which this many steps of refinement may reach the level of rounding errors: the factors are
/// those of a matrix that differs from A by growth times eps, and each step multiplies the error by about
/// that.
template <class T>
double repairable_growth(std::int64_t n, std::int64_t steps) {
  const auto eps = static_cast<double>(machine_epsilon<T>);
  return std::max(direct::harmless_growth(n), 4 * std::pow(eps, 1 / static_cast<double>(steps + 1)) / eps);
}

/// Factorisation of the scaled matrix S = R A C, n^2 elements.
template <class B, class T>
class DenseFactorization {
  using Operation = direct::Operation;
  using Context = direct::FactorContext<B, T>;

 public:
  /// Residuals of 32 right-hand sides are products of matrices; their norms are read on a GPU, too.
  static constexpr std::int64_t columns_at_once = 32;
  static constexpr Decision decision = Decision::on_host;
  static constexpr bool keeps_backend = true;

  DenseFactorization(const Device& device, const LuOptions& options) : workspace_(device), options_(options) {
    workspace_.products = float_products(options.factor_precision);
  }

  /// Releases the last factors before new ones are allocated.
  void clear() {
    factors_ = Dense<T>();
    pivots_ = {};
    tau_ = {};
    left_.reset();
    right_.reset();
    kind_ = FactorizationKind::plain;
  }

  Outcome factor(const Context& context) {
    if (Outcome scaled = copy_scaled(context, options_.equilibrate, factors_, norms_); !scaled.ok())
      return scaled;
    pivots_ = Array<std::int64_t>(context.backend.device(), order());
    const LuResult lu = eliminate(context);
    if (lu.cancelled) return cancelled_factorization();
    const double growth = lu.largest / norms_.largest;
    std::string why;
    if (!(growth <= direct::harmless_growth(order()))) {
      if (lu.zero_pivot >= 0) {
        why = "the pivot of column " + std::to_string(lu.zero_pivot) + " is 0";
      } else {
        why = growth <= repairable_growth<T>(order(), options_.refine) ? direct::inaccuracy(context)
                                                                       : "refinement does not repair that";
      }
    } else if (lu.zero_pivot >= 0) {
      if constexpr (ends_at_zero_pivot<B>) return zero_pivot(lu.zero_pivot);
      return replace_zero_pivots(context.backend, context.A, factors_, lu.zero_pivot, norms_.largest);
    }
    Outcome outcome = why.empty() ? Outcome{} : factor_otherwise(context, growth, why);
    outcome.statistics = {{"factorization", name_of(kind_)}, {"pivot_growth", growth}};
    return outcome;
  }

  void substitute(Operation operation, B& backend, direct::NoSpace& /*space*/, DenseView<T> X) const {
    const bool transposed = operation == Operation::transpose;
    const DenseView<const T> factors = factors_.view();
    if (kind_ == FactorizationKind::qr) return substitute_qr<T>(backend, transposed, factors, tau_.data(), X);
    const auto& before = transposed ? right_ : left_;
    const auto& after = transposed ? left_ : right_;
    if (before) before->apply_to_columns(backend, true, X);
    lu::substitute<T>(backend, workspace_, transposed, factors, pivots_.data(), X);
    if (after) after->apply_to_columns(backend, false, X);
  }

  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t butterflies = 0;
    if (left_) butterflies = left_->bytes() + right_->bytes();
    return factors_.bytes() + pivots_.bytes() + tau_.bytes() + butterflies + workspace_.bytes();
  }

  [[nodiscard]] DeterminantProduct determinant(B& backend) const {
    DeterminantProduct product;
    for (const double pivot : diagonal_on_host(backend, factors_)) product.multiply(pivot);
    if (kind_ == FactorizationKind::qr) {
      multiply_by_reflections(product, tau_.to_vector());
    } else {
      count_exchanges(product, pivots_.to_vector());
    }
    for (const auto* butterfly : {&left_, &right_}) {
      if (!*butterfly) continue;
      for (const double block : (*butterfly)->block_determinants()) product.divide(block);
    }
    return product;
  }

  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    if (kind_ != FactorizationKind::plain) {
      throw Error("there are no L and U of A, which was factored otherwise (" + name_of(kind_) +
                  ") after growth of elements");
    }
    MatrixFactors<T> result;
    result.lower = triangle_on_host(backend, factors_.view(), {.lower = true, .unit_diagonal = true});
    result.upper = triangle_on_host(backend, factors_.view(), {.lower = false, .unit_diagonal = false});
    result.row_permutation = permutation_by_exchanges(order(), pivots_.to_vector());
    return result;
  }

 private:
  [[nodiscard]] std::int64_t order() const { return factors_.rows(); }

  static std::string name_of(FactorizationKind kind) {
    switch (kind) {
      case FactorizationKind::plain:
        return "lu";
      case FactorizationKind::butterflies:
        return "butterfly-lu";
      case FactorizationKind::qr:
        return "qr";
    }
    return {};
  }

  LuResult eliminate(const Context& context) {
    return lu::factor<T>(context.backend, workspace_, factors_.view(), pivots_.data(), context.control);
  }

  /// Factors again after LU has failed, for the reason `why`: LU between butterflies, and if that is not
  /// accurate either, QR.
  Outcome factor_otherwise(const Context& context, double growth, const std::string& why) {
    B& backend = context.backend;
    const std::string failure =
        "elements grew " + short_number(growth) + " times in LU with partial pivoting, and " + why;
    constexpr std::uint64_t seed = 1;
    restore_scaled(context, factors_);
    left_.emplace(backend, order(), seed);
    right_.emplace(backend, order(), seed + 1);
    left_->apply_to_columns(backend, true, factors_.view());
    right_->apply_to_rows(backend, factors_.view());
    kind_ = FactorizationKind::butterflies;
    const LuResult lu = eliminate(context);
    if (lu.cancelled) return cancelled_factorization();
    const bool repairable = lu.largest / norms_.largest <= repairable_growth<T>(order(), options_.refine);
    if (lu.zero_pivot < 0 && repairable && direct::inaccuracy(context).empty()) {
      Outcome outcome;
      outcome.warnings.push_back(failure + ": factored after random butterfly transformations instead");
      return outcome;
    }
    return factor_by_qr(context, failure);
  }

  Outcome factor_by_qr(const Context& context, const std::string& failure) {
    left_.reset();
    right_.reset();
    restore_scaled(context, factors_);
    kind_ = FactorizationKind::qr;
    tau_ = Array<T>(context.backend.device(), order());
    if (!factor_qr<T>(context.backend, factors_.view(), tau_.data(), context.control))
      return cancelled_factorization();
    const std::int64_t zero = first_zero_on_diagonal(context.backend, factors_);
    Outcome outcome;
    if (zero >= 0) outcome = replace_zero_pivots(context.backend, context.A, factors_, zero, norms_.largest);
    outcome.warnings.push_back(failure +
                               ", nor did random butterfly transformations help: factored by QR instead");
    return outcome;
  }

  FactorWorkspace<B, T> workspace_;
  LuOptions options_;
  Dense<T> factors_;
  FactorizationKind kind_ = FactorizationKind::plain;
  Array<std::int64_t> pivots_;  // of LU
  Array<T> tau_;                // of QR's reflections
  std::optional<Butterfly<B, T>> left_, right_;
  ScaledNorms norms_;
};

}  // namespace echelon::lu
