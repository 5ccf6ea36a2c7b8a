// SPDX-License-Identifier: BSD-3-Clause
#include "claims/answer.hpp"

#include <echelon/error.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <ostream>
#include <stop_token>

namespace echelon::claims {

namespace {

template <class T>
Matrix<T> stored_matrix(const LinearSystem& system) {
  const auto m = static_cast<std::int64_t>(system.A.rows());
  const auto n = static_cast<std::int64_t>(system.A.columns());
  Dense<T> dense(Device(), m, n);
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto value = static_cast<T>(system.A(static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
      dense(i, j) = value;
      if (value != 0) triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
    }
  }
  if (system.sparse) return Csr<T>::from_triplets(m, n, triplets);
  return dense;
}

/// Options of a solve that ends after a time limit, as far as the method lets itself be stopped.
SolveOptions solve_options(const Arguments& arguments, const Method* method, const std::string& device,
                           std::stop_source& stop) {
  SolveOptions options;
  if (method != nullptr) options.method = method->name;
  options.device = Device::parse(device);
  // A direct method would warn that it ignores the number.
  if (method == nullptr || method->kind == MethodKind::iterative) {
    options.max_iterations = arguments.max_iterations;
  }
  options.cancel = stop.get_token();
  options.on_progress = [&stop, start = std::chrono::steady_clock::now(),
                         limit = arguments.time_limit](const Progress&) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (elapsed.count() > limit) stop.request_stop();
  };
  return options;
}

template <class T>
Answer answer_of(const Matrix<T>& A, const std::vector<T>& b, const std::string& method,
                 const SolveOptions& options) {
  Answer answer;
  answer.method = method;
  const auto start = std::chrono::steady_clock::now();
  try {
    Solution<T> solution = solve<T>(MatrixRef<T>(A), b, options);
    answer.report = std::move(solution.report);
    for (const T element : solution.x.to_vector()) answer.x.push_back(static_cast<double>(element));
  } catch (const CudaError& error) {
    answer.failure = error.what();
  } catch (const OpenClError& error) {
    answer.failure = error.what();
  } catch (const OutOfMemory& error) {
    answer.failure = error.what();
  } catch (const Error& error) {
    answer.refused = true;
    answer.report.message = error.what();
  } catch (const std::exception& error) {
    answer.failure = fmt::format("exception: {}", error.what());
  }
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

template <class T>
void run_solves(const Arguments& arguments, const LinearSystem& system, Position position,
                const SolveEvents& events, std::ostream* details) {
  const Facts facts = find_facts(system);
  if (details != nullptr) *details << describe(system, facts) << '\n';
  const Matrix<T> A = stored_matrix<T>(system);
  const std::vector<T> b(system.b.begin(), system.b.end());
  const std::size_t solves = arguments.devices.size() * arguments.methods.size();
  for (; position.solve < solves; ++position.solve) {
    const std::string& device = arguments.devices[position.solve / arguments.methods.size()];
    const std::string& name = arguments.methods[position.solve % arguments.methods.size()];
    const Method* method = name == "auto" ? nullptr : &find_method(name);
    if (method != nullptr && !method->runs_on(Device::parse(device))) continue;
    events.before(position, fmt::format("system {} of seed {} ({}), {}, {}, {}", system.index, arguments.seed,
                                        system.kind, name, system.single ? "float" : "double", device));
    std::stop_source stop;
    const Answer answer = answer_of<T>(A, b, name, solve_options(arguments, method, device, stop));
    const Finding finding = check(system, facts, answer, method);
    if (details != nullptr) *details << "  " << device << ' ' << describe(answer, finding) << '\n';
    events.after(record_of(system, facts, answer, finding, device));
  }
}

}  // namespace

void run_task(const Arguments& arguments, std::size_t task, std::size_t first_solve,
              const SolveEvents& events, std::ostream* details) {
  const std::size_t precisions = arguments.precisions.size();
  const std::int64_t index = system_numbers(arguments)[task / precisions];
  const bool single = arguments.precisions[task % precisions] == "float";
  const LinearSystem system = make_system(arguments.seed, index, single, arguments.largest);
  if (single) {
    run_solves<float>(arguments, system, {task, first_solve}, events, details);
  } else {
    run_solves<double>(arguments, system, {task, first_solve}, events, details);
  }
}

}  // namespace echelon::claims
