// SPDX-License-Identifier: BSD-3-Clause
#include "commands/elimination.hpp"

#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

namespace echelon::tool {

namespace {

std::string or_none(const std::optional<double>& value) {
  return value ? short_number(*value) : "none";
}

std::string size_text(const FileInfo& info) {
  return fmt::format("{} x {}", grouped(info.rows), grouped(info.columns));
}

/// Throws OutOfMemory if the matrix, stored dense, would take more than 80 % of the available memory.
template <class T>
void check_size(const EliminationRequest& request, const MatrixFile<T>& file) {
  const double bytes =
      static_cast<double>(file.info.rows) * static_cast<double>(file.info.columns) * sizeof(T);
  const std::size_t available = memory(request.device).available;
  constexpr double usable = 0.8;
  if (available == 0 || bytes <= usable * static_cast<double>(available)) return;
  throw OutOfMemory(fmt::format("{} for {} ({}) stored dense, as elimination needs it", request.device.name(),
                                input_name(request.matrix), size_text(file.info)),
                    static_cast<std::size_t>(std::min(bytes, 1e18)), available);
}

}  // namespace

void add_common_options(CLI::App& app, EliminationRequest& request) {
  add_matrix_argument(app, "A", request.matrix);
  app.add_option_function<std::string>(
         "--device",
         [&](const std::string& name) {
           if (name != "auto") request.device = Device::parse(name);
         },
         "auto (default, all cores), serial, openmp[:THREADS], cuda[:GPU] or opencl[:DEVICE]")
      ->type_name("DEVICE");
  app.add_option("--precision", request.precision, "double by default")->type_name("double|float");
  app.add_flag("--json", request.json, "print the report as one line of JSON");
  app.add_flag("--quiet", request.quiet, "print no progress");
  add_input_options(app, request.input);
}

void add_elimination_options(CLI::App& app, EliminationRequest& request) {
  add_common_options(app, request);
  app.add_option_function<std::string>(
         "--tolerance",
         [&](const std::string& text) { request.options.tolerance = parse_number("--tolerance", text, 1); },
         "a pivot of at most X ||A||_inf is rejected; default 4 sqrt(max(m, n)) eps")
      ->type_name("X");
}

void check_request(const EliminationRequest& request, const std::vector<OutputOption>& matrices,
                   const std::vector<OutputOption>& others) {
  in_precision(request.precision,
               [&]<class T>() { static_cast<void>(RowReduction<T>(request.device, request.options)); });
  for (const OutputOption& output : matrices) check_dense_format(output);
  std::vector<OutputOption> outputs = matrices;
  outputs.insert(outputs.end(), others.begin(), others.end());
  check_files({request.matrix}, outputs);
}

template <class T>
DenseFile<T> as_dense(const EliminationRequest& request, MatrixFile<T>&& file) {
  DenseFile<T> result{file.info, {}};
  if (auto* const dense = std::get_if<Dense<T>>(&file.matrix)) {
    result.matrix = std::move(*dense);
  } else {
    check_size(request, file);
    result.matrix = to_dense(MatrixRef<T>(file.matrix));
  }
  if (!request.device.on_host()) result.matrix = result.matrix.to(request.device);
  return result;
}

template DenseFile<float> as_dense(const EliminationRequest&, MatrixFile<float>&&);
template DenseFile<double> as_dense(const EliminationRequest&, MatrixFile<double>&&);
template DenseFile<std::complex<double>> as_dense(const EliminationRequest&,
                                                  MatrixFile<std::complex<double>>&&);

Json elimination_json(const std::string& matrix, const std::string& precision, const FileInfo& info,
                      const Report& report) {
  return {{"status", to_string(report.status)},
          {"exit_code", int{exit_code(report.status)}},
          {"method", report.method},
          {"device", report.device.name()},
          {"hardware", hardware(report.device)},
          {"precision", precision},
          {"message", report.message},
          {"warnings", report.warnings},
          {"row", or_null(report.row)},
          {"column", or_null(report.column)},
          {"file", matrix},
          {"rows", info.rows},
          {"columns", info.columns},
          {"reciprocal_condition", or_null(report.reciprocal_condition)},
          {"seconds", report.setup_seconds},
          {"bytes", report.bytes}};
}

Json rank_json(const RankFacts& facts) {
  return {{"rank", facts.rank},
          {"tolerance", facts.tolerance},
          {"smallest_accepted_pivot", or_null(facts.smallest_accepted_pivot)},
          {"largest_rejected_pivot", or_null(facts.largest_rejected_pivot)},
          {"gap", facts.gap()},
          {"distance_to_lower_rank", or_null(facts.distance_to_lower_rank)},
          {"certainty", certainty(facts.proven)},
          {"doubtful", facts.doubtful}};
}

std::vector<Row> elimination_rows(const EliminationRequest& request, const FileInfo& info,
                                  const Report& report) {
  std::vector<Row> rows;
  if (!report.message.empty()) rows.emplace_back("because", report.message);
  rows.emplace_back("matrix", fmt::format("{}: {}", input_name(request.matrix), size_text(info)));
  rows.emplace_back("device", fmt::format("{} ({}), in {}", report.device.name(), hardware(report.device),
                                          request.precision));
  rows.emplace_back("time", duration(report.setup_seconds));
  return rows;
}

std::vector<Row> rank_rows(const RankFacts& facts) {
  const std::string gap = std::isfinite(facts.gap()) ? short_number(facts.gap()) : "infinite";
  std::vector<Row> rows = {{"pivots", fmt::format("smallest accepted {}, largest rejected {}: gap {}",
                                                  or_none(facts.smallest_accepted_pivot),
                                                  or_none(facts.largest_rejected_pivot), gap)},
                           {"tolerance", short_number(facts.tolerance)},
                           {"distance to lower rank", or_none(facts.distance_to_lower_rank)},
                           {"certainty", certainty(facts.proven)}};
  if (facts.doubtful) rows.emplace_back("doubtful", "another tolerance could give another rank");
  return rows;
}

Json determinant_json(const std::optional<Determinant>& determinant, bool complex) {
  if (!determinant) return nullptr;
  Json json = {{"sign", determinant->sign},
               {"mantissa", determinant->mantissa},
               {"exponent", determinant->exponent},
               {"log10", determinant->log10()}};
  const auto pair = [](std::complex<double> number) { return Json{number.real(), number.imag()}; };
  if (complex) json["phase"] = pair(determinant->phase);
  json["value"] = complex ? pair(determinant->complex_value()) : Json(determinant->value());
  return json;
}

std::string determinant_text(const Determinant& determinant) {
  if (determinant.sign == 0) return "0";
  const double logarithm = determinant.log10();
  const double whole = std::floor(logarithm);
  std::string size =
      fmt::format("{}{:.5f}e{:+}", determinant.sign < 0 ? "-" : "", std::pow(10.0, logarithm - whole), whole);
  if (determinant.phase == 1.0) return size;
  return fmt::format("{} ({:.6g}{:+.6g}i)", size, determinant.phase.real(), determinant.phase.imag());
}

const char* certainty(bool proven) {
  return proven ? "proven" : "to working precision";
}

std::string rank_text(const RankFacts& facts, const FileInfo& info) {
  const std::int64_t full = std::min(info.rows, info.columns);
  const std::string text = facts.rank == full
                               ? fmt::format("Rank {}, full", grouped(full))
                               : fmt::format("Rank {} of at most {}", grouped(facts.rank), grouped(full));
  return text + (facts.doubtful ? ", doubtful" : "");
}

std::string rank_line(const RankFacts& facts, const FileInfo& info) {
  return paint(rank_text(facts, info), facts.doubtful ? Colour::yellow : Colour::green, report_stream()) +
         "\n";
}

}  // namespace echelon::tool
