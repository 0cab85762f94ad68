// Messages of the server, as far as the transformers name them. None is sent.
#pragma once
#include <cstddef>
#include <vector>

namespace syrenn_server {
struct Polytope {
  size_t num_vertices() const { return 0; }
  const std::vector<float> &vertices() const { return values; }
  void set_num_vertices(size_t) {}
  void add_vertices(float) {}
  void add_combinations(float) {}
  std::vector<float> values;
};

struct UPolytope {
  int polytopes_size() const { return 0; }
  const std::vector<Polytope> &polytopes() const { return list; }
  size_t space_dimensions() const { return 0; }
  size_t subspace_dimensions() const { return 0; }
  void set_space_dimensions(size_t) {}
  void set_subspace_dimensions(size_t) {}
  Polytope *add_polytopes() { return &scratch; }
  std::vector<Polytope> list;
  Polytope scratch;
};

struct FullyConnected {
  int biases_size() const { return 1; }
  int weights_size() const { return 0; }
  const std::vector<float> &weights() const { return values; }
  const std::vector<float> &biases() const { return values; }
  std::vector<float> values;
};

struct Layer {
  bool has_fullyconnected_data() const { return false; }
  const FullyConnected &fullyconnected_data() const { return data; }
  FullyConnected data;
};

struct SegmentedLine {};
struct MaskingNetwork {};
struct Network {};
}  // namespace syrenn_server
