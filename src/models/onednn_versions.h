#pragma once

// Differences between versions 2 and 3 of oneDNN: 3 makes a primitive's description in one step,
// without an operation's descriptor before it, and gives pooling a dilation.

#include <oneapi/dnnl/dnnl.hpp>

namespace diml::onednn {

using dnnl::memory;

struct ConvolutionShape {
  memory::desc source, kernel, bias, target;
  memory::dims strides, padding;
};

struct PoolingShape {
  memory::desc source, target;
  memory::dims strides, window, padding;
};

struct MatmulShape {
  memory::desc source, weights, bias, target;
};

#if DNNL_VERSION_MAJOR >= 3

inline memory::dims dims_of(const memory::desc& description) { return description.get_dims(); }

inline void append(dnnl::post_ops& operations, dnnl::algorithm activation, float alpha = 0.0F) {
  operations.append_eltwise(activation, alpha, 0.0F);
}

inline dnnl::matmul::primitive_desc matmul(const MatmulShape& m,
                                           const dnnl::primitive_attr& attributes,
                                           const dnnl::engine& engine) {
  return {engine, m.source, m.weights, m.bias, m.target, attributes};
}

inline dnnl::convolution_forward::primitive_desc convolution(const ConvolutionShape& c,
                                                             const dnnl::primitive_attr& attributes,
                                                             const dnnl::engine& engine) {
  return {engine,
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          c.source,
          c.kernel,
          c.bias,
          c.target,
          c.strides,
          c.padding,
          c.padding,
          attributes};
}

inline dnnl::pooling_forward::primitive_desc max_pooling(const PoolingShape& p,
                                                         const dnnl::engine& engine) {
  const memory::dims dense(p.window.size(), 0);
  return {engine,
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::pooling_max,
          p.source,
          p.target,
          p.strides,
          p.window,
          dense,
          p.padding,
          p.padding};
}

#else

inline memory::dims dims_of(const memory::desc& description) { return description.dims(); }

inline void append(dnnl::post_ops& operations, dnnl::algorithm activation, float alpha = 0.0F) {
  operations.append_eltwise(1.0F, activation, alpha, 0.0F);
}

inline dnnl::matmul::primitive_desc matmul(const MatmulShape& m,
                                           const dnnl::primitive_attr& attributes,
                                           const dnnl::engine& engine) {
  return {{m.source, m.weights, m.bias, m.target}, attributes, engine};
}

inline dnnl::convolution_forward::primitive_desc convolution(const ConvolutionShape& c,
                                                             const dnnl::primitive_attr& attributes,
                                                             const dnnl::engine& engine) {
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, c.source,
           c.kernel, c.bias, c.target, c.strides, c.padding, c.padding},
          attributes,
          engine};
}

inline dnnl::pooling_forward::primitive_desc max_pooling(const PoolingShape& p,
                                                         const dnnl::engine& engine) {
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max, p.source, p.target,
           p.strides, p.window, p.padding, p.padding},
          engine};
}

#endif

}  // namespace diml::onednn
