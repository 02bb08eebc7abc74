// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "gemm_geglu", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<64x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %gate_desc: !tt.tensordesc<64x128xf16, #shared>, %gate_desc.shape.0: i32, %gate_desc.shape.1: i32, %gate_desc.stride.0: i64, %gate_desc.stride.1: i64, %up_desc: !tt.tensordesc<64x128xf16, #shared>, %up_desc.shape.0: i32, %up_desc.shape.1: i32, %up_desc.stride.0: i64, %up_desc.stride.1: i64, %c_desc: !tt.tensordesc<64x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %column = "arith.constant"() <{value = 128 : i32}> {sched.location = "gemm.py:91:14", sched.name = "column"} : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> {sched.location = "gemm.py:94:5"} : () -> i32
    %2 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x128xf32, #mma>}> : () -> tensor<64x128xf32, #mma>
    %c = "arith.constant"() <{value = dense<1.000000e+00> : tensor<64x128xf32, #mma>}> {sched.location = "gemm.py:100:20", sched.name = "c"} : () -> tensor<64x128xf32, #mma>
    %c_0 = "arith.constant"() <{value = dense<0.707106769> : tensor<64x128xf32, #mma>}> {sched.location = "gemm.py:100:31", sched.name = "c"} : () -> tensor<64x128xf32, #mma>
    %c_1 = "arith.constant"() <{value = dense<5.000000e-01> : tensor<64x128xf32, #mma>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : () -> tensor<64x128xf32, #mma>
    %row = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:90:11", sched.name = "row"} : () -> i32
    %row_2 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:90:11", sched.name = "row"} : (i32, i32) -> i32
    %column_3 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "gemm.py:91:14", sched.name = "column"} : () -> i32
    %column_4 = "arith.muli"(%column_3, %column) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:91:14", sched.name = "column"} : (i32, i32) -> i32
    %u:2 = "scf.for"(%1, %depth, %0, %2, %2) ({
    ^bb0(%k: i32, %g: tensor<64x128xf32, #mma>, %u_11: tensor<64x128xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %row_2, %k) {sched.location = "gemm.py:95:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %a_12 = "ttg.local_alloc"(%a) {sched.location = "gemm.py:95:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %gate = "tt.descriptor_load"(%gate_desc, %k, %column_4) {sched.location = "gemm.py:96:16", sched.name = "gate", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %gate_13 = "ttg.local_alloc"(%gate) {sched.location = "gemm.py:96:16", sched.name = "gate", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %up = "tt.descriptor_load"(%up_desc, %k, %column_4) {sched.location = "gemm.py:97:14", sched.name = "up", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 6 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
      %up_14 = "ttg.local_alloc"(%up) {sched.location = "gemm.py:97:14", sched.name = "up", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %g_15 = "ttng.warp_group_dot"(%a_12, %gate_13, %g) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm.py:98:13", sched.name = "g", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      %u_16 = "ttng.warp_group_dot"(%a_12, %up_14, %u_11) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm.py:99:13", sched.name = "u", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
      "scf.yield"(%g_15, %u_16) : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> ()
    }) {sched.location = "gemm.py:94:5", sched.name = "k"} : (i32, i32, i32, tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>)
    %c_5 = "arith.mulf"(%u#0, %c_1) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %c_6 = "arith.mulf"(%u#0, %c_0) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:31", sched.name = "c"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %c_7 = "math.erf"(%c_6) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:24", sched.name = "c"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %c_8 = "arith.addf"(%c_7, %c) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:20", sched.name = "c"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %c_9 = "arith.mulf"(%c_5, %c_8) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %c_10 = "arith.mulf"(%c_9, %u#1) <{fastmath = #arith.fastmath<none>}> {sched.location = "gemm.py:100:9", sched.name = "c"} : (tensor<64x128xf32, #mma>, tensor<64x128xf32, #mma>) -> tensor<64x128xf32, #mma>
    %3 = "arith.truncf"(%c_10) {sched.location = "gemm.py:101:33"} : (tensor<64x128xf32, #mma>) -> tensor<64x128xf16, #mma>
    %4 = "ttg.convert_layout"(%3) {sched.trivial = false, sched.location = "gemm.py:101:5"} : (tensor<64x128xf16, #mma>) -> tensor<64x128xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %4, %row_2, %column_4) {sched.location = "gemm.py:101:5"} : (!tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:85:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
