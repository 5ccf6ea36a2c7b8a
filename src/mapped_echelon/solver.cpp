// SPDX-License-Identifier: BSD-3-Clause
// Elimination to mapped echelon form as a Solver.
#include "exact/integers.hpp"
#include "exact/prime.hpp"
#include "mapped_echelon/system.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/mapped_echelon.hpp>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace echelon {

namespace {

using namespace mapped;

template <class B, class T>
class MappedEchelonImplementation final : public SolverImplementation<T> {
  using RealSystem = MappedSystem<B, RealField<T>, T>;
  using PrimeSystem = MappedSystem<B, PrimeField, T>;

 public:
  MappedEchelonImplementation(const Device& device, const MappedEchelonOptions& options)
      : SolverImplementation<T>(device), system_(make_system(device, options)) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }

  /// Eliminates A. If the rank is not full, each right-hand side gets its own status.
  Outcome setup(const MatrixRef<T>& A) override {
    copy_ = Csr<T>();
    if (!A.is_sparse()) copy_ = to_csr(A);
    const Csr<T>& csr = A.is_sparse() ? *A.csr() : copy_;
    if (const auto* modulo = std::get_if<PrimeSystem>(&system_)) modulo->require_residues_of(csr);
    return std::visit([&](auto& system) { return factor(system, csr); }, system_);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::visit(
        [](const auto& system) -> std::unique_ptr<Workspace> { return system.make_workspace(); }, system_);
  }
  [[nodiscard]] double column_spread() const override {
    return std::visit([](const auto& system) { return system.column_spread(); }, system_);
  }
  [[nodiscard]] std::size_t bytes() const override {
    return copy_.bytes() + std::visit([](const auto& system) { return system.bytes(); }, system_);
  }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    std::visit(
        [&](const auto& system) {
          auto& own = static_cast<typename std::remove_cvref_t<decltype(system)>::Workspace&>(workspace);
          for (Job& job : jobs) system.solve(own, rhs.column(job.number), X.column(job.number), job);
        },
        system_);
  }

 private:
  static std::variant<RealSystem, PrimeSystem> make_system(const Device& device,
                                                           const MappedEchelonOptions& options) {
    const std::optional<PrimeField> field = parse_field(options.field);
    if (!field) {
      return std::variant<RealSystem, PrimeSystem>(
          std::in_place_type<RealSystem>, device,
          RealField<T>{options.tolerance.value_or(default_tolerance<T>)}, options);
    }
    constexpr std::int64_t largest_integer = std::int64_t{1} << std::numeric_limits<T>::digits;
    if (field->prime > largest_integer) {
      throw BadOption("field", "single precision holds residues up to 2^24: take a smaller prime, or double");
    }
    return std::variant<RealSystem, PrimeSystem>(std::in_place_type<PrimeSystem>, device, *field, options);
  }

  template <class AnySystem>
  Outcome factor(AnySystem& system, const Csr<T>& A) {
    Outcome outcome = system.factor(A, this->control());
    if (!outcome.ok()) return outcome;
    outcome.rank = system.rank();
    outcome.row_of_unknown = std::make_shared<const std::vector<std::int64_t>>(system.row_of_unknown());
    if (system.is_proven()) outcome.certainty = Certainty::proven;
    outcome.statistics = system.statistics();
    if (system.rank() < A.columns()) {
      outcome.status = A.rows() == A.columns() ? Status::singular : Status::underdetermined;
      outcome.message = system.rank_description();
    } else if (system.is_doubtful()) {
      outcome.warnings.push_back(system.rank_description());
    }
    return outcome;
  }

  Csr<T> copy_;  // of a dense A
  std::variant<RealSystem, PrimeSystem> system_;
};

}  // namespace

template <>
struct MethodWith<MappedEchelonOptions> {
  template <class B, class T>
  using Type = MappedEchelonImplementation<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(
    const Device&, const MappedEchelonOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const MappedEchelonOptions&);

}  // namespace echelon
