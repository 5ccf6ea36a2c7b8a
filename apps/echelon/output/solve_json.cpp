// SPDX-License-Identifier: BSD-3-Clause
#include "output/exit_code.hpp"
#include "output/solve_outcome.hpp"

#include <echelon/solver/report_json.hpp>

#include <string>

namespace echelon::tool {

namespace {

Json null_space_dimension(const SolveOutcome& outcome) {
  return outcome.report.rank ? Json(outcome.file.columns - *outcome.report.rank) : Json(nullptr);
}

Json matrix_json(const SolveOutcome& outcome) {
  const FileInfo& file = outcome.file;
  return {{"file", outcome.matrix},
          {"rows", file.rows},
          {"columns", file.columns},
          {"nonzeros", outcome.nonzeros},
          {"file_format", to_string(file.format)},
          {"format", file.coordinate ? "coordinate" : "array"},
          {"field", file.field},
          {"symmetry", file.symmetry},
          {"bytes", outcome.matrix_bytes}};
}

Json right_hand_side_json(const RhsSource& source) {
  return {{"source", source.kind},
          {"file", source.file.empty() ? Json(nullptr) : Json(source.file)},
          {"seed", or_null(source.seed)},
          {"columns", source.columns}};
}

/// Certificate in JSON; null if none was requested or there is no x.
Json certificate_json(const SolveOutcome& outcome) {
  if (!outcome.certificate) return nullptr;
  Json json = Json::parse(to_json(*outcome.certificate));
  json["seconds"] = outcome.certify_seconds;
  return json;
}

}  // namespace

Json solve_json(const SolveOutcome& outcome) {
  Json json = Json::parse(to_json(outcome.report));
  json["exit_code"] = int{exit_code(outcome.report.status)};
  json["hardware"] = outcome.hardware;
  json["precision"] = outcome.precision;
  json["certificate"] = certificate_json(outcome);
  json["null_space_dimension"] = null_space_dimension(outcome);
  json["distance_from_ones"] = or_null(outcome.distance_from_ones);
  json["read_seconds"] = outcome.read_seconds;
  json["write_seconds"] = outcome.write_seconds;
  json["total_seconds"] = outcome.total_seconds;
  json["matrix"] = matrix_json(outcome);
  json["right_hand_side"] = right_hand_side_json(outcome.right_hand_side);
  json["output"] = outcome.output_written ? Json(outcome.output) : Json(nullptr);
  return json;
}

}  // namespace echelon::tool
