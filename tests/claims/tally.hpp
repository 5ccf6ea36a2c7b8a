// SPDX-License-Identifier: BSD-3-Clause
/// Counts of claims by method, and the list of false ones.
#pragma once

#include "claims/check.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace echelon::claims {

/// Result of one solve, as far as counts and lists need it.
struct Record {
  std::int64_t index = 0;  ///< of the system
  std::string kind = {};   ///< of the system
  std::string precision = {};
  std::string method = {};
  std::string device = {};
  bool refused = false;
  bool solved = false;
  bool must_succeed = false;
  bool promised = false;                  ///< counts among the promised digits
  std::optional<double> difference = {};  ///< claimed less true digits
  double seconds = 0;
  std::vector<std::pair<Falsehood, std::string>> falsehoods = {};  ///< each with the rule that is broken
  std::string text = {};                                           ///< several lines, for a falsehood
};
[[nodiscard]] Record record_of(const LinearSystem& system, const Facts& facts, const Answer& answer,
                               const Finding& finding, const std::string& device);
/// A record as one line, and the reverse.
[[nodiscard]] std::string encode(const Record& record);
[[nodiscard]] Record decode(const std::string& line);

/// Counts of one method in one precision.
struct Counts {
  std::int64_t tried = 0;
  std::int64_t refused = 0;
  std::int64_t solved = 0;
  std::array<std::int64_t, 4> falsehoods = {};  ///< by Falsehood
  std::int64_t required = 0;                    ///< systems that a direct method or auto must solve
  std::int64_t succeeded = 0;                   ///< those of them that it solved
  std::int64_t promised = 0;                    ///< solved nonsingular systems
  std::int64_t kept = 0;            ///< those whose claimed digits are within [-2, 0.5] of the true
  std::vector<double> differences;  ///< claimed less true digits, where digits are claimed
  double seconds = 0;

  void add(const Counts& other);
};

class Tally {
 public:
  void add(const Record& record);
  /// Adds the counts and false claims of another tally.
  void merge(Tally&& other);

  [[nodiscard]] bool has_falsehoods() const { return !offenders_.empty(); }
  /// Writes a line for each method and precision, and the totals.
  void write_table(std::ostream& out) const;
  /// Writes for each rule how often it was broken, by which methods and for which kinds of systems, and the
  /// records of the systems with the lowest numbers, at most `count`.
  void write_offences(std::ostream& out, std::size_t count);
  void write_json(std::ostream& out);

 private:
  void sort_offenders();

  std::map<std::pair<std::string, std::string>, Counts> counts_;  ///< by precision and method
  std::vector<Record> offenders_;
};

/// Lines about an answer and the facts that it is compared with.
[[nodiscard]] std::string describe(const LinearSystem& system, const Facts& facts);
[[nodiscard]] std::string describe(const Answer& answer, const Finding& finding);

}  // namespace echelon::claims
