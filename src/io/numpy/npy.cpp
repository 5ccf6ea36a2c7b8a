// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/numpy/npy_reader.hpp"
#include "io/numpy/npy_writer.hpp"
#include "io/support/binary_reader.hpp"
#include "io/support/host_matrix.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/numbers.hpp"

#include <echelon/io/npy.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <bit>
#include <complex>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace echelon {

namespace io {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Parser of the header, a Python dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class Dictionary {
 public:
  Dictionary(std::string text, std::int64_t start) : text_(std::move(text)), start_(start) {}

  NpyHeader parse(const BinaryReader& reader) {
    NpyHeader header;
    try {
      parse_items(header);
    } catch (const Fault& fault) {
      reader.fail_at(start_ + (fault.at - text_.data()), fault.reason);
    }
    return header;
  }

 private:
  void parse_items(NpyHeader& header) {
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = parse_string();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        parse_type(header);
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.fortran_order = parse_boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        parse_shape(header);
      } else {
        fail(fmt::format("{} is not expected here: a header has descr, fortran_order and shape, once each",
                         quoted(key)));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail("nothing more is expected in the header");
    if (!has_type || !has_order || !has_shape) fail("the header lacks descr, fortran_order or shape");
  }

  void parse_type(NpyHeader& header) {
    skip();
    if (at_ < text_.size() && text_[at_] == '[') fail("a structured array: only plain numbers are read");
    const std::size_t begin = at_;
    header.type_position = start_ + static_cast<std::int64_t>(begin);
    const std::string type = parse_string();
    constexpr std::string_view orders = "<>=|";
    constexpr std::string_view numbers = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 c8";
    const bool ordered = type.size() >= 3 && orders.find(type[0]) != std::string_view::npos;
    const bool number =
        ordered && (type.substr(1) == "c16" || (type.size() == 3 && type[1] != ' ' && type[2] != ' ' &&
                                                numbers.find(type.substr(1)) != std::string_view::npos));
    const bool text = ordered && (type[1] == 'S' || type[1] == 'U');
    if ((!number && !text) || !parse_bytes(type.substr(2), header.size)) {
      at_ = begin;
      fail(fmt::format(
          "elements of type {}: real numbers of 16, 32 or 64 bits, complex ones of 64 or 128, integers and "
          "booleans are read",
          quoted(type)));
    }
    header.big_endian = type[0] == '>' || (type[0] == '=' && std::endian::native == std::endian::big);
    header.kind = type[1];
  }

  static bool parse_bytes(const std::string& digits, int& size) {
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, size);
    return error == std::errc() && stop == end && size >= 0;
  }

  void parse_shape(NpyHeader& header) {
    std::vector<std::int64_t> sizes;
    header.shape_position = start_ + static_cast<std::int64_t>(at_);
    expect('(');
    while (!take(')')) {
      sizes.push_back(parse_size());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    header.dimensions = static_cast<int>(sizes.size());
    if (!sizes.empty()) header.rows = sizes[0];
    if (sizes.size() > 1) header.columns = sizes[1];
    if (sizes.size() > 2) header.depth = sizes[2];
  }

  std::int64_t parse_size() {
    skip();
    std::int64_t size = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), size);
    if (error != std::errc() || size < 0) fail("a size from 0 to 2^63 - 1 is expected here");
    at_ += static_cast<std::size_t>(stop - begin);
    return size;
  }

  bool parse_boolean() {
    skip();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.compare(at_, word.size(), word) == 0) {
        at_ += word.size();
        return value;
      }
    }
    fail("True or False is expected here");
  }

  std::string parse_string() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string::npos;
    if (end == std::string::npos) fail("a quoted word is expected here");
    std::string word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}' is expected here, in the header's dictionary", c));
  }
  [[noreturn]] void fail(std::string reason) const { throw Fault{text_.data() + at_, std::move(reason)}; }

  std::string text_;
  std::int64_t start_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader read_npy_header(BinaryReader& reader) {
  constexpr std::int64_t longest = 1 << 16;
  std::string start(magic.size(), '\0');
  if (reader.left() >= static_cast<std::int64_t>(magic.size())) {
    reader.read(start.data(), static_cast<std::int64_t>(start.size()));
  }
  if (start != magic) reader.fail_at(0, "not a .npy file: it does not start with \\x93NUMPY");
  const auto version = reader.read_one<std::uint8_t>(std::endian::little);
  static_cast<void>(reader.read_one<std::uint8_t>(std::endian::little));
  if (version < 1 || version > 3) {
    reader.fail_at(6, fmt::format("version {} of the format: 1 to 3 are known", version));
  }
  const std::int64_t length = version == 1
                                  ? std::int64_t{reader.read_one<std::uint16_t>(std::endian::little)}
                                  : std::int64_t{reader.read_one<std::uint32_t>(std::endian::little)};
  if (length > longest)
    reader.fail(fmt::format("a header of {} bytes; at most {} are read", length, longest));
  reader.require(length, 1, "bytes of header");
  const std::int64_t text_start = reader.position();
  std::string text(static_cast<std::size_t>(length), '\0');
  reader.read(text.data(), length);
  return Dictionary(std::move(text), text_start).parse(reader);
}

void check_npy_numbers(const BinaryReader& reader, const NpyHeader& header, int most_dimensions) {
  if (header.kind == 'S' || header.kind == 'U') {
    reader.fail_at(header.type_position, "an array of text: numbers are read");
  }
  if (header.dimensions < 1 || header.dimensions > most_dimensions) {
    reader.fail_at(
        header.shape_position,
        fmt::format("an array of {} dimensions: vectors and matrices are read", header.dimensions));
  }
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t most_elements = std::numeric_limits<std::int64_t>::max();
  if (header.rows == 0 || header.columns == 0 || header.depth == 0) {
    // For an empty array the file length does not limit the shape.
    if (std::max({header.rows, header.columns, header.depth}) > most)
      reader.fail("an empty array of more than 2^31 rows or columns");
  } else if (header.rows > most_elements / header.columns ||
             header.rows * header.columns > most_elements / header.depth) {
    reader.fail("more than 2^63 elements");
  }
  const std::int64_t count = header.rows * header.columns * header.depth;
  reader.require(count, header.size, "elements");
  const std::int64_t extra = reader.left() - count * header.size;
  if (extra > 0) reader.fail_at(reader.position() + count * header.size, "nothing more is expected here");
}

namespace {

/// Calls `use` with a zero of the type that the file stores.
template <class Use>
auto with_stored_type(const NpyHeader& header, Use use) {
  const bool is_signed = header.kind == 'i';
  if (header.kind == 'c') {
    return header.size == 8 ? use(std::complex<float>{}) : use(std::complex<double>{});
  }
  if (header.kind == 'f' && header.size == 2) return use(Half{});
  if (header.kind == 'f') return header.size == 4 ? use(float{}) : use(double{});
  switch (header.size) {
    case 1:
      return is_signed ? use(std::int8_t{}) : use(std::uint8_t{});
    case 2:
      return is_signed ? use(std::int16_t{}) : use(std::uint16_t{});
    case 4:
      return is_signed ? use(std::int32_t{}) : use(std::uint32_t{});
    default:
      return is_signed ? use(std::int64_t{}) : use(std::uint64_t{});
  }
}

std::endian order_of(const NpyHeader& header) {
  return header.big_endian ? std::endian::big : std::endian::little;
}

template <class V>
inline constexpr bool is_complex_number = false;
template <class V>
inline constexpr bool is_complex_number<std::complex<V>> = true;

/// read_values() for numbers that may be complex. Throws ComplexNumbers where only T is not.
template <class T, class Stored, class Use, class IsNeeded = EveryElement>
void read_numbers(BinaryReader& reader, const NpyHeader& header, std::int64_t count, Use use,
                  IsNeeded is_needed = {}) {
  const std::endian order = order_of(header);
  if constexpr (!is_complex_number<T>) {
    if constexpr (is_complex_number<Stored>) {
      reader.fail_complex(header.type_position);
    } else {
      read_values<T, Stored>(reader, count, order, use, is_needed);
    }
  } else if constexpr (!is_complex_number<Stored>) {
    read_values<Real<T>, Stored>(
        reader, count, order, [&](std::int64_t k, Real<T> value) { use(k, T{value}); }, is_needed);
  } else {
    Real<T> real_part = 0;
    const auto keep = [&](std::int64_t k, Real<T> value) {
      if (k % 2 == 0) {
        real_part = value;
      } else {
        use(k / 2, T{real_part, value});
      }
    };
    read_values<Real<T>, Real<Stored>>(reader, 2 * count, order, keep,
                                       [&](std::int64_t k) { return is_needed(k / 2); });
  }
}

/// Reads a C-ordered matrix in panels of rows small enough that the elements of the file and the columns of
/// the result stay in the cache.
template <class T, class Stored>
void read_rows(BinaryReader& reader, const NpyHeader& header, Dense<T>& matrix) {
  constexpr std::int64_t panel_elements = 1 << 15;
  const std::int64_t panel = std::max<std::int64_t>(1, panel_elements / header.columns);
  std::vector<T> elements(static_cast<std::size_t>(std::min(panel, header.rows) * header.columns));
  for (std::int64_t first = 0; first < header.rows; first += panel) {
    const std::int64_t rows = std::min(panel, header.rows - first);
    read_numbers<T, Stored>(reader, header, rows * header.columns,
                            [&](std::int64_t k, T value) { elements[static_cast<std::size_t>(k)] = value; });
    for (std::int64_t j = 0; j < header.columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) {
        matrix(first + i, j) = elements[static_cast<std::size_t>(i * header.columns + j)];
      }
    }
  }
}

template <class T, class Stored>
Dense<T> read_elements(BinaryReader& reader, const NpyHeader& header) {
  Dense<T> matrix(Device(), header.rows, header.columns);
  if (header.rows == 0 || header.columns == 0) return matrix;
  if (header.fortran_order || header.columns == 1) {
    read_numbers<T, Stored>(reader, header, header.rows * header.columns,
                            [&](std::int64_t k, T value) { matrix[k] = value; });
  } else {
    read_rows<T, Stored>(reader, header, matrix);
  }
  return matrix;
}

template <class T>
std::string header_text(const DenseView<const T>& matrix) {
  const std::string shape = matrix.columns() == 1 ? fmt::format("({},)", matrix.rows())
                                                  : fmt::format("({}, {})", matrix.rows(), matrix.columns());
  return npy_header(fmt::format("<{}{}", is_complex<T> ? 'c' : 'f', sizeof(T)), matrix.columns() != 1, shape);
}

}  // namespace

std::string npy_header(std::string_view type, bool fortran_order, std::string_view shape) {
  constexpr std::size_t fixed = 10;  // magic, version, length
  constexpr std::size_t alignment = 64;
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type,
                                 fortran_order ? "True" : "False", shape);
  text.append((alignment - (fixed + text.size() + 1) % alignment) % alignment, ' ');
  text += '\n';
  const std::string length = {static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return std::string(magic) + '\1' + '\0' + length + text;
}

template <class V>
Array<V> read_npy_elements(BinaryReader& reader, const NpyHeader& header,
                           const std::function<bool(std::int64_t)>& is_needed) {
  const std::int64_t count = header.rows * header.columns * header.depth;
  Array<V> result(Device(), count);
  with_stored_type(header, [&](auto stored) {
    using Stored = decltype(stored);
    const auto keep = [&](std::int64_t k, V value) { result[k] = value; };
    if (!is_needed) return read_numbers<V, Stored>(reader, header, count, keep);
    std::fill_n(result.data(), count, V{0});
    read_numbers<V, Stored>(reader, header, count, keep, std::cref(is_needed));
  });
  return result;
}

#define ECHELON_INSTANTIATE(T)                                         \
  template Array<T> read_npy_elements(BinaryReader&, const NpyHeader&, \
                                      const std::function<bool(std::int64_t)>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE
template Array<std::int64_t> read_npy_elements(BinaryReader&, const NpyHeader&,
                                               const std::function<bool(std::int64_t)>&);

template <class T>
Dense<T> read_npy_source(TextSource& source, const std::string& name, NpyHeader* found) {
  BinaryReader reader(source, name);
  const NpyHeader header = read_npy_header(reader);
  check_npy_numbers(reader, header);
  if (found != nullptr) *found = header;
  return with_stored_type(header,
                          [&](auto stored) { return read_elements<T, decltype(stored)>(reader, header); });
}

template <class T>
void write_npy_sink(TextSink& sink, DenseView<const T> matrix) {
  const HostMatrix<T> host{MatrixRef<T>(matrix)};
  const DenseView<const T>& view = host.dense();
  sink.write(header_text(view));
  const std::int64_t columns = view.rows() > 0 ? view.columns() : 0;
  std::vector<T> column(static_cast<std::size_t>(columns > 0 ? view.rows() : 0));
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < view.rows(); ++i) {
      column[static_cast<std::size_t>(i)] = in_order(view(i, j), std::endian::little);
    }
    sink.write({reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T)});
  }
}

#define ECHELON_INSTANTIATE(T)                                                    \
  template Dense<T> read_npy_source(TextSource&, const std::string&, NpyHeader*); \
  template void write_npy_sink(TextSink&, DenseView<const T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace io

template <class T>
Dense<T> read_npy(const std::string& path) {
  return at_api_boundary([&] { return io::read_npy_source<T>(*io::open_text(path), path); });
}

template <class T>
void write_npy(const std::string& path, DenseView<const T> matrix) {
  io::write_file(path, [&](io::TextSink& file) { io::write_npy_sink(file, matrix); });
}

#define ECHELON_INSTANTIATE(T)                    \
  template Dense<T> read_npy(const std::string&); \
  template void write_npy(const std::string&, DenseView<const T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
