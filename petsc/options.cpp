// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "guard.hpp"
#include "node_share.hpp"

#include <echelon/error.hpp>
#include <echelon/solve.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <sstream>
#include <utility>

namespace echelon::petsc {

namespace {

/// Longest text of an option's value.
constexpr std::size_t longest = 1024;

std::string text_prefix(PetscObject object) {
  const char* prefix = nullptr;
  return PetscObjectGetOptionsPrefix(object, &prefix) == success && prefix != nullptr ? prefix : "";
}

/// Name of an option in the database: "-pc_echelon_method".
std::string option_name(const std::string& prefix, const std::string& key) {
  std::string name(1, '-');
  return name.append(prefix).append(key);
}

/// Whether the library's function `solve` would take A to a GPU.
PetscErrorCode is_large(Mat A, bool& large) {
  PetscBool dense = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(A), MATSEQDENSE, &dense));
  PetscInt rows = 0;
  PetscCall(MatGetSize(A, &rows, nullptr));
  // Matrices that do not count their nonzeros, such as shells, are named when they cannot be copied.
  PetscBool counts = PETSC_FALSE;
  PetscCall(MatHasOperation(A, MATOP_GETINFO, &counts));
  MatInfo info{};
  if (counts == PETSC_TRUE) PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  large = dense == PETSC_TRUE ? rows >= gpu_dense_rows
                              : info.nz_used >= static_cast<PetscLogDouble>(gpu_nonzeros);
  return success;
}

/// Device of the option `device`, "auto" being this process's share of the cores.
Device device_of(const std::string& name, const std::string& threads) {
  if (threads != "auto") {
    int count = 0;
    const auto [end, error] = std::from_chars(threads.data(), threads.data() + threads.size(), count);
    if (error != std::errc() || end != threads.data() + threads.size() || count < 1)
      throw BadOption("threads", "option 'threads' takes auto or a positive integer, not '" + threads + "'");
    if (name != "auto" && name != "openmp")
      throw BadOption("threads", "option 'threads' belongs to the device openmp, not to '" + name + "'");
    return Device::openmp(count);
  }
  if (name == "auto") return Device::openmp(thread_share());
  const Device device = Device::parse(name);
  require(device);
  return device;
}

}  // namespace

bool MethodChoice::has(const std::string& name) const {
  return std::ranges::any_of(options.entries(), [&](const auto& entry) { return entry.first == name; });
}

PetscErrorCode choose_device(Mat A, MethodChoice& choice) {
  if (!choice.automatic_device) return success;
  bool large = false;
  PetscCall(is_large(A, large));
  const std::optional<Device> gpu = large ? own_gpu() : std::nullopt;
  const bool runs_there = gpu && find_method(choice.method).runs_on(*gpu);
  choice.device = runs_there ? *gpu : Device::openmp(thread_share());
  return success;
}

OptionReader::OptionReader(PetscObject object, std::string prefix, std::string title)
    : object_(object), prefix_(std::move(prefix)), title_(std::move(title)) {}

PetscErrorCode OptionReader::read_own(std::vector<TextOption> options) {
  const std::string device_help =
      "auto: for large matrices the GPU that this process has for itself, else "
      "its share of the cores; serial, openmp:N or cuda:N";
  options.push_back({"device", device_help, &device_});
  options.push_back(
      {"threads", "threads of the device openmp; auto: this process's share of the cores", &threads_});
  std::vector<OptionInfo> rows;
  rows.reserve(options.size());
  for (const TextOption& option : options)
    rows.push_back({.name = option.key, .fallback = *option.value, .help = option.help});
  Options found;
  PetscCall(read_rows(title_, rows, found));
  for (const auto& [name, text] : found.entries()) {
    const auto option = std::ranges::find(options, name, &TextOption::key);
    *option->value = std::get<std::string>(text.get());
  }
  return success;
}

PetscErrorCode OptionReader::read_method(MethodChoice& choice) {
  choice.device = device_of(device_, threads_);
  choice.automatic_device = device_ == "auto" && threads_ == "auto";
  const Method& method = find_method(choice.method);
  choice.options = {};
  PetscCall(read_rows(title_ + " of " + choice.method, method.options, choice.options));
  std::vector<std::string> keys;
  PetscCall(database_keys(keys));
  std::erase_if(keys, [&](const std::string& key) { return std::ranges::find(read_, key) != read_.end(); });
  PetscCall(read_nested(keys, choice.options));
  method.check_options(choice.device, choice.options);
  return success;
}

/// Reads the options of the table; the names of a nested method end in a dot and are left to read_nested.
PetscErrorCode OptionReader::read_rows(const std::string& title, const std::vector<OptionInfo>& rows,
                                       Options& found) {
  const std::string object_prefix = text_prefix(object_);
  PetscOptionsBegin(PetscObjectComm(object_), object_prefix.c_str(), title.c_str(), "");
  for (const OptionInfo& row : rows) {
    if (row.name.ends_with('.')) continue;
    std::array<char, longest> text{};
    PetscBool given = PETSC_FALSE;
    const std::string name = option_name(prefix_, row.name);
    PetscCall(PetscOptionsString(name.c_str(), row.help.c_str(), "", row.fallback.c_str(), text.data(),
                                 text.size(), &given));
    read_.push_back(row.name);
    if (given == PETSC_FALSE) continue;
    // PETSc's truth values may be given by their names alone.
    const std::string value = text.data();
    found.set(row.name, row.kind == OptionKind::boolean && value.empty() ? "true" : value);
  }
  PetscOptionsEnd();
  return success;
}

/// Reads the options of a nested method, whose names contain a dot; the check of the method's options refuses
/// unknown ones. Other names are errors.
PetscErrorCode OptionReader::read_nested(const std::vector<std::string>& keys, Options& found) const {
  const std::string object_prefix = text_prefix(object_);
  for (const std::string& key : keys) {
    if (key.find('.') == std::string::npos)
      throw BadOption(key, "there is no option " + option_name(object_prefix + prefix_, key),
                      nearest_name(key, read_));
    std::array<char, longest> text{};
    PetscBool given = PETSC_FALSE;
    const std::string name = option_name(prefix_, key);
    PetscCall(PetscOptionsGetString(nullptr, object_prefix.c_str(), name.c_str(), text.data(), text.size(),
                                    &given));
    found.set(key, std::string(text.data()));
  }
  return success;
}

/// Names in the database that begin with the prefixes of the object and the reader, without these.
PetscErrorCode OptionReader::database_keys(std::vector<std::string>& keys) const {
  char* all = nullptr;
  PetscCall(PetscOptionsGetAll(nullptr, &all));
  std::istringstream words(all);
  PetscCall(PetscFree(all));
  const std::string begin = option_name(text_prefix(object_), prefix_);
  for (std::string word; words >> word;) {
    if (word.starts_with(begin)) keys.push_back(word.substr(begin.size()));
  }
  return success;
}

}  // namespace echelon::petsc
