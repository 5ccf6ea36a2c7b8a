// SPDX-License-Identifier: BSD-3-Clause
/// Command lines of the benchmark programs.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace echelon::bench {

/// Parts of a text between separators; one empty part for an empty text.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

/// Arguments of a program. Each call takes those that it asks for: first flags and options, then positional
/// arguments in order, last `finish`, which refuses what is left. A wrong argument ends the process with
/// status 2, a message and the usage; --help prints the usage alone.
class Arguments {
 public:
  /// `usage`: the arguments, such as "[SIDE] [--runs N] [MATRIX.mtx]...".
  Arguments(int argc, char** argv, std::string usage) : program_(argv[0]), usage_(std::move(usage)) {
    program_ = program_.substr(program_.rfind('/') + 1);
    words_.assign(argv + 1, argv + argc);
    if (!flag("--help")) return;
    std::printf("%s %s\n", program_.c_str(), usage_.c_str());
    std::exit(0);
  }

  /// Whether the flag is given.
  bool flag(const std::string& name) {
    const auto found = std::find(words_.begin(), words_.end(), name);
    if (found == words_.end()) return false;
    words_.erase(found);
    return true;
  }

  /// The positive number, or the text, after the option of that name.
  template <class Value>
  Value option(const std::string& name, Value fallback) {
    const auto found = std::find(words_.begin(), words_.end(), name);
    if (found == words_.end()) return fallback;
    if (found + 1 == words_.end()) refuse(name + " takes a value");
    const std::string text = found[1];
    words_.erase(found, found + 2);
    return parse(name, text, fallback);
  }

  /// The first argument that is left, a positive number or a text.
  template <class Value>
  Value positional(const std::string& name, Value fallback) {
    if (words_.empty()) return fallback;
    if (words_.front().starts_with("-")) refuse("unknown option '" + words_.front() + "'");
    const std::string text = words_.front();
    words_.erase(words_.begin());
    return parse(name, text, fallback);
  }

  /// All arguments that are left, numbers or texts.
  template <class Value = std::string>
  std::vector<Value> positionals(const std::string& name) {
    std::vector<Value> values;
    while (!words_.empty()) values.push_back(positional(name, Value{}));
    return values;
  }

  void finish() const {
    if (!words_.empty()) refuse("unknown argument '" + words_.front() + "'");
  }

  /// Ends the process.
  [[noreturn]] void refuse(const std::string& message) const {
    std::fprintf(stderr, "%s: %s\nusage: %s %s\n", program_.c_str(), message.c_str(), program_.c_str(),
                 usage_.c_str());
    std::exit(2);
  }

 private:
  template <class Number>
  Number parse(const std::string& name, const std::string& text, const Number& /*fallback*/) const {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !(value > 0)) {
      refuse(name + " is a positive number, not '" + text + "'");
    }
    return value;
  }
  std::string parse(const std::string& /*name*/, const std::string& text,
                    const std::string& /*fallback*/) const {
    return text;
  }

  std::string program_;
  std::string usage_;
  std::vector<std::string> words_;
};

}  // namespace echelon::bench
