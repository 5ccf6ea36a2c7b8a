// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "linalg/context.hpp"
#include "linalg/operations.hpp"
#include "linalg/vector/functors.hpp"

#include <support/scalar_list.hpp>

#include <type_traits>

namespace echelon {

namespace {

template <class T>
bool is_packed(const DenseView<T>& view) {
  const bool by_column = view.layout() == Layout::column_major;
  return view.leading() == (by_column ? view.rows() : view.columns()) ||
         (by_column ? view.columns() : view.rows()) == 1;
}

template <class T>
std::int64_t step_of(const DenseView<T>& x) {
  return x.layout() == Layout::column_major ? 1 : x.leading();
}

/// Calls f with the elements of a single column.
template <class T, class F>
void with_vector(const DenseView<const T>& x, F&& f) {
  if (step_of(x) == 1) {
    f(Packed<const T>{x.data()});
  } else {
    f(Strided<const T>{x.data(), step_of(x)});
  }
}

/// Squares of floats do not overflow in double. Squares of doubles are summed plainly first, and again,
/// scaled, if the plain sum is not accurate. On a GPU the second kernel reads the first sum and decides.
template <class Target, class T, class B, class X>
void norm2(B& backend, std::int64_t n, X x, double* result) {
  if constexpr (std::is_same_v<Real<T>, float>) {
    backend.reduce(n, SquaredMagnitude<X>{x}, FinishNorm{result});
  } else {
    backend.reduce(n, SquaredMagnitude<X>{x}, StoreDouble{result});
    const bool known_safe = std::is_same_v<Target, HostTarget> && is_safe(*result);
    backend.reduce(known_safe ? 0 : n, ScaledSquare<X>{x, result}, FinishNorm{result});
  }
}

}  // namespace

template <class Target, class T>
void add_on(Context& context, T alpha, DenseView<const T> A, T beta, DenseView<const T> B, DenseView<T> C) {
  const bool one_layout = A.layout() == C.layout() && B.layout() == C.layout();
  on_backend(context.device(), [&]<class Backend>() {
    Backend& backend = state_of<Backend>(context).backend;
    if (one_layout && is_packed(A) && is_packed(B) && is_packed(C)) {
      using X = Packed<const T>;
      add_elements(backend, C.rows() * C.columns(), alpha, X{A.data()}, beta, X{B.data()},
                   Packed<T>{C.data()});
    } else {
      using X = ViewElements<const T>;
      add_elements(backend, C.rows() * C.columns(), alpha, X(A), beta, X(B), ViewElements<T>(C));
    }
  });
}

template <class Target, class T>
void conjugate_on(Context& context, DenseView<const T> X, DenseView<T> Y) {
  on_backend(context.device(), [&]<class B>() {
    state_of<B>(context).backend.for_each(Y.rows() * Y.columns(),
                                          ConjugateElement{ViewElements<const T>(X), ViewElements<T>(Y)});
  });
}

template <class Target, class T>
void dot_on(Context& context, DenseView<const T> x, DenseView<const T> y, Dot<T>* result) {
  on_backend(context.device(), [&]<class B>() {
    B& backend = state_of<B>(context).backend;
    const StoreSum<Dot<T>> store{result};
    if (step_of(x) == 1 && step_of(y) == 1) {
      backend.reduce(x.rows(), Product<T>{x.data(), y.data()}, store);
    } else {
      using X = Strided<const T>;
      backend.reduce(x.rows(), Product<T, X>{{x.data(), step_of(x)}, {y.data(), step_of(y)}}, store);
    }
  });
}

template <class Target, class T>
void sum_on(Context& context, DenseView<const T> x, Dot<T>* result) {
  on_backend(context.device(), [&]<class B>() {
    with_vector(x, [&]<class X>(X elements) {
      state_of<B>(context).backend.reduce(x.rows(), ElementValue<T, X>{elements}, StoreSum<Dot<T>>{result});
    });
  });
}

template <class Target, class T>
void norm_on(Context& context, VectorNorm norm, DenseView<const T> x, double* result) {
  on_backend(context.device(), [&]<class B>() {
    B& backend = state_of<B>(context).backend;
    const StoreDouble store{result};
    with_vector(x, [&]<class X>(X elements) {
      switch (norm) {
        case VectorNorm::norm1:
          backend.reduce(x.rows(), Magnitude<X>{elements}, store);
          break;
        case VectorNorm::norm2:
          norm2<Target, T>(backend, x.rows(), elements, result);
          break;
        case VectorNorm::norm_inf:
          backend.reduce(x.rows(), LargestMagnitude<X>{elements}, store);
          break;
      }
    });
  });
}

template <class Target, class T>
Dot<T>* result_on(Context& context) {
  return on_backend(context.device(),
                    [&]<class B>() { return state_of<B>(context).template result<Dot<T>>(); });
}

template <class Target, class T>
Dot<T> read_on(Context& context, const Dot<T>* result) {
  return on_backend(context.device(), [&]<class B>() { return state_of<B>(context).backend.read(result); });
}

#define ECHELON_INSTANTIATE(T)                                                                            \
  template void add_on<ThisTarget>(Context&, T, DenseView<const T>, T, DenseView<const T>, DenseView<T>); \
  template void conjugate_on<ThisTarget>(Context&, DenseView<const T>, DenseView<T>);                     \
  template void dot_on<ThisTarget>(Context&, DenseView<const T>, DenseView<const T>, Dot<T>*);            \
  template void sum_on<ThisTarget>(Context&, DenseView<const T>, Dot<T>*);                                \
  template void norm_on<ThisTarget>(Context&, VectorNorm, DenseView<const T>, double*);                   \
  template Dot<T>* result_on<ThisTarget, T>(Context&);                                                    \
  template Dot<T> read_on<ThisTarget, T>(Context&, const Dot<T>*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
