// SPDX-License-Identifier: BSD-3-Clause
/// Base of multilevel methods for the Laplacian of a graph: set-up, and what users see of the levels.
#pragma once

#include "graph_laplacian/laplacian_method.hpp"
#include "multigrid/level_statistics.hpp"

#include <echelon/methods/multigrid/hierarchy.hpp>

#include <optional>

namespace echelon::graph_laplacian {

template <class B, class T>
class MultilevelMethod : public LaplacianMethod<B, T, T> {
  using Base = LaplacianMethod<B, T, T>;

 public:
  using Base::Base;

  Outcome setup(const MatrixRef<T>& A) override { return build(A, false); }
  Outcome update_values(const MatrixRef<T>& A) override { return build(A, true); }
  [[nodiscard]] const HierarchyDescription* hierarchy() const override { return &description_; }
  /// Varying: a cycle is a nonlinear function of the residual.
  [[nodiscard]] OperatorTraits traits() const override { return {.kind = AppliedOperator::varying}; }

 protected:
  /// Makes the levels for L, which stays as it is until the next set-up. If `update`, L has the edges of the
  /// last one and other weights. Ends early, unusable, once the set-up is cancelled.
  virtual Outcome make_levels(const Csr<T>& L, bool update) = 0;
  virtual void drop_levels() = 0;
  [[nodiscard]] virtual HierarchyDescription describe_levels() const = 0;

 private:
  Outcome build(const MatrixRef<T>& A, bool update) {
    if (!update) drop_levels();
    description_ = {};
    Outcome outcome = this->set_form(A, Excess::ground);
    if (outcome.ok()) outcome = make_levels(this->form().laplacian(), update);
    if (outcome.ok() && this->control().stop_requested()) {
      outcome = {Status::cancelled, "stopped by the caller"};
    }
    if (!outcome.ok()) {
      drop_levels();
      return outcome;
    }
    description_ = describe_levels();
    outcome.statistics = multigrid::level_statistics(description_);
    outcome.statistics.push_back({"components", this->form().components()});
    return outcome;
  }

  HierarchyDescription description_;
};

}  // namespace echelon::graph_laplacian
