// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {tt.divisibility = 16 : i32}, {}, {}], function_type = (!tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xf16, #shared>, i32, i32, i64, i64, !tt.ptr<f32>, i32, i32) -> (), sym_name = "split_depth", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<64x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x64xf16, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_ptr: !tt.ptr<f32>, %depth: i32, %columns: i32):
    %0 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 1 : i32}> {sched.location = "integers.py:112:49"} : () -> i32
    %acc = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> {sched.location = "integers.py:104:11", sched.name = "acc"} : () -> tensor<64x64xf32, #mma>
    %2 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:102:12"} : () -> i32
    %3 = "arith.muli"(%2, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:102:12"} : (i32, i32) -> i32
    %4 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "integers.py:102:34"} : () -> i32
    %5 = "arith.muli"(%4, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:102:34"} : (i32, i32) -> i32
    %begin = "tt.get_program_id"() <{axis = 2 : i32}> {sched.location = "integers.py:103:13", sched.name = "begin"} : () -> i32
    %begin_0 = "arith.muli"(%begin, %depth) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:103:13", sched.name = "begin"} : (i32, i32) -> i32
    %6 = "arith.addi"(%begin_0, %depth) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:105:27"} : (i32, i32) -> i32
    %acc_1 = "scf.for"(%begin_0, %6, %0, %acc) ({
    ^bb0(%k: i32, %acc_14: tensor<64x64xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %3, %k) {sched.location = "integers.py:106:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %a_15 = "ttg.local_alloc"(%a) {sched.location = "integers.py:106:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %5, %k) {sched.location = "integers.py:107:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %acc_16 = "ttg.local_alloc"(%b) {sched.location = "integers.py:108:25", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %acc_17 = "ttg.memdesc_trans"(%acc_16) <{order = array<i32: 1, 0>}> {sched.location = "integers.py:108:25", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>) -> !ttg.memdesc<64x64xf16, #shared1, #smem>
      %acc_18 = "ttng.warp_group_dot"(%a_15, %acc_17, %acc_14) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "integers.py:108:15", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared1, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      "scf.yield"(%acc_18) : (tensor<64x64xf32, #mma>) -> ()
    }) {sched.location = "integers.py:105:5", sched.name = "k"} : (i32, i32, i32, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
    %rows = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "integers.py:109:16", sched.name = "rows"} : () -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %rows_2 = "tt.make_range"() <{end = 64 : i32, start = 0 : i32}> {sched.location = "integers.py:109:16", sched.name = "rows"} : () -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %rows_3 = "tt.splat"(%3) {sched.location = "integers.py:109:12", sched.name = "rows"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %rows_4 = "arith.addi"(%rows_3, %rows) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:109:12", sched.name = "rows"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
    %cols = "tt.splat"(%5) {sched.location = "integers.py:110:12", sched.name = "cols"} : (i32) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %cols_5 = "arith.addi"(%cols, %rows_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:110:12", sched.name = "cols"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>
    %at = "tt.expand_dims"(%rows_4) <{axis = 1 : i32}> {sched.location = "integers.py:111:18", sched.name = "at"} : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>) -> tensor<64x1xi32, #blocked1>
    %at_6 = "tt.splat"(%columns) {sched.location = "integers.py:111:18", sched.name = "at"} : (i32) -> tensor<64x1xi32, #blocked1>
    %at_7 = "arith.muli"(%at, %at_6) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:111:18", sched.name = "at"} : (tensor<64x1xi32, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1xi32, #blocked1>
    %at_8 = "tt.splat"(%c_ptr) {sched.location = "integers.py:111:10", sched.name = "at"} : (!tt.ptr<f32>) -> tensor<64x1x!tt.ptr<f32>, #blocked1>
    %at_9 = "tt.addptr"(%at_8, %at_7) {sched.location = "integers.py:111:10", sched.name = "at"} : (tensor<64x1x!tt.ptr<f32>, #blocked1>, tensor<64x1xi32, #blocked1>) -> tensor<64x1x!tt.ptr<f32>, #blocked1>
    %at_10 = "tt.expand_dims"(%cols_5) <{axis = 0 : i32}> {sched.location = "integers.py:111:44", sched.name = "at"} : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked1}>>) -> tensor<1x64xi32, #blocked1>
    %at_11 = "tt.broadcast"(%at_9) {sched.location = "integers.py:111:10", sched.name = "at"} : (tensor<64x1x!tt.ptr<f32>, #blocked1>) -> tensor<64x64x!tt.ptr<f32>, #blocked1>
    %at_12 = "tt.broadcast"(%at_10) {sched.location = "integers.py:111:10", sched.name = "at"} : (tensor<1x64xi32, #blocked1>) -> tensor<64x64xi32, #blocked1>
    %at_13 = "tt.addptr"(%at_11, %at_12) {sched.location = "integers.py:111:10", sched.name = "at"} : (tensor<64x64x!tt.ptr<f32>, #blocked1>, tensor<64x64xi32, #blocked1>) -> tensor<64x64x!tt.ptr<f32>, #blocked1>
    %7 = "arith.subi"(%columns, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:112:49"} : (i32, i32) -> i32
    %8 = "tt.splat"(%7) {sched.location = "integers.py:112:33"} : (i32) -> tensor<1x64xi32, #blocked1>
    %9 = "arith.cmpi"(%at_10, %8) <{predicate = 2 : i64}> {sched.location = "integers.py:112:33"} : (tensor<1x64xi32, #blocked1>, tensor<1x64xi32, #blocked1>) -> tensor<1x64xi1, #blocked1>
    %10 = "tt.broadcast"(%9) {sched.location = "integers.py:112:5"} : (tensor<1x64xi1, #blocked1>) -> tensor<64x64xi1, #blocked1>
    %11 = "ttg.convert_layout"(%acc_1) {sched.trivial = false, sched.location = "integers.py:112:5"} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #blocked1>
    %12 = "tt.atomic_rmw"(%at_13, %11, %10) <{atomic_rmw_op = 5 : i32, scope = 1 : i32, sem = 4 : i32}> {sched.location = "integers.py:112:5"} : (tensor<64x64x!tt.ptr<f32>, #blocked1>, tensor<64x64xf32, #blocked1>, tensor<64x64xi1, #blocked1>) -> tensor<64x64xf32, #blocked1>
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:98:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
