// SPDX-License-Identifier: BSD-3-Clause
// Schur complements of dense matrices, on any device: S = A_BB - A_BI X with A_II X = A_IB.
#include "backend/dispatch.hpp"
#include "domain_decomposition/schur/blocks.hpp"
#include "domain_decomposition/schur/implementation.hpp"
#include "domain_decomposition/schur/outcomes.hpp"
#include "matrix/host_copy.hpp"

#include <echelon/linalg.hpp>
#include <echelon/solver.hpp>

#include <support/scalar_list.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::schur {

namespace {

template <class T>
class DenseInteriorElimination final : public InteriorElimination<T> {
 public:
  DenseInteriorElimination(DenseView<const T> A, const InterfacePartition& partition, const Device& device,
                           const SchurOptions& options)
      : A_(A),
        device_(device),
        options_(options),
        partition_(partition),
        interior_(device, std::span<const std::int32_t>(partition.interior)),
        interface_(device, std::span<const std::int32_t>(partition.interface)) {}

  Outcome eliminate(SchurFactorization factorization) override {
    factorization_ = factorization;
    const bool symmetric = factorization != SchurFactorization::lu;
    if (symmetric) {
      Outcome outcome = find_symmetry();
      if (!outcome.ok()) return outcome;
    }
    solver_.emplace(make_solver<T>(to_string(factorization), device_));
    A_II_ = block(interior_, interior_);
    A_IB_ = block(interior_, interface_);
    A_BI_ = block(interface_, interior_);
    const Report setup = solver_->setup(A_II_, {.cancel = options_.cancel});
    if (!setup.ready()) return failed(setup);
    Outcome outcome = form_complement(symmetric);
    if (!outcome.ok()) return outcome;
    outcome.reciprocal_condition = setup.reciprocal_condition;
    outcome.rank = interior_.size();
    read_inertia(setup);
    return outcome;
  }

  [[nodiscard]] const Dense<T>& complement() const override { return complement_; }
  [[nodiscard]] std::optional<Inertia> inertia() const override { return inertia_; }
  [[nodiscard]] std::size_t bytes() const override {
    return complement_.bytes() + A_II_.bytes() + A_IB_.bytes() + A_BI_.bytes() +
           (solver_ ? solver_->bytes() : 0);
  }

  void reduce(Equations equations, DenseView<const T> B, DenseView<T> G) const override {
    gather_rows(B, interface_, G);
    if (interior_.size() == 0 || interface_.size() == 0) return;
    const Dense<T> x = solve_interior(equations, rows_of(B, interior_));
    gemm<T>(T{-1}, equations == Equations::plain ? A_BI_.view() : transposed(A_IB_.view()), x.view(), T{1},
            G);
  }

  void expand(Equations equations, DenseView<const T> X_B, DenseView<const T> B,
              DenseView<T> X) const override {
    on_target<targets_of<T>>(device_,
                             [&]<class Target>() { scatter_rows_on<Target, T>(X_B, interface_.data(), X); });
    if (interior_.size() == 0) return;
    const bool has_B = B.data() != nullptr;
    Dense<T> rhs = has_B ? rows_of(B, interior_) : Dense<T>(device_, interior_.size(), X.columns());
    if (interface_.size() > 0) {
      gemm<T>(T{-1}, equations == Equations::plain ? A_IB_.view() : transposed(A_BI_.view()), X_B,
              has_B ? T{1} : T{0}, rhs.view());
    } else if (!has_B) {
      scal<T>(T{0}, rhs.view());
    }
    const Dense<T> x = solve_interior(equations, std::move(rhs));
    on_target<targets_of<T>>(
        device_, [&]<class Target>() { scatter_rows_on<Target, T>(x.view(), interior_.data(), X); });
  }

 private:
  [[nodiscard]] Dense<T> block(const Array<std::int32_t>& rows, const Array<std::int32_t>& columns) const {
    Dense<T> result(device_, rows.size(), columns.size());
    on_target<targets_of<T>>(device_, [&]<class Target>() {
      gather_on<Target, T>(A_, rows.data(), columns.data(), result.view());
    });
    return result;
  }
  void gather_rows(DenseView<const T> from, const Array<std::int32_t>& rows, DenseView<T> to) const {
    on_target<targets_of<T>>(device_,
                             [&]<class Target>() { gather_on<Target, T>(from, rows.data(), nullptr, to); });
  }
  [[nodiscard]] Dense<T> rows_of(DenseView<const T> B, const Array<std::int32_t>& rows) const {
    Dense<T> result(device_, rows.size(), B.columns());
    gather_rows(B, rows, result.view());
    return result;
  }

  /// A_II^-1 B_I, or A_II^-T B_I. Throws Error where that fails after a successful set-up.
  [[nodiscard]] Dense<T> solve_interior(Equations equations, Dense<T> B) const {
    if (B.columns() == 0) return B;
    Dense<T> x(device_, B.rows(), B.columns());
    const Operation operation = equations == Equations::transposed ? Operation::transpose : Operation::none;
    const Report report = solver_->solve(B, x, {.operation = operation});
    if (!report.solved()) throw Error("the interior was not solved: " + report.message);
    return x;
  }

  /// The outcome of an A without the symmetry that the factorisation needs.
  Outcome find_symmetry() {
    if constexpr (is_complex<T>) {
      const HostCopy<T> copy{MatrixRef<T>(A_)};
      const MirrorComparison found = compare_with_mirror(copy.matrix());
      is_hermitian_ = !found.not_hermitian;
      return unsuitable_symmetry(factorization_, found);
    } else {
      const Asymmetry found =
          on_target(device_, [&]<class Target>() { return find_asymmetry_on<Target, T>(A_); });
      return found.row >= 0 ? asymmetric(factorization_, found.row, found.column) : Outcome{};
    }
  }

  Outcome form_complement(bool symmetric) {
    complement_ = block(interface_, interface_);
    if (interface_.size() == 0 || interior_.size() == 0) return {};
    Dense<T> x(device_, interior_.size(), interface_.size());
    const Report report = solver_->solve(A_IB_, x, {.cancel = options_.cancel});
    if (!report.solved()) return failed(report);
    gemm<T>(T{-1}, A_BI_.view(), x.view(), T{1}, complement_.view());
    if (symmetric) {
      on_target<targets_of<T>>(
          device_, [&]<class Target>() { mirror_on<Target, T>(complement_.view(), is_hermitian_); });
    }
    return {};
  }

  /// The outcome of the dense factorisation, with rows in the numbering of A.
  [[nodiscard]] Outcome failed(const Report& report) const {
    Outcome outcome{report.status, "in the interior block of A: " + report.message};
    outcome.rank = report.rank;
    outcome.reciprocal_condition = report.reciprocal_condition;
    if (report.row && *report.row < interior_.size()) {
      outcome.row = partition_.interior[static_cast<std::size_t>(*report.row)];
      outcome.message += "; row " + std::to_string(*report.row) + " of the interior is row " +
                         std::to_string(*outcome.row) + " of A";
    }
    return outcome;
  }

  void read_inertia(const Report& setup) {
    if (factorization_ == SchurFactorization::cholesky) inertia_ = Inertia{interior_.size(), 0, 0};
    if (factorization_ != SchurFactorization::ldlt) return;
    const auto count = [&](std::string_view name) {
      const Statistic* found = setup.find_statistic(name);
      return found == nullptr ? std::int64_t{-1} : std::get<std::int64_t>(found->value);
    };
    const std::int64_t negative = count("negative_eigenvalues");
    if (negative >= 0) inertia_ = Inertia{interior_.size() - negative, negative, 0};
  }

  DenseView<const T> A_;
  Device device_;
  const SchurOptions& options_;
  const InterfacePartition& partition_;
  Array<std::int32_t> interior_, interface_;
  SchurFactorization factorization_ = SchurFactorization::lu;
  bool is_hermitian_ = false;  // of a complex A
  Dense<T> A_II_, A_IB_, A_BI_, complement_;
  std::optional<Solver<T>> solver_;  // of A_II
  std::optional<Inertia> inertia_;
};

}  // namespace

template <class T>
std::unique_ptr<InteriorElimination<T>> dense_elimination(DenseView<const T> A,
                                                          const InterfacePartition& partition,
                                                          const Device& device, const SchurOptions& options) {
  return std::make_unique<DenseInteriorElimination<T>>(A, partition, device, options);
}

#define ECHELON_INSTANTIATE(T)                                        \
  template std::unique_ptr<InteriorElimination<T>> dense_elimination( \
      DenseView<const T>, const InterfacePartition&, const Device&, const SchurOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::schur
