// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"

#include "output/json.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

namespace echelon::tool {

namespace {

constexpr std::size_t help_column = 32;

/// Help formatter that wraps the descriptions of options, which CLI11's own does not.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description(), line_width - help_column, 0);
  }
};

[[noreturn]] void throw_unknown(const CLI::App& app, const std::string& word) {
  if (!word.starts_with('-') || word == "-") {
    throw BadOption(word, fmt::format("'{}' is unexpected: {} takes fewer arguments", word, app.get_name()));
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  throw BadOption(name, fmt::format("{} has no option '{}'", app.get_name(), name),
                  nearest_name(name, names));
}

/// The arguments of a command as JSON, from which scripts/manual makes manual pages and completions.
Json description(const CLI::App& app) {
  Json options = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // for processes that the tool starts
    std::vector<std::string> names;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    options.push_back({{"names", names},
                       {"argument", names.empty() ? option->get_name() : ""},
                       {"value", option->get_items_expected_max() > 0 ? option->get_type_name() : ""},
                       {"group", option->get_group()},
                       {"required", option->get_required()},
                       {"help", option->get_description()}});
  }
  return {{"name", app.get_name()}, {"summary", app.get_description()}, {"options", options}};
}

template <class Number>
Number parse_up_to(const std::string& option, const std::string& text, Number high, const std::string& what) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0 && value <= high)) {
    throw BadOption(option, fmt::format("{} takes {}, not '{}'", option, what, text));
  }
  return value;
}

}  // namespace

void set_style(CLI::App& app) {
  app.set_help_flag("-h,--help", "print this help");
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(help_column);
  formatter->label("OPTIONS", "OPTION...");
  app.formatter(formatter);
}

CLI::Option* add_file_option(CLI::App& app, const std::string& names, std::string& path,
                             const std::string& help) {
  const std::string option = names.substr(names.rfind(',') + 1);
  const auto store = [&path, option](const std::string& name) {
    if (name.empty()) throw BadOption(option, fmt::format("{} takes the name of a file", option));
    const bool standard = name == "/dev/stdin" || name == "/dev/stdout";
    path = standard ? "-" : name;
  };
  return app.add_option_function<std::string>(names, store, help)->type_name("FILE");
}

bool parse(CLI::App& app, const Arguments& arguments) {
  if (arguments == Arguments{"--describe"}) {
    print_json(description(app));
    return false;
  }
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));  // CLI11 expects them in reverse order
  } catch (const CLI::CallForHelp&) {
    print_result(app.help());
    return false;
  } catch (const CLI::ExtrasError&) {
    throw_unknown(app, app.remaining().front());
  } catch (const CLI::ArgumentMismatch& e) {
    const std::string text = e.what();  // "--method: At Most 1 required but received 2"
    const std::string name = text.substr(0, text.find(':'));
    throw BadOption(name, fmt::format("{} takes exactly one value", name));
  } catch (const CLI::ParseError& e) {
    throw BadOption("", fmt::format("{} (see '{} --help')", e.what(), app.get_name()));
  }
  return true;
}

std::size_t parse_word(const std::string& option, const std::string& word,
                       const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw BadOption(option, fmt::format("{} takes {}, not '{}'", option, fmt::join(names, ", "), word),
                  nearest_name(word, names));
}

double parse_number(const std::string& option, const std::string& text, double high) {
  const std::string bound =
      std::isfinite(high) ? fmt::format("a number from 0 to {}", high) : "a number from 0";
  return parse_up_to(option, text, high, bound);
}

std::int64_t parse_integer(const std::string& option, const std::string& text) {
  return parse_up_to(option, text, std::numeric_limits<std::int64_t>::max(), "a whole number from 0");
}

}  // namespace echelon::tool
