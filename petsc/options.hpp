// SPDX-License-Identifier: BSD-3-Clause
/// Options of a method from PETSc's database.
#pragma once

#include <echelon/device.hpp>
#include <echelon/options.hpp>
#include <echelon/solver.hpp>

#include <petscmat.h>

#include <string>
#include <vector>

namespace echelon::petsc {

/// A method, its device, and its options.
struct MethodChoice {
  std::string method;
  Device device;
  Options options;
  bool automatic_device = false;  ///< choose_device() is to be called for the matrix

  /// Whether the option was given.
  [[nodiscard]] bool has(const std::string& name) const;
};

/// Sets an automatic device: the GPU that this process has for itself, if the method runs there and A is so
/// large that the transfers take less time than they save, else the process's share of the cores.
PetscErrorCode choose_device(Mat A, MethodChoice& choice);

/// An option of the plug-in itself, in addition to those of a method.
struct TextOption {
  std::string key;
  std::string help;
  std::string* value;  ///< holds the default, and receives what was given
};

/// Options of PETSc's database for one object, whose names begin with the object's prefix and another one:
/// "pc_echelon_" of -sub_pc_echelon_method. With -help they are listed under the title.
class OptionReader {
 public:
  OptionReader(PetscObject object, std::string prefix, std::string title);

  /// Reads the given options, and `device` and `threads`, which follow later. Once for each reader.
  PetscErrorCode read_own(std::vector<TextOption> options);
  /// Sets the device of `choice`, reads the options of choice.method, and checks them. Throws BadOption, with
  /// the nearest name, for an unknown method or a value that an option does not take, and for options with
  /// the reader's prefix that nothing has read.
  PetscErrorCode read_method(MethodChoice& choice);

 private:
  PetscErrorCode read_rows(const std::string& title, const std::vector<OptionInfo>& rows, Options& found);
  PetscErrorCode read_nested(const std::vector<std::string>& keys, Options& found) const;
  PetscErrorCode database_keys(std::vector<std::string>& keys) const;

  PetscObject object_;
  std::string prefix_;
  std::string title_;
  std::string device_ = "auto";
  std::string threads_ = "auto";
  std::vector<std::string> read_;  // names of options that were asked for
};

}  // namespace echelon::petsc
