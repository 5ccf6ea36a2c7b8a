// SPDX-License-Identifier: BSD-3-Clause
#include "claims/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <tuple>

namespace echelon::claims {

namespace {

std::string precision_of(const LinearSystem& system) {
  return system.single ? "float" : "double";
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.3g}", *value) : "none";
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double percentage(std::int64_t part, std::int64_t all) {
  return 100 * static_cast<double>(part) / static_cast<double>(all);
}

std::string percent(std::int64_t part, std::int64_t all) {
  return all > 0 ? fmt::format("{:.1f}", percentage(part, all)) : "-";
}

/// Text between quotation marks for JSON.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

std::string describe(const LinearSystem& system, const Facts& facts) {
  std::string text = fmt::format("system {} {}: {} {}x{} {} ({})", system.index, precision_of(system),
                                 system.kind, system.A.rows(), system.A.columns(),
                                 system.sparse ? "sparse" : "dense", system.description);
  text += fmt::format("\n    rank {}, {}", facts.rank, facts.consistent ? "consistent" : "inconsistent");
  if (facts.nonsingular) text += fmt::format(", scaled condition {:.2e}", facts.condition);
  if (facts.nonsingular) text += fmt::format(", |x*| {:.2e}", facts.x_norm.to_double());
  if (facts.positive_definite) text += ", positive definite";
  return text;
}

std::string describe(const Answer& answer, const Finding& finding) {
  if (answer.refused) return fmt::format("{}: refused: {}", answer.method, answer.report.message);
  if (!answer.failure.empty()) return fmt::format("{}: {}", answer.method, answer.failure);
  const Report& report = answer.report;
  std::string text = fmt::format("{}: {}", answer.method, echelon::to_string(report.status));
  if (answer.method == "auto") text += " by " + report.method;
  if (!report.message.empty()) text += " (" + report.message + ")";
  if (finding.measured) {
    text +=
        fmt::format("; residual {:.2e}, reported {:.2e}, backward error {:.2e}", finding.residuals.relative,
                    report.relative_residual, finding.residuals.backward_error);
    if (finding.residuals.error) text += fmt::format(", error {:.2e}", *finding.residuals.error);
  }
  if (report.rank) text += fmt::format(", rank {}", *report.rank);
  if (finding.true_digits) {
    text +=
        fmt::format("; digits claimed {}, true {:.2f}", number(finding.claimed_digits), *finding.true_digits);
  }
  for (const std::string& warning : report.warnings) text += "\n      warning: " + warning;
  return text;
}

void Counts::add(const Counts& other) {
  tried += other.tried;
  refused += other.refused;
  solved += other.solved;
  for (std::size_t k = 0; k < falsehoods.size(); ++k) falsehoods[k] += other.falsehoods[k];
  required += other.required;
  succeeded += other.succeeded;
  promised += other.promised;
  kept += other.kept;
  differences.insert(differences.end(), other.differences.begin(), other.differences.end());
  seconds += other.seconds;
}

Record record_of(const LinearSystem& system, const Facts& facts, const Answer& answer, const Finding& finding,
                 const std::string& device) {
  Record record;
  record.index = system.index;
  record.kind = system.kind;
  record.precision = precision_of(system);
  record.method = answer.method;
  record.device = device;
  record.refused = answer.refused;
  record.solved = !answer.refused && answer.failure.empty() && answer.report.solved();
  record.must_succeed = finding.must_succeed;
  record.promised = finding.solved_nonsingular;
  if (finding.claimed_digits && finding.true_digits) {
    record.difference = *finding.claimed_digits - *finding.true_digits;
  }
  record.seconds = answer.seconds;
  record.falsehoods = finding.falsehoods;
  if (!record.falsehoods.empty()) {
    record.text =
        fmt::format("{}\n    on {}, {}", describe(system, facts), device, describe(answer, finding));
  }
  return record;
}

namespace {

/// A field of a line: tabs and newlines are replaced.
std::string field(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  std::replace(text.begin(), text.end(), '\n', '\v');
  return text;
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result;
  std::size_t begin = 0;
  while (begin <= line.size()) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    result.push_back(line.substr(begin, end - begin));
    std::replace(result.back().begin(), result.back().end(), '\v', '\n');
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::string encode(const Record& record) {
  std::string line = fmt::format(
      "{}\t{}\t{}\t{}\t{}\t{:d}{:d}{:d}{:d}\t{}\t{}\t{}", record.index, record.kind, record.precision,
      record.method, record.device, record.refused, record.solved, record.must_succeed, record.promised,
      record.difference ? fmt::format("{}", *record.difference) : "", record.seconds, field(record.text));
  for (const auto& [falsehood, rule] : record.falsehoods) {
    line += fmt::format("\t{}\t{}", static_cast<int>(falsehood), field(rule));
  }
  return line;
}

Record decode(const std::string& line) {
  const std::vector<std::string> words = fields(line);
  Record record;
  record.index = std::stoll(words.at(0));
  record.kind = words.at(1);
  record.precision = words.at(2);
  record.method = words.at(3);
  record.device = words.at(4);
  const std::string& flags = words.at(5);
  record.refused = flags.at(0) == '1';
  record.solved = flags.at(1) == '1';
  record.must_succeed = flags.at(2) == '1';
  record.promised = flags.at(3) == '1';
  if (!words.at(6).empty()) record.difference = std::stod(words[6]);
  record.seconds = std::stod(words.at(7));
  record.text = words.at(8);
  for (std::size_t k = 9; k < words.size(); k += 2) {
    record.falsehoods.emplace_back(static_cast<Falsehood>(std::stoi(words[k])), words.at(k + 1));
  }
  return record;
}

void Tally::add(const Record& record) {
  Counts& counts = counts_[{record.precision, record.method}];
  ++counts.tried;
  counts.seconds += record.seconds;
  if (record.refused) ++counts.refused;
  if (record.solved) ++counts.solved;
  if (record.must_succeed) ++counts.required;
  if (record.must_succeed && record.solved) ++counts.succeeded;
  if (record.promised) ++counts.promised;
  if (record.promised && record.difference) {
    counts.differences.push_back(*record.difference);
    if (*record.difference >= -2 && *record.difference <= 0.5) ++counts.kept;
  }
  for (const auto& [falsehood, rule] : record.falsehoods) {
    ++counts.falsehoods[static_cast<std::size_t>(falsehood)];
  }
  if (!record.falsehoods.empty()) offenders_.push_back(record);
}

void Tally::merge(Tally&& other) {
  for (const auto& [key, counts] : other.counts_) counts_[key].add(counts);
  std::move(other.offenders_.begin(), other.offenders_.end(), std::back_inserter(offenders_));
}

namespace {

void write_row(std::ostream& out, const std::string& method, const std::string& precision,
               const Counts& counts) {
  const auto falsehoods = [&](Falsehood kind) { return counts.falsehoods[static_cast<std::size_t>(kind)]; };
  out << fmt::format("{:22} {:6} {:7} {:7} {:7} {:7} {:8} {:7} {:7} {:8} {:>7} {:8} {:>7} {:7.2f} {:8.1f}\n",
                     method, precision, counts.tried, counts.refused, counts.solved,
                     falsehoods(Falsehood::solved), falsehoods(Falsehood::singular),
                     falsehoods(Falsehood::digits), falsehoods(Falsehood::failure), counts.required,
                     percent(counts.succeeded, counts.required), counts.promised,
                     percent(counts.kept, counts.promised), median(counts.differences), counts.seconds);
}

bool is_direct(const std::string& method) {
  return method == "auto" || find_method(method).kind == MethodKind::direct;
}

}  // namespace

void Tally::write_table(std::ostream& out) const {
  out << fmt::format("{:22} {:6} {:>7} {:>7} {:>7} {:>23} {:>7} {:>16} {:>16} {:>7} {:>8}\n", "", "", "", "",
                     "", "false claims:", "", "must succeed", "promised digits", "", "");
  out << fmt::format(
      "{:22} {:6} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8} {:>7} {:>8} {:>7} {:>7} {:>8}\n", "method",
      "type", "tried", "refused", "solved", "solved", "singular", "digits", "failure", "systems", "%",
      "systems", "kept %", "median", "seconds");
  Counts direct;
  Counts iterative;
  for (const auto& [key, counts] : counts_) {
    write_row(out, key.second, key.first, counts);
    (is_direct(key.second) ? direct : iterative).add(counts);
  }
  Counts all = direct;
  all.add(iterative);
  write_row(out, "direct and auto", "", direct);
  write_row(out, "iterative", "", iterative);
  write_row(out, "all", "", all);
}

void Tally::sort_offenders() {
  const auto key = [](const Record& record) {
    return std::tie(record.index, record.precision, record.method, record.device);
  };
  std::stable_sort(offenders_.begin(), offenders_.end(),
                   [&](const Record& a, const Record& b) { return key(a) < key(b); });
}

namespace {

/// " name count" for each name, the most frequent first.
std::string frequencies(const std::vector<const Record*>& records, std::string Record::*name) {
  std::map<std::string, std::int64_t> counts;
  for (const Record* record : records) ++counts[record->*name];
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [text, count] : counts) sorted.emplace_back(-count, text);
  std::sort(sorted.begin(), sorted.end());
  std::string list;
  for (const auto& [negative_count, text] : sorted) list += fmt::format(" {} {}", text, -negative_count);
  return list;
}

}  // namespace

void Tally::write_offences(std::ostream& out, std::size_t count) {
  sort_offenders();
  std::map<std::string, std::vector<const Record*>> by_rule;
  for (const Record& record : offenders_) {
    for (const auto& [falsehood, rule] : record.falsehoods) {
      by_rule[fmt::format("{}: {}", to_string(falsehood), rule)].push_back(&record);
    }
  }
  for (const auto& [rule, records] : by_rule) {
    out << fmt::format("\n{} {}\n  methods:{}\n  kinds:{}\n", records.size(), rule,
                       frequencies(records, &Record::method), frequencies(records, &Record::kind));
    const std::size_t shown = std::min(count, records.size());
    for (std::size_t k = 0; k < shown; ++k) out << "  " << records[k]->text << '\n';
  }
}

void Tally::write_json(std::ostream& out) {
  sort_offenders();
  out << "{\"methods\": [";
  const char* separator = "\n";
  for (const auto& [key, counts] : counts_) {
    out << separator
        << fmt::format(R"({{"method": "{}", "precision": "{}", "tried": {}, "refused": {}, "solved": {}, )",
                       key.second, key.first, counts.tried, counts.refused, counts.solved)
        << fmt::format(R"("false_solved": {}, "false_singular": {}, "false_digits": {}, "failures": {}, )",
                       counts.falsehoods[0], counts.falsehoods[1], counts.falsehoods[2], counts.falsehoods[3])
        << fmt::format(R"("required": {}, "succeeded": {}, "promised": {}, "kept": {}, )", counts.required,
                       counts.succeeded, counts.promised, counts.kept)
        << fmt::format(R"("median_difference": {}, "seconds": {:.3f}}})", median(counts.differences),
                       counts.seconds);
    separator = ",\n";
  }
  out << "],\n\"offences\": [";
  separator = "\n";
  for (const Record& record : offenders_) {
    for (const auto& [falsehood, rule] : record.falsehoods) {
      out << separator
          << fmt::format(
                 R"({{"index": {}, "kind": "{}", "method": "{}", "precision": "{}", "device": "{}", )",
                 record.index, record.kind, record.method, record.precision, record.device)
          << fmt::format(R"("claim": "{}", "rule": {}, "text": {}}})", to_string(falsehood), quoted(rule),
                         quoted(record.text));
      separator = ",\n";
    }
  }
  out << "]}\n";
}

}  // namespace echelon::claims
