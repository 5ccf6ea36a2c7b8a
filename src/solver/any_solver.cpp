// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/solver/any_solver.hpp>

#include <fmt/format.h>

#include <type_traits>

namespace echelon {

namespace {

template <class T>
constexpr Scalar scalar_named = is_complex<T>              ? Scalar::complex128
                                : std::is_same_v<T, float> ? Scalar::float32
                                                           : Scalar::float64;

/// The alternative of an operand that has the scalar type of the solver.
template <class T, template <class> class Object>
const Object<T>& operand_of(const OfAnyScalar<Object>& operand, const char* name) {
  if (const auto* const held = std::get_if<Object<T>>(&operand)) return *held;
  throw Error(fmt::format("{} is of type {}, the solver of type {}: convert one of them", name,
                          to_string(static_cast<Scalar>(operand.index())), to_string(scalar_named<T>)));
}

template <class T>
T scalar_type(const Solver<T>&);
template <class S>
using ScalarOf = decltype(scalar_type(std::declval<const S&>()));

}  // namespace

AnySolver::AnySolver(std::string_view method, const Device& device, Scalar scalar, const Options& options)
    : solver_(with_scalar(
          scalar, [&]<class T>() { return OfAnyScalar<Solver>(make_solver<T>(method, device, options)); })) {}

Report AnySolver::analyze(const OfAnyScalar<MatrixRef>& A, const Control& control) {
  return std::visit(
      [&]<class S>(S& solver) { return solver.analyze(operand_of<ScalarOf<S>, MatrixRef>(A, "A"), control); },
      solver_);
}

Report AnySolver::setup(const OfAnyScalar<MatrixRef>& A, const Control& control) {
  return std::visit(
      [&]<class S>(S& solver) { return solver.setup(operand_of<ScalarOf<S>, MatrixRef>(A, "A"), control); },
      solver_);
}

Report AnySolver::update_values(const OfAnyScalar<MatrixRef>& A, const Control& control) {
  return std::visit(
      [&]<class S>(S& solver) {
        return solver.update_values(operand_of<ScalarOf<S>, MatrixRef>(A, "A"), control);
      },
      solver_);
}

Report AnySolver::update_values(const OfAnyScalar<ConstSpan>& values, const Control& control) {
  return std::visit(
      [&]<class S>(S& solver) {
        return solver.update_values(operand_of<ScalarOf<S>, ConstSpan>(values, "the array of values"),
                                    control);
      },
      solver_);
}

void AnySolver::set_preconditioner(const OfAnyScalar<Preconditioner>& preconditioner) {
  std::visit(
      [&]<class S>(S& solver) {
        solver.set_preconditioner(
            operand_of<ScalarOf<S>, Preconditioner>(preconditioner, "the preconditioner"));
      },
      solver_);
}

void AnySolver::set_preconditioner(const AnySolver& solver) {
  set_preconditioner(std::visit(
      []<class S>(const S& of) { return OfAnyScalar<Preconditioner>(Preconditioner<ScalarOf<S>>(of)); },
      solver.get()));
}

Report AnySolver::solve(const OfAnyScalar<ConstDenseView>& B, const OfAnyScalar<DenseView>& X,
                        const Control& control) const {
  return std::visit(
      [&]<class S>(const S& solver) {
        using T = ScalarOf<S>;
        return solver.solve(operand_of<T, ConstDenseView>(B, "B"), operand_of<T, DenseView>(X, "X"), control);
      },
      solver_);
}

Determinant AnySolver::determinant() const {
  return std::visit([](const auto& solver) { return solver.determinant(); }, solver_);
}

Inertia AnySolver::inertia() const {
  return std::visit([](const auto& solver) { return solver.inertia(); }, solver_);
}

OfAnyScalar<MatrixFactors> AnySolver::factors() const {
  return std::visit([](const auto& solver) { return OfAnyScalar<MatrixFactors>(solver.factors()); }, solver_);
}

std::size_t AnySolver::bytes() const {
  return std::visit([](const auto& solver) { return solver.bytes(); }, solver_);
}

std::string AnySolver::describe() const {
  return std::visit([](const auto& solver) { return solver.describe(); }, solver_);
}

const Device& AnySolver::device() const {
  return std::visit([](const auto& solver) -> const Device& { return solver.device(); }, solver_);
}

}  // namespace echelon
