// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 256, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "gemm_two_tiles", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<64x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x256xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<64x256xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %row = "arith.constant"() <{value = 128 : i32}> {sched.location = "gemm.py:31:11", sched.name = "row"} : () -> i32
    %column = "arith.constant"() <{value = 256 : i32}> {sched.location = "gemm.py:32:14", sched.name = "column"} : () -> i32
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm.py:35:5"} : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x256xf32, #mma>}> : () -> tensor<64x256xf32, #mma>
    %row_0 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:31:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row_0, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:31:11", sched.name = "row"} : (i32, i32) -> i32
    %column_2 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm.py:32:14", sched.name = "column"} : () -> i32
    %column_3 = "arith.muli"(%column_2, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:32:14", sched.name = "column"} : (i32, i32) -> i32
    %a1 = "arith.addi"(%row_1, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:37:27", sched.name = "a1"} : (i32, i32) -> i32
    %c1:2 = "scf.for"(%1, %depth, %0, %2, %2) ({
    ^bb0(%k: i32, %c0: tensor<64x256xf32, #mma>, %c1_4: tensor<64x256xf32, #mma>):
      %a0 = "tt.descriptor_load"(%a_desc, %row_1, %k) {sched.location = "gemm.py:36:14", sched.name = "a0", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %a0_5 = "ttg.local_alloc"(%a0) {sched.location = "gemm.py:36:14", sched.name = "a0", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %a1_6 = "tt.descriptor_load"(%a_desc, %a1, %k) {sched.location = "gemm.py:37:14", sched.name = "a1", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %a1_7 = "ttg.local_alloc"(%a1_6) {sched.location = "gemm.py:37:14", sched.name = "a1", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %column_3) {sched.location = "gemm.py:38:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x256xf16, #shared>, i32, i32) -> tensor<64x256xf16, #blocked1>
      %b_8 = "ttg.local_alloc"(%b) {sched.location = "gemm.py:38:13", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %c0_9 = "ttng.warp_group_dot"(%a0_5, %b_8, %c0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm.py:39:14", sched.name = "c0", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, tensor<64x256xf32, #mma>) -> tensor<64x256xf32, #mma>
      %c1_10 = "ttng.warp_group_dot"(%a1_7, %b_8, %c1_4) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm.py:40:14", sched.name = "c1", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, tensor<64x256xf32, #mma>) -> tensor<64x256xf32, #mma>
      "scf.yield"(%c0_9, %c1_10) : (tensor<64x256xf32, #mma>, tensor<64x256xf32, #mma>) -> ()
    }) {sched.location = "gemm.py:35:5", sched.name = "k"} : (i32, i32, i32, tensor<64x256xf32, #mma>, tensor<64x256xf32, #mma>) -> (tensor<64x256xf32, #mma>, tensor<64x256xf32, #mma>)
    %3 = "arith.truncf"(%c1#0) {sched.location = "gemm.py:41:33"} : (tensor<64x256xf32, #mma>) -> tensor<64x256xf16, #mma>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "gemm.py:41:5"} : (tensor<64x256xf16, #mma>) -> tensor<64x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %4, %row_1, %column_3) {sched.location = "gemm.py:41:5"} : (!tt.tensordesc<64x256xf16, #shared>, tensor<64x256xf16, #blocked1>, i32, i32) -> ()
    %5 = "arith.addi"(%row_1, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:42:19"} : (i32, i32) -> i32
    %6 = "arith.truncf"(%c1#1) {sched.location = "gemm.py:42:37"} : (tensor<64x256xf32, #mma>) -> tensor<64x256xf16, #mma>
    %7 = "ttg.convert_layout"(%6) {sched.trivial = false, sched.location = "gemm.py:42:5"} : (tensor<64x256xf16, #mma>) -> tensor<64x256xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %7, %5, %column_3) {sched.location = "gemm.py:42:5"} : (!tt.tensordesc<64x256xf16, #shared>, tensor<64x256xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:26:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
