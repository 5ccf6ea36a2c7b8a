// SPDX-License-Identifier: BSD-3-Clause
#include "c/handles.hpp"
#include "options/parse.hpp"

#include <echelon/solve.hpp>
#include <echelon/solver/factor_matrices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace echelon::c {

namespace {

/// Sets an option that every solver has. False for another name.
bool set_control(Control& control, const std::string& name, const OptionValue& value) {
  if (name == "rtol") {
    assign(name, value, {.low = 0, .high = 1}, {}, control.rtol);
  } else if (name == "atol") {
    assign(name, value, {.low = 0}, {}, control.atol);
  } else if (name == "max_iterations") {
    std::int64_t limit = 0;
    assign(name, value, {.low = 0}, {}, limit);
    control.max_iterations = limit;
  } else if (name == "least_squares") {
    assign(name, value, {}, {}, control.least_squares);
  } else if (name == "measure_error") {
    assign(name, value, {}, {}, control.measure_error);
  } else {
    return false;
  }
  return true;
}

std::int32_t set_option(echelon_solver solver, const char* option, const auto& make_value) noexcept {
  return call([&] {
    SolverSettings& settings = object(solver, "solver").settings;
    require_pointer(option, "option");
    const OptionValue value = make_value();
    if (set_control(settings.control, option, value)) return ECHELON_SOLVED;
    Options options = settings.options;
    options.set(option, value);
    find_method(settings.method).check_options(settings.device, options);
    settings.options = std::move(options);
    ++settings.changes;
    return ECHELON_SOLVED;
  });
}

/// Throws Refusal unless the method takes complex matrices on the device.
void require_complex(const std::string& name, const Device& device) {
  const Method& method = find_method(name);
  if (!method.complex) throw Refusal(ECHELON_NOT_BUILT, "method '" + name + "' is for real matrices");
  if (!method.takes_complex_on(device)) {
    throw Refusal(ECHELON_NOT_BUILT,
                  "method '" + name + "' takes complex matrices on the host only, not on " + device.name());
  }
}

/// View of right-hand sides or solutions in the caller's array.
template <class T, class Pointer>
DenseView<T> vectors(const char* name, Pointer data, std::int64_t rows, std::int64_t columns,
                     std::int64_t leading, const Device& device, Layout layout) {
  if (columns < 0) throw Refusal(ECHELON_BAD_ARGUMENT, "columns is " + std::to_string(columns));
  const std::int64_t length = layout == Layout::column_major ? rows : columns;
  if (leading < length) {
    throw Refusal(ECHELON_DIMENSION_MISMATCH, "leading_" + std::string(name) + " is " +
                                                  std::to_string(leading) + ", but " + name + " has " +
                                                  std::to_string(length) +
                                                  (layout == Layout::column_major ? " rows" : " columns"));
  }
  if (rows > 0 && columns > 0) require_pointer(data, name);
  return {static_cast<T*>(data), rows, columns, leading, device, layout};
}

Operation operation_of(std::int32_t flags) {
  constexpr std::int32_t known = ECHELON_TRANSPOSED | ECHELON_ADJOINT | ECHELON_FROM_X | ECHELON_ROW_MAJOR;
  if ((flags & ~known) != 0)
    throw Refusal(ECHELON_BAD_ARGUMENT, "flags has bits without a meaning: " + std::to_string(flags));
  if ((flags & ECHELON_ADJOINT) != 0) return Operation::adjoint;
  return (flags & ECHELON_TRANSPOSED) != 0 ? Operation::transpose : Operation::none;
}

/// A phase of a solver that refers to A: `phase(held, A, control)`.
template <class Phase>
std::int32_t run_phase(echelon_solver solver, echelon_matrix A, echelon_report* report,
                       const Phase& phase) noexcept {
  return call([&] {
    if (report != nullptr) *report = nullptr;
    auto& made = object(solver, "solver");
    return std::visit(
        [&]<class T>(const std::shared_ptr<HeldSolver<T>>& held) {
          const std::shared_ptr<HeldMatrix<T>> matrix = matrix_of<T>(A);
          RunningCall running(made.settings);
          return give_report(report, phase(*held, matrix, running.control));
        },
        made.held);
  });
}

/// Options of a solve in one call: words NAME=VALUE.
SolveOptions solve_options(const std::string& words) {
  SolveOptions options;
  Control control;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw BadOption(word, "an option is a word NAME=VALUE, such as method=cg");
    const std::string name = word.substr(0, equals);
    const OptionValue value(word.substr(equals + 1));
    if (name == "method") {
      options.method = word.substr(equals + 1);
    } else if (name == "certify") {
      assign(name, value, {}, {}, options.certify);
    } else if (!set_control(control, name, value)) {
      options.parameters.set(name, value);
    }
  }
  options.rtol = control.rtol;
  options.atol = control.atol;
  options.max_iterations = control.max_iterations;
  options.least_squares = control.least_squares;
  options.measure_error = control.measure_error;
  return options;
}

/// A handle's object with a copy of the matrix; null for none.
std::unique_ptr<echelon_matrix_object> matrix_object(const echelon::OfAnyScalar<Matrix>* factor) {
  if (factor == nullptr) return nullptr;
  auto made = std::make_unique<echelon_matrix_object>();
  std::visit(
      [&]<class T>(const Matrix<T>& matrix) {
        Matrix<T> copy = std::visit([](const auto& form) { return Matrix<T>(form.to(Device())); }, matrix);
        made->held = std::make_shared<HeldMatrix<T>>(std::move(copy));
      },
      *factor);
  return made;
}

}  // namespace

}  // namespace echelon::c

namespace c = echelon::c;

std::int32_t echelon_create(const char* method, std::int32_t scalar, const char* device,
                            echelon_solver* solver) {
  return c::call([&] {
    c::require_pointer(solver, "the result solver");
    *solver = nullptr;
    c::require_pointer(method, "method");
    auto made = std::make_unique<echelon_solver_object>();
    made->settings.method = method;
    made->settings.device = c::device_of(device);
    echelon::require(made->settings.device);
    echelon::find_method(method).check_options(made->settings.device, {});
    c::with_scalar(scalar, [&]<class T>() {
      if (echelon::is_complex<T>) c::require_complex(method, made->settings.device);
      made->held = std::make_shared<c::HeldSolver<T>>();
    });
    *solver = made.release();
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_set(echelon_solver solver, const char* option, const char* text) {
  return c::set_option(solver, option, [&] {
    c::require_pointer(text, "text");
    return echelon::OptionValue(text);
  });
}
std::int32_t echelon_set_integer(echelon_solver solver, const char* option, std::int64_t value) {
  return c::set_option(solver, option, [&] { return echelon::OptionValue(value); });
}
std::int32_t echelon_set_real(echelon_solver solver, const char* option, double value) {
  return c::set_option(solver, option, [&] { return echelon::OptionValue(value); });
}

std::int32_t echelon_preconditioner(echelon_solver solver, echelon_solver preconditioner) {
  return c::call([&] {
    auto& made = c::object(solver, "solver");
    std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldSolver<T>>& held) {
          if (preconditioner == nullptr) {
            held->set_preconditioner(nullptr);
          } else {
            const auto* const inner = std::get_if<std::shared_ptr<c::HeldSolver<T>>>(
                &c::object(preconditioner, "preconditioner").held);
            if (inner == nullptr)
              throw c::Refusal(ECHELON_BAD_ARGUMENT,
                               "the preconditioner has another scalar type than the solver");
            if (*inner == held) throw c::Refusal(ECHELON_BAD_ARGUMENT, "a solver cannot precondition itself");
            held->set_preconditioner(*inner);
          }
        },
        made.held);
    ++made.settings.changes;
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_preconditioner_product(echelon_solver solver, echelon_product product, void* user) {
  return c::call([&] {
    auto& made = c::object(solver, "solver");
    std::visit([&](const auto& held) { held->set_preconditioner(product, user); }, made.held);
    ++made.settings.changes;
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_near_null_space(echelon_solver solver, std::int64_t rows, std::int64_t columns,
                                     const double* values, std::int64_t leading) {
  return c::call([&] {
    auto& settings = c::object(solver, "solver").settings;
    if (rows < 0) throw c::Refusal(ECHELON_BAD_ARGUMENT, "rows is " + std::to_string(rows));
    const auto given = c::vectors<const double>("vectors", values, rows, columns, leading, {},
                                                echelon::Layout::column_major);
    echelon::Dense<double> copy({}, rows, columns);
    for (std::int64_t j = 0; j < columns; ++j) std::copy_n(given.column(j), rows, copy.data() + j * rows);
    settings.near_null_space = std::move(copy);
    ++settings.changes;
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_on_progress(echelon_solver solver, echelon_progress progress, void* user) {
  return c::call([&] {
    auto& callbacks = c::object(solver, "solver").settings.callbacks;
    callbacks.progress = progress;
    callbacks.progress_user = user;
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_on_iterate(echelon_solver solver, echelon_iterate iterate, void* user) {
  return c::call([&] {
    auto& callbacks = c::object(solver, "solver").settings.callbacks;
    callbacks.iterate = iterate;
    callbacks.iterate_user = user;
    return ECHELON_SOLVED;
  });
}

void echelon_cancel(echelon_solver solver) {
  if (solver != nullptr && solver->tag.valid()) solver->settings.cancellation.request();
}

std::int32_t echelon_analyze(echelon_solver solver, echelon_matrix A, echelon_report* report) {
  return c::run_phase(solver, A, report,
                      [&](auto& held, const auto& matrix, const echelon::Control& control) {
                        return held.analyze(solver->settings, matrix, control);
                      });
}

std::int32_t echelon_setup(echelon_solver solver, echelon_matrix A, echelon_report* report) {
  return c::run_phase(solver, A, report,
                      [&](auto& held, const auto& matrix, const echelon::Control& control) {
                        return held.setup(solver->settings, matrix, control);
                      });
}

std::int32_t echelon_update(echelon_solver solver, echelon_matrix A, echelon_report* report) {
  return c::run_phase(solver, A, report, [](auto& held, const auto& matrix, const echelon::Control& control) {
    return held.update(matrix, control);
  });
}

std::int32_t echelon_solve(echelon_solver solver, std::int64_t columns, const void* b, std::int64_t leading_b,
                           void* x, std::int64_t leading_x, std::int32_t flags, echelon_report* report) {
  return c::call([&] {
    if (report != nullptr) *report = nullptr;
    auto& made = c::object(solver, "solver");
    const echelon::Operation operation = c::operation_of(flags);
    const auto layout =
        (flags & ECHELON_ROW_MAJOR) != 0 ? echelon::Layout::row_major : echelon::Layout::column_major;
    return std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldSolver<T>>& held) {
          const auto [b_rows, x_rows] = held->rows(operation);
          const echelon::Device& device = made.settings.device;
          const auto B = c::vectors<const T>("b", b, b_rows, columns, leading_b, device, layout);
          const auto X = c::vectors<T>("x", x, x_rows, columns, leading_x, device, layout);
          c::RunningCall running(made.settings);
          running.control.operation = operation;
          running.control.use_initial_guess = (flags & ECHELON_FROM_X) != 0;
          return c::give_report(report, held->solve(B, X, running.control));
        },
        made.held);
  });
}

std::int32_t echelon_apply(echelon_solver solver, const void* r, void* z) {
  return c::call([&] {
    auto& made = c::object(solver, "solver");
    c::require_pointer(r, "r");
    c::require_pointer(z, "z");
    std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldSolver<T>>& held) {
          held->apply(static_cast<const T*>(r), static_cast<T*>(z));
        },
        made.held);
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_factors(echelon_solver solver, const char* names, echelon_matrix* factors) {
  return c::call([&] {
    auto& made = c::object(solver, "solver");
    c::require_pointer(names, "names");
    const std::string_view letters(names);
    c::check_capacity(std::ssize(letters), factors, "factors");
    std::fill_n(factors, letters.size(), nullptr);
    const auto unknown = letters.find_first_not_of("PRCQLUDF");
    if (unknown != std::string_view::npos) {
      throw c::Refusal(ECHELON_BAD_ARGUMENT, "there is no factor '" + std::string(1, letters[unknown]) +
                                                 "': the letters are P, R, C, Q, L, U, D and F");
    }
    const echelon::FactorMatrices all =
        std::visit([](const auto& held) { return echelon::factor_matrices(held->factors()); }, made.held);
    std::vector<std::unique_ptr<echelon_matrix_object>> copies;
    for (const char letter : letters)
      copies.push_back(c::matrix_object(all.find(std::string_view(&letter, 1))));
    for (std::size_t k = 0; k < copies.size(); ++k) factors[k] = copies[k].release();
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_determinant(echelon_solver solver, double* sign, double* imaginary, double* logarithm) {
  return c::call([&] {
    const echelon::Determinant found =
        std::visit([](const auto& held) { return held->determinant(); }, c::object(solver, "solver").held);
    c::store(sign, found.sign * found.phase.real());
    c::store(imaginary, found.sign * found.phase.imag());
    c::store(logarithm, found.log_abs());
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_inertia(echelon_solver solver, std::int64_t* positive, std::int64_t* negative,
                             std::int64_t* zero) {
  return c::call([&] {
    const echelon::Inertia found =
        std::visit([](const auto& held) { return held->inertia(); }, c::object(solver, "solver").held);
    c::store(positive, found.positive);
    c::store(negative, found.negative);
    c::store(zero, found.zero);
    return ECHELON_SOLVED;
  });
}

std::int64_t echelon_bytes(echelon_solver solver) {
  std::int64_t bytes = 0;
  const std::int32_t code = c::call([&] {
    bytes = std::visit([](const auto& held) { return static_cast<std::int64_t>(held->bytes()); },
                       c::object(solver, "solver").held);
    return ECHELON_SOLVED;
  });
  return code == ECHELON_SOLVED ? bytes : code;
}

void echelon_free(echelon_solver solver) {
  c::free_object(solver);
}

std::int32_t echelon_solve_once(echelon_matrix A, std::int64_t columns, const void* b, std::int64_t leading_b,
                                void* x, std::int64_t leading_x, const char* options,
                                echelon_report* report) {
  return c::call([&] {
    if (report != nullptr) *report = nullptr;
    const echelon::SolveOptions asked = c::solve_options(c::text_or_empty(options));
    return std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldMatrix<T>>& held) {
          const echelon::MatrixRef<T> matrix = held->ref();
          constexpr auto layout = echelon::Layout::column_major;
          const auto B =
              c::vectors<const T>("b", b, matrix.rows(), columns, leading_b, matrix.device(), layout);
          const auto X = c::vectors<T>("x", x, matrix.columns(), columns, leading_x, matrix.device(), layout);
          return c::give_report(report, echelon::solve_into<T>(matrix, B, X, asked));
        },
        c::object(A, "A").held);
  });
}
