// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "commands/elimination.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/dense/gauss_jordan_striped.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace echelon::tool {

namespace {

constexpr const char* default_method = "gauss-jordan";
constexpr const char* striped_method = "gauss-jordan-striped";

struct RrefRequest : EliminationRequest {
  std::string method = default_method;
  Options parameters;  ///< options of the striped method
  std::string null_space;
};

/// Finds errors in the method and its options before the file is read.
void check_method(const RrefRequest& request) {
  if (request.method == default_method) {
    if (!request.parameters.empty())
      throw BadOption("parameter",
                      "-p sets an option of gauss-jordan-striped; gauss-jordan takes --tolerance");
    return;
  }
  if (request.method != striped_method) {
    throw BadOption("--method",
                    "rref takes gauss-jordan or gauss-jordan-striped, not '" + request.method + "'");
  }
  if (request.options.tolerance)
    throw BadOption("--tolerance", "gauss-jordan-striped does not reject pivots: leave out --tolerance");
  find_method(striped_method).check_options(request.device, request.parameters);
}

template <class T>
EchelonForm<T> reduce(const RrefRequest& request, Dense<T> A) {
  if (request.method == default_method)
    return RowReduction<T>(request.device, request.options).reduce(std::move(A));
  if constexpr (is_complex<T>) {
    throw BadOption("--method", fmt::format("{} is for real matrices, and {} is complex", striped_method,
                                            input_name(request.matrix)));
  } else {
    return reduce_striped(A.device() == request.device ? std::move(A) : A.to(request.device),
                          request.parameters);
  }
}

template <class T>
std::string element_text(T element) {
  if constexpr (is_complex<T>) {
    return fmt::format("{:.6g}{:+.6g}i", element.real(), element.imag());
  } else {
    return fmt::format("{:.6g}", element);
  }
}

/// Formats ascending numbers as ranges, "0-4, 6"; only the first few if there are many.
std::string ranges(const std::vector<std::int64_t>& numbers) {
  constexpr int most = 12;
  std::string text;
  int shown = 0;
  for (std::size_t i = 0; i < numbers.size(); ++shown) {
    if (shown == most) return text + ", ...";
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (shown > 0) text += ", ";
    text +=
        last == i ? grouped(numbers[i]) : fmt::format("{}-{}", grouped(numbers[i]), grouped(numbers[last]));
    i = last + 1;
  }
  return text.empty() ? "none" : text;
}

/// Formats the elements of R if it is small; empty otherwise.
template <class T>
std::string table_of(const Dense<T>& R) {
  constexpr std::int64_t most = 10;
  if (R.rows() > most || R.columns() > most || R.rows() * R.columns() == 0) return {};
  std::vector<std::vector<std::string>> cells;
  for (std::int64_t i = 0; i < R.rows(); ++i) {
    std::vector<std::string>& row = cells.emplace_back(1, "");
    for (std::int64_t j = 0; j < R.columns(); ++j) row.push_back(element_text(R(i, j)));
  }
  return table(cells);
}

template <class T>
void write(const RrefRequest& request, const EchelonForm<T>& form) {
  if (!form.report.solved()) return;
  if (!request.output.empty()) {
    write_dense<T>(request.output, form.R, "reduced row echelon form of " + input_name(request.matrix));
  }
  if (!request.null_space.empty()) {
    write_dense<T>(request.null_space, null_space(form), "null space of " + input_name(request.matrix));
  }
}

template <class T>
Json rref_json(const RrefRequest& request, const FileInfo& info, const EchelonForm<T>& form) {
  Json json = elimination_json(request.matrix, request.precision, info, form.report);
  if (!form.report.solved()) return json;
  const auto written = [](const std::string& path) { return path.empty() ? Json(nullptr) : Json(path); };
  json.update(rank_json(form.facts));
  json["pivot_columns"] = form.pivot_columns;
  json["row_permutation"] = form.row_permutation;
  json["determinant"] = determinant_json(form.determinant, is_complex<T>);
  json["output"] = written(request.output);
  json["null_space"] = written(request.null_space);
  return json;
}

template <class T>
std::string rref_text(const RrefRequest& request, const FileInfo& info, const EchelonForm<T>& form) {
  std::vector<Row> rows = elimination_rows(request, info, form.report);
  if (!form.report.solved()) {
    return paint("Not reduced:", Colour::red, report_stream()) + " " +
           std::string(to_string(form.report.status)) + "\n" + aligned(rows);
  }
  for (Row& row : rank_rows(form.facts)) rows.push_back(std::move(row));
  rows.emplace_back("pivot columns", ranges(form.pivot_columns));
  if (form.determinant) rows.emplace_back("determinant", determinant_text(*form.determinant));
  if (!request.output.empty()) rows.emplace_back("reduced form", output_name(request.output));
  if (!request.null_space.empty()) rows.emplace_back("null space", output_name(request.null_space));
  return rank_line(form.facts, info) + aligned(rows) + table_of(form.R);
}

template <class T>
ExitCode reduce_and_report(const RrefRequest& request, DenseFile<T>&& file, ProgressLine& progress) {
  progress.announce("eliminating");
  EchelonForm<T> form = reduce(request, std::move(file.matrix));
  form.R = on_host(std::move(form.R));
  write(request, form);
  progress.clear();
  if (request.json) {
    print_json(rref_json(request, file.info, form));
  } else {
    print_report(rref_text(request, file.info, form));
  }
  return exit_code(form.report.status);
}

}  // namespace

ExitCode run_rref(const Arguments& arguments) {
  RrefRequest request;
  CLI::App app("Reduces a matrix to reduced row echelon form.", "echelon rref");
  set_style(app);
  add_elimination_options(app, request);
  add_file_option(app, "-o,--output", request.output,
                  "write the reduced form: .mtx, .npy, .npz, .petsc, .txt, .csv");
  add_file_option(app, "--null-space", request.null_space,
                  "write a basis of the null space, one vector a column");
  app.add_option("--method", request.method,
                 "blocked elimination with pivoting by default, or the published scheme in stripes, without "
                 "pivoting, with -p")
      ->type_name("gauss-jordan|gauss-jordan-striped");
  add_parameter_option(app, request.parameters,
                       "an option of gauss-jordan-striped, see 'echelon --help solver:gauss-jordan-striped'");
  if (!parse(app, arguments)) return exit_solved;
  check_method(request);
  check_request(request, {{"--output", request.output}, {"--null-space", request.null_space}});
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  return with_input(request, [&]<class T>(MatrixFile<T>&& file) {
    return reduce_and_report(request, as_dense(request, std::move(file)), progress);
  });
}

}  // namespace echelon::tool
