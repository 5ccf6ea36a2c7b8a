// SPDX-License-Identifier: BSD-3-Clause
/// Base of iterative methods for symmetric diagonally dominant A that work on the Laplacian of a graph: the
/// residual b - A x is lifted to the vertices of the graph, a method solves there, and its solution is
/// restored and added to x.
#pragma once

#include "backend/columns.hpp"
#include "graph_laplacian/laplacian_form.hpp"
#include "linalg/vector/column_list.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/inconsistent.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/matrix/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace echelon::graph_laplacian {

/// V: type of the vectors along the vertices.
template <class B, class T, class V>
class LaplacianMethod : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;

 public:
  using typename Base::SolveWorkspace;

  [[nodiscard]] std::size_t bytes() const override { return copy_.bytes() + form_.bytes(); }

  /// z = M^-1 r for r without its part outside the range of A.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (r.columns() == 0) return;
    auto& first = static_cast<SolveWorkspace&>(workspace);
    ColumnList<Lifted> lifted;
    ColumnList<Vectors*> vectors;
    ColumnList<Restored> restored;
    for (int c = 0; c < r.columns(); ++c) {
      auto& v = static_cast<Vectors&>(this->workspace_of(first, c));
      lifted.add({&v.form, r[c], v.y.data()});
      vectors.add(&v);
      restored.add({&v.form, v.y.data(), z[c]});
    }
    form_.lift_into_range(first.backend, lifted.span());
    apply_lifted(vectors.span());
    form_.restore(first.backend, restored.span());
  }

 protected:
  using Form = LaplacianForm<B, T>;
  using typename Base::IteratedColumn;
  using typename Base::SolvedColumn;
  using typename Base::SolvedColumns;

  struct Vectors : SolveWorkspace {
    explicit Vectors(const LaplacianMethod& method)
        : SolveWorkspace(method.device(), method.form_.rows()),
          form(method.form_.make_workspace(this->backend)),
          y(method.device(), method.form_.vertices()) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + form.bytes() + y.bytes() + kept.bytes() + this->consistent_rhs.bytes();
    }
    typename Form::Workspace form;
    Array<V> y;     ///< right-hand side, then solution, along the vertices
    Array<V> kept;  ///< y, while finish_copy() uses it
  };

  LaplacianMethod(const Device& device, const Stop& stop) : Base(device, stop), backend_(device) {}

  /// Brings A to Laplacian form; fails unless A or -A is symmetric and diagonally dominant.
  Outcome set_form(const MatrixRef<T>& A, Excess representation) {
    this->set_matrix(A);
    copy_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    return form_.setup(backend_, A.is_sparse() ? *A.csr() : copy_, representation);
  }
  [[nodiscard]] const Form& form() const { return form_; }
  [[nodiscard]] B& setup_backend() const { return backend_; }

  /// Begins from x = 0 and the right-hand sides in y, whose sums are zero on singular components.
  virtual void start_lifted(std::span<Vectors* const> columns) const = 0;
  virtual void step_lifted(std::span<Vectors* const> columns) const = 0;
  /// Writes the iterates to y.
  virtual void finish_lifted(std::span<Vectors* const> columns) const = 0;
  /// y = M^-1 y.
  virtual void apply_lifted(std::span<Vectors* const> columns) const = 0;

  [[nodiscard]] bool iterates_together() const override { return true; }
  [[nodiscard]] bool is_known_definite() const override { return true; }
  void remove_inconsistent_parts(SolvedColumns& columns) const override {
    const ColumnList<Lifted> lifted(columns.size(), [&](std::size_t c) {
      Vectors& v = of(columns[c]);
      return Lifted{&v.form, columns[c].b, v.y.data()};
    });
    B& backend = columns[0].workspace->backend;
    const auto outside = form_.lift(backend, lifted.span());
    for (SolvedColumn& column : columns) {
      Job& job = *column.job;
      column.outside = outside[column.number];
      column.tolerance = tolerance_in_range<T>(column.outside, form_.rows(), job);
      job.statistics.push_back({"removed_norm", column.outside.norm()});
      if (!is_outside_range<T>(column.outside, form_.rows(), job)) continue;
      Vectors& v = of(column);
      if (v.consistent_rhs.size() != form_.rows()) v.consistent_rhs = Array<T>(this->device(), form_.rows());
      form_.part_in_range(backend, v.form, v.y.data(), v.consistent_rhs.data());
      column.b = v.consistent_rhs.data();
      column.outside = form_.verified(backend, column.outside);
    }
  }

 private:
  using Lifted = typename Form::template Lifted<V>;
  using Restored = typename Form::template Restored<V>;

  static ColumnList<Vectors*> workspaces(std::span<const IteratedColumn> columns) {
    return {columns.size(), [&](std::size_t c) { return &of(columns[c]); }};
  }
  static Vectors& of(const IteratedColumn& column) { return static_cast<Vectors&>(*column.workspace); }

  void start(SolveWorkspace& workspace, const T* b, T* x) const final {
    const IteratedColumn column{&workspace, b, x};
    start_together({&column, 1});
  }
  void step(SolveWorkspace& workspace, const T* b, T* x) const final {
    const IteratedColumn column{&workspace, b, x};
    step_together({&column, 1});
  }
  void finish(SolveWorkspace& workspace, T* x) const final {
    const IteratedColumn column{&workspace, nullptr, x};
    finish_together({&column, 1});
  }
  /// Keeps y, which may hold the residual of the iteration.
  void finish_copy(SolveWorkspace& workspace, T* x) const final {
    auto& v = static_cast<Vectors&>(workspace);
    const std::int64_t n = v.y.size();
    if (v.kept.size() != n) v.kept = Array<V>(this->device(), n);
    v.backend.copy(n, v.y.data(), v.kept.data());
    finish(workspace, x);
    v.backend.copy(n, v.kept.data(), v.y.data());
  }
  void start_together(std::span<const IteratedColumn> columns) const final {
    const ColumnList<Lifted> lifted(columns.size(), [&](std::size_t c) {
      Vectors& v = of(columns[c]);
      return Lifted{&v.form, v.r.data(), v.y.data()};
    });
    form_.lift_into_range(columns.front().workspace->backend, lifted.span());
    start_lifted(workspaces(columns).span());
  }
  void step_together(std::span<const IteratedColumn> columns) const final {
    step_lifted(workspaces(columns).span());
  }
  /// Adds the restored iterates to x, from which a guess's means of singular components are removed.
  void finish_together(std::span<const IteratedColumn> columns) const final {
    finish_lifted(workspaces(columns).span());
    restore(columns, [](const IteratedColumn& column) { return column.workspace->r.data(); });
    B& backend = columns.front().workspace->backend;
    for_each_column(backend, form_.rows(), columns, [](const IteratedColumn& column) {
      return AddVectors<T>{column.x, column.workspace->r.data(), column.x};
    });
    if (!form_.is_singular() || !columns.front().workspace->control->use_initial_guess) return;
    for (const IteratedColumn& column : columns) form_.spread_guess(backend, column.x, of(column).y.data());
    restore(columns, [](const IteratedColumn& column) { return column.x; });
  }
  template <class Target>
  void restore(std::span<const IteratedColumn> columns, Target target) const {
    const ColumnList<Restored> restored(columns.size(), [&](std::size_t c) {
      Vectors& v = of(columns[c]);
      return Restored{&v.form, v.y.data(), target(columns[c])};
    });
    form_.restore(columns.front().workspace->backend, restored.span());
  }

  mutable B backend_;
  Csr<T> copy_;  // A in CSR if A is dense
  Form form_;
};

}  // namespace echelon::graph_laplacian
