// SPDX-License-Identifier: BSD-3-Clause
/// Base of the methods that iterate by conjugate gradients.
#pragma once

#include "krylov/cg.hpp"
#include "linalg/spmv/relative_curvature.hpp"
#include "linalg/vector/column_list.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace echelon::krylov {

/// Iterates several right-hand sides together. Method has
///   cg_traits()                        properties of the preconditioner M;
///   multiply_directions(columns)       queues q = A p for the direction p of each column;
///   precondition_residuals(columns, use)  queues z = M^-1 r for each column and calls use as step_cg() says.
template <class Method, class B, class T>
class CgMethod : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;

 protected:
  using typename Base::IteratedColumn;
  using typename Base::SolveWorkspace;
  using Column = CgColumn<T>;
  using Base::Base;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, bool stores_z)
        : SolveWorkspace(device, size), cg(device, size, stores_z) {}
    [[nodiscard]] std::size_t bytes() const override { return SolveWorkspace::bytes() + cg.bytes(); }
    CgVectors<T> cg;
  };
  static Vectors& of(const IteratedColumn& column) { return static_cast<Vectors&>(*column.workspace); }

  [[nodiscard]] std::optional<double> relative_curvature(SolveWorkspace& workspace) const override {
    auto& v = static_cast<Vectors&>(workspace);
    return echelon::relative_curvature<B, T>(v.backend, this->matrix(), v.cg.p.data());
  }

  void start(SolveWorkspace& workspace, const T* b, T* x) const override {
    const IteratedColumn column{&workspace, b, x};
    start_together({&column, 1});
  }
  void start_together(std::span<const IteratedColumn> columns) const override {
    start_cg(cg_columns(columns).span());
  }
  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    const IteratedColumn column{&workspace, b, x};
    step_together({&column, 1});
  }
  void step_together(std::span<const IteratedColumn> columns) const override {
    const Method& method = static_cast<const Method&>(*this);
    Vectors& first = of(columns.front());
    step_cg(
        first.backend, first.n, cg_columns(columns).span(), method.cg_traits(),
        [&] { method.multiply_directions(columns); },
        [&](auto use) { method.precondition_residuals(columns, use); });
  }
  void collect_coefficients(SolveWorkspace& workspace, std::int64_t place) const override {
    static_cast<Vectors&>(workspace).cg.collect(workspace.host_state, place);
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }

  /// The columns as those of the recurrence.
  static ColumnList<Column> cg_columns(std::span<const IteratedColumn> columns) {
    return {columns.size(), [&](std::size_t c) {
              Vectors& v = of(columns[c]);
              return Column{v.state(),  &v.cg, columns[c].x,
                            v.r.data(), c,     std::ldexp(1.0, v.scale.preconditioned)};
            }};
  }
};

}  // namespace echelon::krylov
