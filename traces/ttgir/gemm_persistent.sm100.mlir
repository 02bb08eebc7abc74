// triton 3.9.0, sm_100
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, colStride = 1>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x256xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x256xf16, #shared>, i32, i32, i64, i64, i32, i32, i32) -> (), sym_name = "gemm_persistent", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x256xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x256xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %rows: i32, %columns: i32, %depth: i32):
    %0 = "arith.constant"() <{value = false}> : () -> i1
    %1 = "arith.constant"() <{value = true}> : () -> i1
    %2 = "arith.constant"() <{value = 256 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %6 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x256xf32, #linear>}> : () -> tensor<128x256xf32, #linear>
    %across = "arith.divsi"(%columns, %2) {sched.location = "gemm.py:72:14", sched.name = "across"} : (i32, i32) -> i32
    %7 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:73:23"} : () -> i32
    %8 = "arith.divsi"(%rows, %3) {sched.location = "gemm.py:73:41"} : (i32, i32) -> i32
    %9 = "arith.muli"(%8, %across) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:73:41"} : (i32, i32) -> i32
    %10 = "tt.get_num_programs"() <{axis = 0 : i32}> {sched.location = "gemm.py:73:61"} : () -> i32
    "scf.for"(%7, %9, %10) ({
    ^bb0(%tile: i32):
      %row = "arith.divsi"(%tile, %across) {sched.location = "gemm.py:74:15", sched.name = "row"} : (i32, i32) -> i32
      %row_0 = "arith.muli"(%row, %3) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:74:15", sched.name = "row"} : (i32, i32) -> i32
      %column = "arith.remsi"(%tile, %across) {sched.location = "gemm.py:75:18", sched.name = "column"} : (i32, i32) -> i32
      %column_1 = "arith.muli"(%column, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:75:18", sched.name = "column"} : (i32, i32) -> i32
      %c:2 = "ttng.tmem_alloc"() {sched.location = "gemm.py:80:17", sched.name = "c"} : () -> (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
      %c_2 = "ttng.tmem_store"(%c#0, %c#1, %6, %1) {sched.location = "gemm.py:80:17", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, tensor<128x256xf32, #linear>, i1) -> !ttg.async.token
      %c_3:2 = "scf.for"(%4, %depth, %5, %0, %c_2) ({
      ^bb0(%k: i32, %c_5: i1, %c_6: !ttg.async.token):
        %a = "tt.descriptor_load"(%a_desc, %row_0, %k) {sched.location = "gemm.py:78:17", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
        %a_7 = "ttg.local_alloc"(%a) {sched.location = "gemm.py:78:17", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %b = "tt.descriptor_load"(%b_desc, %k, %column_1) {sched.location = "gemm.py:79:17", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x256xf16, #shared>, i32, i32) -> tensor<64x256xf16, #blocked1>
        %b_8 = "ttg.local_alloc"(%b) {sched.location = "gemm.py:79:17", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x256xf16, #blocked1>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
        %c_9 = "ttng.tc_gen5_mma"(%a_7, %b_8, %c#0, %c_6, %c_5, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}> {sched.location = "gemm.py:80:17", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x256xf16, #shared, #smem>, !ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token, i1, i1) -> !ttg.async.token
        "scf.yield"(%1, %c_9) : (i1, !ttg.async.token) -> ()
      }) {sched.location = "gemm.py:77:9", sched.name = "k"} : (i32, i32, i32, i1, !ttg.async.token) -> (i1, !ttg.async.token)
      %c_4:2 = "ttng.tmem_load"(%c#0, %c_3#1) <{resultSegmentSizes = array<i32: 1, 1, 0>}> {sched.location = "gemm.py:80:17", sched.name = "c"} : (!ttg.memdesc<128x256xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token) -> (tensor<128x256xf32, #linear>, !ttg.async.token)
      %11 = "arith.truncf"(%c_4#0) {sched.location = "gemm.py:81:37"} : (tensor<128x256xf32, #linear>) -> tensor<128x256xf16, #linear>
      %12 = "ttg.convert_layout"(%11) {sched.trivial = false, sched.location = "gemm.py:81:9"} : (tensor<128x256xf16, #linear>) -> tensor<128x256xf16, #blocked1>
      "tt.descriptor_store"(%c_desc, %12, %row_0, %column_1) {sched.location = "gemm.py:81:9"} : (!tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked1>, i32, i32) -> ()
      "scf.yield"() : () -> ()
    }) {sched.location = "gemm.py:73:5", sched.name = "tile"} : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:67:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
