// Rates of F2FP and FMNMX, with FFMA, FMUL, FADD and EX2 to compare: one, two and four warps on each scheduler.
//
//   nvcc -arch=sm_90a -O3 -o pipe_rates pipe_rates.cu && ./pipe_rates > pipe_rates.csv
#include "measure.cuh"
#include "streams.cuh"

constexpr int kRounds = 512, kSamples = 32;

template <Stream S> __global__ void rate(long long *spent, float *sink) {
  float x[kStreamWidth];
  for (int i = 0; i < kStreamWidth; ++i) x[i] = 1e-3f * (threadIdx.x + i);
  for (int sample = 0; sample < kSamples; ++sample) {
    __syncthreads();
    long long begin = cycles();
#pragma unroll 64  // so that the loop's own instructions cost little
    for (int round = 0; round < kRounds; ++round) step<S>(x);
    __syncthreads();
    if (threadIdx.x == 0) spent[sample] = cycles() - begin;
  }
  float sum = 0;
  for (float value : x) sum += value;
  sink[threadIdx.x] = sum;
}

template <Stream S> void measure() {
  for (int warps : {4, 8, 16}) {
    Buffer<long long> spent(kSamples);
    Buffer<float> sink(512);
    rate<S><<<1, 32 * warps>>>(spent.data, sink.data);
    CHECK(cudaDeviceSynchronize());
    std::vector<double> samples;
    double instructions = double(kRounds) * kStreamWidth * warps / 4;
    for (long long cycles : spent.host()) samples.push_back(cycles / instructions);
    samples.erase(samples.begin());
    csv_row(name_of(S), std::to_string(warps / 4) + " warps a scheduler",
            "cycles per warp-instruction and scheduler", samples);
  }
}

int main() {
  csv_header();
  measure<Stream::ffma>();
  measure<Stream::ffma3>();
  measure<Stream::fmul>();
  measure<Stream::fadd>();
  measure<Stream::ex2>();
  measure<Stream::fmnmx>();
  measure<Stream::f2fp>();
}
