// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/array.hpp>
#include <echelon/context.hpp>

#include <memory>

namespace echelon {

/// The backend of a context and its scratch memory.
class ContextState {
 public:
  ContextState() = default;
  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;
  virtual ~ContextState() = default;
};

struct ContextAccess {
  [[nodiscard]] static ContextState& state(Context& context) { return *context.state_; }
};

template <class B>
class BackendState final : public ContextState {
 public:
  explicit BackendState(const Device& device) : backend(device) {}

  B backend;

  /// Memory for one object, which the next operation may overwrite.
  template <class V>
  V* result() {
    static_assert(sizeof(V) <= result_size);
    if (result_.size() == 0) result_ = Array<unsigned char>(backend.device(), result_size);
    return reinterpret_cast<V*>(result_.data());
  }

 private:
  static constexpr std::int64_t result_size = 64;
  Array<unsigned char> result_;
};

/// The state of a context whose device has backend B.
template <class B>
BackendState<B>& state_of(Context& context) {
  return static_cast<BackendState<B>&>(ContextAccess::state(context));
}

/// Instantiated for HostTarget and, when it is built, for CudaTarget.
template <class Target>
[[nodiscard]] std::unique_ptr<ContextState> make_state(const Device& device);

}  // namespace echelon
