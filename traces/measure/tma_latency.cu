// Latency of bulk loads into SMEM by size: cold (L2 flushed) and warm, one SM idle, and all SMs
// loading at once. The second form of output is a trace that the simulator reads.
//
//   nvcc -arch=sm_90a -O3 -o tma_latency tma_latency.cu
//   ./tma_latency > tma_latency.csv
//   ./tma_latency --trace BYTES warm|cold idle|loaded > ../latency/NAME.csv
#include <cstring>

#include "measure.cuh"

constexpr int kLoads = 256;
constexpr size_t kFootprint = size_t{1} << 30;

// Every block loads its own pieces one after the other and stamps each.
__global__ void load(const unsigned char *source, size_t stride, unsigned bytes, int *spent) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ uint64_t barrier;
  if (threadIdx.x != 0) return;
  mbarrier_init(&barrier, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  for (int i = 0; i < kLoads; ++i) {
    size_t piece = (size_t(blockIdx.x) * kLoads + i) * stride % kFootprint;
    mbarrier_expect(&barrier, bytes);
    long long begin = cycles();
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(tile)),
        "l"(source + piece), "r"(bytes), "r"(shared_address(&barrier))
        : "memory");
    mbarrier_wait(&barrier, i & 1);
    spent[blockIdx.x * kLoads + i] = int(cycles() - begin);
  }
}

__global__ void touch(unsigned char *memory, size_t count) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += size_t(gridDim.x) * blockDim.x) memory[i] += 1;
}

static std::vector<double> run(const Buffer<unsigned char> &source, Buffer<unsigned char> &flush,
                               unsigned bytes, bool warm, bool loaded) {
  int device = 0, multiprocessors = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  int blocks = loaded ? multiprocessors : 1;
  // Warm pieces repeat within L2; cold ones are met once.
  size_t stride = warm ? 0 : (bytes > 4096 ? bytes : 4096);
  Buffer<int> spent(size_t(blocks) * kLoads);
  CHECK(cudaFuncSetAttribute(load, cudaFuncAttributeMaxDynamicSharedMemorySize, 128 * 1024));
  if (warm) load<<<blocks, 32, bytes>>>(source.data, stride, bytes, spent.data);
  if (!warm) touch<<<1024, 256>>>(flush.data, flush.count);
  CHECK(cudaDeviceSynchronize());
  load<<<blocks, 32, bytes>>>(source.data, stride, bytes, spent.data);
  CHECK(cudaDeviceSynchronize());
  std::vector<double> samples;
  std::vector<int> found = spent.host();
  for (size_t i = 0; i < found.size(); ++i)
    if (i % kLoads) samples.push_back(found[i]);  // a block's first load translates addresses
  return samples;
}

int main(int count, char **arguments) {
  Buffer<unsigned char> source(kFootprint), flush(size_t{256} << 20);
  if (count == 5 && !std::strcmp(arguments[1], "--trace")) {
    unsigned bytes = unsigned(std::atoi(arguments[2]));
    if (bytes < 16 || bytes > 128 * 1024 || bytes % 16) {
      std::fprintf(stderr, "BYTES: a multiple of 16 up to 131072 (got %s)\n", arguments[2]);
      return 2;
    }
    bool warm = !std::strcmp(arguments[3], "warm"), loaded = !std::strcmp(arguments[4], "loaded");
    std::printf("cycles\n");
    for (double sample : run(source, flush, bytes, warm, loaded)) std::printf("%.0f\n", sample);
    return 0;
  }
  csv_header();
  for (unsigned bytes : {16u, 512u, 1024u, 4096u, 8192u, 16384u, 32768u, 65536u, 131072u})
    for (bool warm : {true, false})
      for (bool loaded : {false, true})
        csv_row("bulk load of " + std::to_string(bytes) + " bytes",
                std::string(warm ? "warm" : "cold") + (loaded ? " all SMs load" : " one SM loads"),
                "cycles", run(source, flush, bytes, warm, loaded));
}
