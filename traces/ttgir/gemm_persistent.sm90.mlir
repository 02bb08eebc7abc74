// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x128xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x128xf16, #shared>, i32, i32, i64, i64, i32, i32, i32) -> (), sym_name = "gemm_persistent", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x128xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x128xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %rows: i32, %columns: i32, %depth: i32):
    %0 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x128xf32, #mma>}> : () -> tensor<128x128xf32, #mma>
    %across = "arith.divsi"(%columns, %0) {sched.location = "gemm.py:72:14", sched.name = "across"} : (i32, i32) -> i32
    %4 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "gemm.py:73:23"} : () -> i32
    %5 = "arith.divsi"(%rows, %0) {sched.location = "gemm.py:73:41"} : (i32, i32) -> i32
    %6 = "arith.muli"(%5, %across) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:73:41"} : (i32, i32) -> i32
    %7 = "tt.get_num_programs"() <{axis = 0 : i32}> {sched.location = "gemm.py:73:61"} : () -> i32
    "scf.for"(%4, %6, %7) ({
    ^bb0(%tile: i32):
      %row = "arith.divsi"(%tile, %across) {sched.location = "gemm.py:74:15", sched.name = "row"} : (i32, i32) -> i32
      %row_0 = "arith.muli"(%row, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:74:15", sched.name = "row"} : (i32, i32) -> i32
      %column = "arith.remsi"(%tile, %across) {sched.location = "gemm.py:75:18", sched.name = "column"} : (i32, i32) -> i32
      %column_1 = "arith.muli"(%column, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "gemm.py:75:18", sched.name = "column"} : (i32, i32) -> i32
      %c = "scf.for"(%1, %depth, %2, %3) ({
      ^bb0(%k: i32, %c_2: tensor<128x128xf32, #mma>):
        %a = "tt.descriptor_load"(%a_desc, %row_0, %k) {sched.location = "gemm.py:78:17", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked>
        %a_3 = "ttg.local_alloc"(%a) {sched.location = "gemm.py:78:17", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %b = "tt.descriptor_load"(%b_desc, %k, %column_1) {sched.location = "gemm.py:79:17", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x128xf16, #shared>, i32, i32) -> tensor<64x128xf16, #blocked1>
        %b_4 = "ttg.local_alloc"(%b) {sched.location = "gemm.py:79:17", sched.name = "b", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x128xf16, #blocked1>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
        %c_5 = "ttng.warp_group_dot"(%a_3, %b_4, %c_2) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "gemm.py:80:17", sched.name = "c", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x128xf16, #shared, #smem>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
        "scf.yield"(%c_5) : (tensor<128x128xf32, #mma>) -> ()
      }) {sched.location = "gemm.py:77:9", sched.name = "k"} : (i32, i32, i32, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
      %8 = "arith.truncf"(%c) {sched.location = "gemm.py:81:37"} : (tensor<128x128xf32, #mma>) -> tensor<128x128xf16, #mma>
      %9 = "ttg.convert_layout"(%8) {sched.trivial = false, sched.location = "gemm.py:81:9"} : (tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #blocked1>
      "tt.descriptor_store"(%c_desc, %9, %row_0, %column_1) {sched.location = "gemm.py:81:9"} : (!tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #blocked1>, i32, i32) -> ()
      "scf.yield"() : () -> ()
    }) {sched.location = "gemm.py:73:5", sched.name = "tile"} : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "gemm.py:67:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
