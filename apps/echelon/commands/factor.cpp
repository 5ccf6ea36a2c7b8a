// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "commands/elimination.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>
#include <echelon/io/files.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/factor_matrices.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

struct FactorRequest : EliminationRequest {
  std::string method;
  Options parameters;
};

/// Factors of A, or why there are none.
struct FactorResult {
  Report report;
  std::optional<FactorMatrices> factors;
  std::optional<Determinant> determinant;
};

/// Checks the method and the folder before the file is read.
void check_request(const FactorRequest& request) {
  static_cast<void>(scalar_of(request.precision));
  require(request.device);
  if (!request.method.empty()) {
    const Method& method = find_method(request.method);
    if (method.kind != MethodKind::direct)
      throw BadOption("--method", fmt::format("{} has no factors: name a direct method", request.method));
    method.check_options(request.device, request.parameters);
  }
  std::error_code error;
  if (request.output == "-") throw BadOption("--output", "factors are several files: name a folder for them");
  if (std::filesystem::exists(request.output, error) && !std::filesystem::is_directory(request.output, error))
    throw BadOption("--output", fmt::format("'{}' is a file: name a folder for the factors", request.output));
}

std::string file_of(const FactorRequest& request, const FactorMatrix& factor) {
  return (std::filesystem::path(request.output) / (factor.name + ".mtx")).string();
}

/// Writes each matrix of the equation in a file of its name.
void write_factors(const FactorRequest& request, const FactorMatrices& factors) {
  if (request.output.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(request.output, error);
  if (error) throw WriteError(request.output, error.message());
  for (const FactorMatrix& factor : factors.matrices) {
    write_file(file_of(request, factor), [&](const std::string& file) {
      std::visit([&]<class T>(const Matrix<T>& matrix) { write_matrix<T>(file, MatrixRef<T>(matrix)); },
                 factor.matrix);
    });
  }
}

std::int64_t nonzeros_of(const FactorMatrix& factor) {
  return std::visit([]<class T>(const Matrix<T>& matrix) { return MatrixRef<T>(matrix).nonzeros(); },
                    factor.matrix);
}

Json factor_json(const FactorRequest& request, const FileInfo& info, const FactorResult& result,
                 bool complex) {
  Json json = elimination_json(request.matrix, request.precision, info, result.report);
  json["equation"] = result.factors ? Json(result.factors->equation) : Json(nullptr);
  json["determinant"] = determinant_json(result.determinant, complex);
  json["factors"] = Json::object();
  if (!result.factors) return json;
  for (const FactorMatrix& factor : result.factors->matrices) {
    json["factors"][factor.name] = {
        {"elements", nonzeros_of(factor)},
        {"file", request.output.empty() ? Json(nullptr) : Json(file_of(request, factor))}};
  }
  return json;
}

std::string factor_text(const FactorRequest& request, const FileInfo& info, const FactorResult& result) {
  std::vector<Row> rows = elimination_rows(request, info, result.report);
  rows.emplace_back("method", result.report.method);
  if (!result.factors) {
    return paint("Not factored:", Colour::red, report_stream()) + " " +
           std::string(to_string(result.report.status)) + "\n" + aligned(rows);
  }
  if (result.determinant) rows.emplace_back("determinant", determinant_text(*result.determinant));
  for (const FactorMatrix& factor : result.factors->matrices) {
    std::string text = fmt::format("{} elements", grouped(nonzeros_of(factor)));
    if (!request.output.empty()) text += ", in " + file_of(request, factor);
    rows.emplace_back(factor.name, std::move(text));
  }
  return paint("Factored:", Colour::green, report_stream()) + " " + result.factors->equation + "\n" +
         aligned(rows);
}

template <class T>
FactorResult factor_matrix(const FactorRequest& request, const Matrix<T>& A) {
  const MatrixRef<T> ref(A);
  const std::string method = !request.method.empty() ? request.method : ref.is_sparse() ? "sparse-lu" : "lu";
  const Interrupt interrupt(request.quiet);
  Solver<T> solver = make_solver<T>(method, request.device, request.parameters);
  FactorResult result{
      .report = solver.setup(ref, {.cancel = interrupt.token()}), .factors = {}, .determinant = {}};
  result.report.method = solver.describe();
  if (!result.report.ready()) return result;
  try {
    result.factors = factor_matrices(solver.factors());
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {  // the method has none, or A has a lower rank than n
    throw BadOption("--method", error.what());
  }
  result.determinant = solver.determinant();
  return result;
}

template <class T>
ExitCode factor_and_report(const FactorRequest& request, const MatrixFile<T>& file, ProgressLine& progress) {
  const Matrix<T> A =
      std::visit([&](const auto& held) { return Matrix<T>(held.to(request.device)); }, file.matrix);
  progress.announce("factoring");
  const FactorResult result = factor_matrix(request, A);
  progress.clear();
  if (result.factors) write_factors(request, *result.factors);
  if (request.json) {
    print_json(factor_json(request, file.info, result, is_complex<T>));
  } else {
    print_report(factor_text(request, file.info, result));
  }
  return exit_code(result.report.status);
}

}  // namespace

ExitCode run_factor(const Arguments& arguments) {
  FactorRequest request;
  CLI::App app("Factors a square matrix, and writes the factors.", "echelon factor");
  set_style(app);
  add_common_options(app, request);
  app.add_option("--method", request.method,
                 "a direct method that computes L U, L L^T or L D L^T, of a complex A also L L^H or L D L^H; "
                 "default sparse-lu for a sparse A, lu "
                 "for a dense one")
      ->type_name("METHOD");
  add_parameter_option(app, request.parameters,
                       "an option of the method, see 'echelon --help solver:NAME'; may be repeated");
  add_file_option(app, "-o,--output", request.output,
                  "folder for the factors in Matrix Market files, such as L.mtx, U.mtx, and P.mtx for the "
                  "permutation of rows")
      ->type_name("FOLDER");
  app.footer("Example: echelon factor A.mtx --method crout-blocked -o factors");
  if (!parse(app, arguments)) return exit_solved;
  check_request(request);
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  return with_input(
      request, [&]<class T>(MatrixFile<T>&& file) { return factor_and_report(request, file, progress); });
}

}  // namespace echelon::tool
