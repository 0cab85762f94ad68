// Times SyReNN's transformation of the square [-1, 1]^2, once per line of standard input.
//
// Usage: plane NET.txt, where NET.txt has the number of layers, and for each layer its inputs, its outputs, the weights
// (input after input) and the biases. Prints CPU seconds and the number of regions.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include "oneapi/tbb/global_control.h"
#include "syrenn_server/fullyconnected_transformer.h"
#include "syrenn_server/relu_transformer.h"

// SyReNN's own methods, but for the rectifier without MKL-DNN.
size_t ReLUTransformer::n_piece_faces(size_t dims) const { return dims; }
double ReLUTransformer::CrossingRatio(Eigen::Ref<const RMVectorXf> from, Eigen::Ref<const RMVectorXf> to,
                                      const size_t face) const {
  return -from(face) / (to(face) - from(face));
}
int ReLUTransformer::PointSign(Eigen::Ref<const RMVectorXf> point, const size_t face) const {
  if (point(face) == 0) return 0;
  return point(face) > 0 ? +1 : -1;
}
void ReLUTransformer::Compute(RMMatrixXf *inout) const { *inout = inout->cwiseMax(0.0f); }

// Lines are not transformed here.
void SegmentedLine::PrecomputePoints() {}
void SegmentedLine::InsertEndpoints(std::vector<double> *, LayerComputeFunction, size_t) {}
size_t SegmentedLine::Size() const { return 0; }
double SegmentedLine::endpoint_ratio(size_t) const { return 0; }
size_t SegmentedLine::point_dims() const { return 0; }
const RMMatrixXf &SegmentedLine::points() const { std::abort(); }

int main(int, char **argv) {
  tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  std::ifstream file(argv[1]);
  size_t layers;
  file >> layers;
  std::vector<std::unique_ptr<LayerTransformer>> network;
  for (size_t l = 0; l < layers; l++) {
    size_t in, out;
    file >> in >> out;
    RMMatrixXf weights(in, out);
    RMVectorXf biases(out);
    for (size_t i = 0; i < in; i++)
      for (size_t j = 0; j < out; j++) file >> weights(i, j);
    for (size_t j = 0; j < out; j++) file >> biases(j);
    network.emplace_back(new FullyConnectedTransformer(weights, biases));
    network.emplace_back(new ReLUTransformer());
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    std::clock_t start = std::clock();
    RMMatrixXf corners(4, 2);
    corners << -1, -1, 1, -1, 1, 1, -1, 1;
    UPolytope plane(&corners, 2, {{0, 1, 2, 3}});
    for (auto &layer : network) layer->TransformUPolytope(&plane);
    double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%.9f %zu\n", seconds, plane.n_polytopes());
    std::fflush(stdout);
  }
}
