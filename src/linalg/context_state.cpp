// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "linalg/context.hpp"

namespace echelon {

template <class Target>
std::unique_ptr<ContextState> make_state(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<ContextState> {
    return std::make_unique<BackendState<B>>(device);
  });
}

template std::unique_ptr<ContextState> make_state<ThisTarget>(const Device&);

}  // namespace echelon
