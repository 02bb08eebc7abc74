// Issue interval of wgmma m64nNk16 from SMEM and from registers, alone and beside streams of other
// instructions on a second warp group: does the register file slow the tensor core down, and how fast
// are those beside it?
//
//   nvcc -arch=sm_90a -O3 -o wgmma_interval wgmma_interval.cu && ./wgmma_interval > wgmma_interval.csv
#include "streams.cuh"
#include "wgmma.cuh"

constexpr int kProducts = 8, kBatches = 64, kSamples = 64, kLaunches = 9;
constexpr int kSteps = 64;  // of a stream without a branch between, so that its loop costs little

template <int N, bool Registers, Stream S>
__global__ void __launch_bounds__(256, 1) interval(long long *spent, double *beside,
                                                float *sink) {
  extern __shared__ __align__(1024) unsigned char tiles[];
  __shared__ volatile int over;
  if (threadIdx.x == 0) over = 0;
  for (int i = threadIdx.x; i < 64 * 1024 / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(tiles)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x >= 128) {  // the second warp group
    float x[kStreamWidth];
    for (int i = 0; i < kStreamWidth; ++i) x[i] = 1e-3f * (threadIdx.x + i);
    long long begin = cycles(), rounds = 0;
    while (!over) {
#pragma unroll
      for (int i = 0; i < kSteps; ++i) step<S>(x);
      ++rounds;
    }
    if (threadIdx.x == 128) *beside = double(cycles() - begin) / (double(kSteps) * kStreamWidth * rounds);
    float sum = 0;
    for (float value : x) sum += value;
    sink[threadIdx.x] = sum;
    return;
  }
  float d[Wgmma<N>::registers_per_thread] = {};
  uint32_t a[4];
  for (int i = 0; i < 4; ++i) a[i] = reinterpret_cast<uint32_t *>(tiles)[threadIdx.x + 128 * i];
  uint64_t left = descriptor(tiles), right = descriptor(tiles + 16 * 1024);
  for (int sample = 0; sample < kSamples; ++sample) {
    long long begin = cycles();
    for (int batch = 0; batch < kBatches; ++batch) {  // always one batch in flight behind another
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < kProducts; ++i) {
        if constexpr (Registers)
          Wgmma<N>::registers(d, a, right);
        else
          Wgmma<N>::smem(d, left, right);
      }
      wgmma_commit();
      wgmma_wait<1>();
    }
    wgmma_wait<0>();
    long long end = cycles();
    if (threadIdx.x == 0) spent[sample] = end - begin;
  }
  if (threadIdx.x == 0) over = 1;
  float sum = 0;
  for (float value : d) sum += value;
  sink[threadIdx.x] = sum;
}

template <int N, bool Registers, Stream S> void measure() {
  Buffer<long long> spent(kSamples);
  Buffer<double> beside(1);
  Buffer<float> sink(256);
  auto kernel = interval<N, Registers, S>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  int threads = S == Stream::none ? 128 : 256;
  std::vector<double> samples, paces;
  for (int launch = 0; launch < kLaunches; ++launch) {
    kernel<<<1, threads, 64 * 1024>>>(spent.data, beside.data, sink.data);
    CHECK(cudaDeviceSynchronize());
    if (!launch) continue;  // the first warms the instruction cache
    for (long long cycles : spent.host()) samples.push_back(double(cycles) / (kProducts * kBatches));
    paces.push_back(beside.host()[0]);
  }
  std::string product =
      "m64n" + std::to_string(N) + "k16 from " + (Registers ? "registers" : "smem");
  csv_row(product, std::string("beside ") + name_of(S), "cycles", samples);
  if (S != Stream::none)
    csv_row(name_of(S), "beside " + product, "cycles per warp-instruction and scheduler", paces);
}

template <int N, bool Registers> void beside_all() {
  measure<N, Registers, Stream::none>();
  measure<N, Registers, Stream::ffma>();
  measure<N, Registers, Stream::ffma3>();
  measure<N, Registers, Stream::fmul>();
  measure<N, Registers, Stream::fadd>();
  measure<N, Registers, Stream::ex2>();
  measure<N, Registers, Stream::fmnmx>();
  measure<N, Registers, Stream::f2fp>();
}

int main() {
  csv_header();
  measure<64, false, Stream::none>();
  measure<64, true, Stream::none>();
  beside_all<128, false>();
  beside_all<128, true>();
  beside_all<176, false>();
  beside_all<176, true>();
  measure<256, false, Stream::none>();
  measure<256, true, Stream::none>();
}
