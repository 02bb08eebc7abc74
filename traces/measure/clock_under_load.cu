// SM clock under load: cycles over nanoseconds while every SM runs wgmma, millisecond by
// millisecond, and idle to compare.
//
//   nvcc -arch=sm_90a -O3 -o clock_under_load clock_under_load.cu && ./clock_under_load > clock.csv
#include "wgmma.cuh"

constexpr int kWidth = 256;

template <bool Products> __global__ void spin(double *mhz, int milliseconds, float *sink) {
  extern __shared__ __align__(1024) unsigned char tiles[];
  // Not zeros: power follows the bits that toggle.
  for (int i = threadIdx.x; i < 64 * 1024 / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(tiles)[i] = 0x2C002C00u ^ (i * 2654435761u & 0x03FF03FFu);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[Wgmma<kWidth>::registers_per_thread] = {};
  uint64_t left = descriptor(tiles), right = descriptor(tiles + 16 * 1024);
  for (int sample = 0; sample < milliseconds; ++sample) {
    long long begin = cycles(), origin = nanoseconds(), now;
    do {
      if constexpr (Products) {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < 64; ++i) Wgmma<kWidth>::smem(d, left, right);
        wgmma_commit();
        wgmma_wait<0>();
      }
      now = nanoseconds();
      // One thread decides for all: a warp group that parts between two products ends the program.
    } while (__syncthreads_or(threadIdx.x == 0 && now - origin < 1000000));
    long long end = cycles();
    if (threadIdx.x == 0)
      mhz[blockIdx.x * milliseconds + sample] = 1000.0 * double(end - begin) / double(now - origin);
  }
  float sum = 0;
  for (float value : d) sum += value;
  sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <bool Products> void measure() {
  int device = 0, multiprocessors = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  auto kernel = spin<Products>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  for (int milliseconds : {10, 1000}) {
    Buffer<double> mhz(size_t(multiprocessors) * milliseconds);
    Buffer<float> sink(size_t(multiprocessors) * 128);
    kernel<<<multiprocessors, 128, 64 * 1024>>>(mhz.data, milliseconds, sink.data);
    CHECK(cudaDeviceSynchronize());
    csv_row("SM clock", std::string(Products ? "wgmma on all SMs" : "idle SMs") + " for " +
                            std::to_string(milliseconds) + " ms",
            "MHz", mhz.host());
  }
}

int main() {
  csv_header();
  measure<false>();
  measure<true>();
}
