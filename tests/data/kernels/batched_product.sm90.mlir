// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32) -> (), sym_name = "batched_product", sym_visibility = "public"}> ({
  ^bb0(%a_ptr: !tt.ptr<f16>, %b_ptr: !tt.ptr<f16>, %c_ptr: !tt.ptr<f16>, %rows: i32, %columns: i32, %depth: i32):
    %0 = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> {sched.location = "integers.py:129:5"} : () -> i32
    %acc = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> {sched.location = "integers.py:128:11", sched.name = "acc"} : () -> tensor<64x64xf32, #mma>
    %batch = "tt.get_program_id"() <{axis = 2 : i32}> {sched.location = "integers.py:121:13", sched.name = "batch"} : () -> i32
    %batch_0 = "arith.extsi"(%batch) {sched.location = "integers.py:121:13", sched.name = "batch"} : (i32) -> i64
    %a = "arith.extsi"(%rows) {sched.location = "integers.py:122:43", sched.name = "a"} : (i32) -> i64
    %a_1 = "arith.muli"(%batch_0, %a) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:122:43", sched.name = "a"} : (i64, i64) -> i64
    %a_2 = "arith.extsi"(%depth) {sched.location = "integers.py:122:43", sched.name = "a"} : (i32) -> i64
    %a_3 = "arith.muli"(%a_1, %a_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:122:43", sched.name = "a"} : (i64, i64) -> i64
    %a_4 = "tt.addptr"(%a_ptr, %a_3) {sched.location = "integers.py:122:35", sched.name = "a"} : (!tt.ptr<f16>, i64) -> !tt.ptr<f16>
    %a_5 = "tt.make_tensor_descriptor"(%a_4, %rows, %depth, %a_2, %0) <{padding = 1 : i32}> {sched.location = "integers.py:122:9", sched.name = "a"} : (!tt.ptr<f16>, i32, i32, i64, i64) -> !tt.tensordesc<64x64xf16, #shared>
    %b = "arith.extsi"(%columns) {sched.location = "integers.py:123:9", sched.name = "b"} : (i32) -> i64
    %b_6 = "tt.make_tensor_descriptor"(%b_ptr, %depth, %columns, %b, %0) <{padding = 1 : i32}> {sched.location = "integers.py:123:9", sched.name = "b"} : (!tt.ptr<f16>, i32, i32, i64, i64) -> !tt.tensordesc<64x64xf16, #shared>
    %c = "arith.muli"(%a_1, %b) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:125:17", sched.name = "c"} : (i64, i64) -> i64
    %c_7 = "tt.addptr"(%c_ptr, %c) {sched.location = "integers.py:125:9", sched.name = "c"} : (!tt.ptr<f16>, i64) -> !tt.ptr<f16>
    %c_8 = "tt.make_tensor_descriptor"(%c_7, %rows, %columns, %b, %0) <{padding = 1 : i32}> {sched.location = "integers.py:124:9", sched.name = "c"} : (!tt.ptr<f16>, i32, i32, i64, i64) -> !tt.tensordesc<64x64xf16, #shared>
    %3 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:127:19"} : () -> i32
    %4 = "arith.muli"(%3, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:127:19"} : (i32, i32) -> i32
    %5 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "integers.py:127:41"} : () -> i32
    %6 = "arith.muli"(%5, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:127:41"} : (i32, i32) -> i32
    %acc_9 = "scf.for"(%2, %depth, %1, %acc) ({
    ^bb0(%k: i32, %acc_10: tensor<64x64xf32, #mma>):
      %acc_11 = "tt.descriptor_load"(%a_5, %4, %k) {sched.location = "integers.py:130:22", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %acc_12 = "ttg.local_alloc"(%acc_11) {sched.location = "integers.py:130:22", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %acc_13 = "tt.descriptor_load"(%b_6, %k, %6) {sched.location = "integers.py:130:40", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
      %acc_14 = "ttg.local_alloc"(%acc_13) {sched.location = "integers.py:130:40", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %acc_15 = "ttng.warp_group_dot"(%acc_12, %acc_14, %acc_10) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "integers.py:130:15", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      "scf.yield"(%acc_15) : (tensor<64x64xf32, #mma>) -> ()
    }) {sched.location = "integers.py:129:5", sched.name = "k"} : (i32, i32, i32, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
    %7 = "arith.truncf"(%acc_9) {sched.location = "integers.py:131:28"} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
    %8 = "ttg.convert_layout"(%7) {sched.trivial = false, sched.location = "integers.py:131:5"} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #blocked>
    "tt.descriptor_store"(%c_8, %8, %4, %6) {sched.location = "integers.py:131:5"} : (!tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:116:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
