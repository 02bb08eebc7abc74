// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 256, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x256xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "gemm", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x256xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x256xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %row = "arith.constant"() <{value = 128 : i32}> {sched.location = "gemm.py:15:11", sched.name = "row"} : () -> i32
    %column = "arith.constant"() <{value = 256 : i32}> {sched.location = "gemm.py:16:14", sched.name = "column"} : () -> i32
    %0 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm.py:18:5"} : () -> i32
    %1 = "arith.constant"() <{value = 64 : i32}> {sched.location = "gemm.py:18:5"} : () -> i32
    %c = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x256xf32, #mma>}> {sched.location = "gemm.py:17:9", sched.name = "c"} : () -> tensor<128x256xf32, #mma>
    %row_0 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:15:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row_0, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:15:11", sched.name = "row"} : (i32, i32) -> i32
    %column_2 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm.py:16:14", sched.name = "column"} : () -> i32
    %column_3 = "arith.muli"(%column_2, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:16:14", sched.name = "column"} : (i32, i32) -> i32
    %c_4 = "scf.for"(%0, %depth, %1, %c) ({
    ^bb0(%k: i32, %c_5: tensor<128x256xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %row_1, %k) {sched.location = "gemm.py:19:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
      %a_6 = "ttg.local_alloc"(%a) {sched.location = "gemm.py:19:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_3) {sched.location = "gemm.py:20:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x256xf16, #shared>, i32, i32) -> tensor<64x256xf16, #blocked1>
      %b_7 = "ttg.local_alloc"(%b) {sched.location = "gemm.py:20:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %c_8 = "ttng.warp_group_dot"(%a_6, %b_7, %c_5) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm.py:21:13", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, tensor<128x256xf32, #mma>) -> tensor<128x256xf32, #mma>
      "scf.yield"(%c_8) : (tensor<128x256xf32, #mma>) -> ()
    }) {sched.location = "gemm.py:18:5", sched.name = "k"} : (i32, i32, i32, tensor<128x256xf32, #mma>) -> tensor<128x256xf32, #mma>
    %2 = "arith.truncf"(%c_4) {sched.location = "gemm.py:22:33"} : (tensor<128x256xf32, #mma>) -> tensor<128x256xf16, #mma>
    %3 = "ttg.convert_layout"(%2) {sched.trivial = false, sched.location = "gemm.py:22:5"} : (tensor<128x256xf16, #mma>) -> tensor<128x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %3, %row_1, %column_3) {sched.location = "gemm.py:22:5"} : (!tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:11:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
