// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f16>, !tt.ptr<f16>, !tt.ptr<f16>, i32, i32, i32) -> (), sym_name = "product_of_tiles", sym_visibility = "public"}> ({
  ^bb0(%a_ptr: !tt.ptr<f16>, %b_ptr: !tt.ptr<f16>, %c_ptr: !tt.ptr<f16>, %rows: i32, %columns: i32, %depth: i32):
    %0 = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %1 = "arith.constant"() <{value = 3 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %4 = "arith.constant"() <{value = 63 : i32}> : () -> i32
    %5 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #mma>}> : () -> tensor<64x64xf32, #mma>
    %a = "arith.extsi"(%depth) {sched.location = "integers.py:140:9", sched.name = "a"} : (i32) -> i64
    %a_0 = "tt.make_tensor_descriptor"(%a_ptr, %rows, %depth, %a, %0) <{padding = 1 : i32}> {sched.location = "integers.py:140:9", sched.name = "a"} : (!tt.ptr<f16>, i32, i32, i64, i64) -> !tt.tensordesc<64x64xf16, #shared>
    %b = "arith.extsi"(%columns) {sched.location = "integers.py:141:9", sched.name = "b"} : (i32) -> i64
    %b_1 = "tt.make_tensor_descriptor"(%b_ptr, %depth, %columns, %b, %0) <{padding = 1 : i32}> {sched.location = "integers.py:141:9", sched.name = "b"} : (!tt.ptr<f16>, i32, i32, i64, i64) -> !tt.tensordesc<64x64xf16, #shared>
    %c = "tt.make_tensor_descriptor"(%c_ptr, %rows, %columns, %b, %0) <{padding = 1 : i32}> {sched.location = "integers.py:142:9", sched.name = "c"} : (!tt.ptr<f16>, i32, i32, i64, i64) -> !tt.tensordesc<64x64xf16, #shared>
    %6 = "arith.addi"(%columns, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:143:21"} : (i32, i32) -> i32
    %7 = "arith.divsi"(%6, %2) {sched.location = "integers.py:143:21"} : (i32, i32) -> i32
    %8 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:143:42"} : () -> i32
    %stored = "arith.subi"(%8, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:144:14", sched.name = "stored"} : (i32, i32) -> i32
    %9 = "arith.addi"(%rows, %4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:145:33"} : (i32, i32) -> i32
    %10 = "arith.divsi"(%9, %2) {sched.location = "integers.py:145:33"} : (i32, i32) -> i32
    %11 = "arith.muli"(%10, %7) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:145:33"} : (i32, i32) -> i32
    %stored_2 = "scf.for"(%8, %11, %1, %stored) ({
    ^bb0(%tile: i32, %stored_3: i32):
      %acc = "scf.for"(%3, %depth, %2, %5) ({
      ^bb0(%k: i32, %acc_5: tensor<64x64xf32, #mma>):
        %acc_6 = "arith.divsi"(%tile, %7) {sched.location = "integers.py:148:34", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
        %acc_7 = "arith.muli"(%acc_6, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:148:34", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
        %acc_8 = "tt.descriptor_load"(%a_0, %acc_7, %k) {sched.location = "integers.py:148:26", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 8 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
        %acc_9 = "ttg.local_alloc"(%acc_8) {sched.location = "integers.py:148:26", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
        %acc_10 = "arith.remsi"(%tile, %7) {sched.location = "integers.py:148:70", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
        %acc_11 = "arith.muli"(%acc_10, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:148:70", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32} : (i32, i32) -> i32
        %acc_12 = "tt.descriptor_load"(%b_1, %k, %acc_11) {sched.location = "integers.py:148:59", sched.name = "acc", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 8 : i32} : (!tt.tensordesc<64x64xf16, #shared>, i32, i32) -> tensor<64x64xf16, #blocked>
        %acc_13 = "ttg.local_alloc"(%acc_12) {sched.location = "integers.py:148:59", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
        %acc_14 = "ttng.warp_group_dot"(%acc_9, %acc_13, %acc_5) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "integers.py:148:19", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 3 : i32, sched.wait_before = 2 : i32} : (!ttg.memdesc<64x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
        "scf.yield"(%acc_14) : (tensor<64x64xf32, #mma>) -> ()
      }) {sched.location = "integers.py:147:9", sched.name = "k"} : (i32, i32, i32, tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma>
      %stored_4 = "arith.addi"(%stored_3, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:149:9", sched.name = "stored"} : (i32, i32) -> i32
      %12 = "arith.divsi"(%stored_4, %7) {sched.location = "integers.py:150:18"} : (i32, i32) -> i32
      %13 = "arith.muli"(%12, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:150:18"} : (i32, i32) -> i32
      %14 = "arith.remsi"(%stored_4, %7) {sched.location = "integers.py:150:40"} : (i32, i32) -> i32
      %15 = "arith.muli"(%14, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:150:40"} : (i32, i32) -> i32
      %16 = "arith.truncf"(%acc) {sched.location = "integers.py:150:62"} : (tensor<64x64xf32, #mma>) -> tensor<64x64xf16, #mma>
      %17 = "ttg.convert_layout"(%16) {sched.trivial = false, sched.location = "integers.py:150:9"} : (tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #blocked>
      "tt.descriptor_store"(%c, %17, %13, %15) {sched.location = "integers.py:150:9"} : (!tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>, i32, i32) -> ()
      "scf.yield"(%stored_4) : (i32) -> ()
    }) {tt.flatten, sched.location = "integers.py:145:5", sched.name = "tile"} : (i32, i32, i32, i32) -> i32
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:135:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
