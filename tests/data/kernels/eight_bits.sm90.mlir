// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 32]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xsi8, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xsi8, #shared>, i32, i32, i64, i64, !tt.tensordesc<128x64xsi32, #shared1>, i32, i32, i64, i64, i32) -> (), sym_name = "eight_bits", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xsi8, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x64xsi8, #shared>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x64xsi32, #shared1>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %0 = "arith.constant"() <{value = 128 : i32}> {sched.location = "integers.py:88:12"} : () -> i32
    %1 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 0 : i32}> {sched.location = "integers.py:90:5"} : () -> i32
    %acc = "arith.constant"() <{value = dense<0> : tensor<128x64xi32, #mma>}> {sched.location = "integers.py:89:11", sched.name = "acc"} : () -> tensor<128x64xi32, #mma>
    %3 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:88:12"} : () -> i32
    %4 = "arith.muli"(%3, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:88:12"} : (i32, i32) -> i32
    %5 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "integers.py:88:34"} : () -> i32
    %6 = "arith.muli"(%5, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:88:34"} : (i32, i32) -> i32
    %acc_0 = "scf.for"(%2, %depth, %1, %acc) ({
    ^bb0(%k: i32, %acc_1: tensor<128x64xi32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %4, %k) {sched.location = "integers.py:91:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<128x64xsi8, #shared>, i32, i32) -> tensor<128x64xi8, #blocked>
      %a_2 = "ttg.local_alloc"(%a) {sched.location = "integers.py:91:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xi8, #blocked>) -> !ttg.memdesc<128x64xi8, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %6, %k) {sched.location = "integers.py:92:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 4 : i32} : (!tt.tensordesc<64x64xsi8, #shared>, i32, i32) -> tensor<64x64xi8, #blocked>
      %acc_3 = "ttg.local_alloc"(%b) {sched.location = "integers.py:93:25", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>) -> !ttg.memdesc<64x64xi8, #shared, #smem>
      %acc_4 = "ttg.memdesc_trans"(%acc_3) <{order = array<i32: 1, 0>}> {sched.location = "integers.py:93:25", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (!ttg.memdesc<64x64xi8, #shared, #smem>) -> !ttg.memdesc<64x64xi8, #shared2, #smem>
      %acc_5 = "ttng.warp_group_dot"(%a_2, %acc_4, %acc_1) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "integers.py:93:15", sched.name = "acc", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xi8, #shared, #smem>, !ttg.memdesc<64x64xi8, #shared2, #smem>, tensor<128x64xi32, #mma>) -> tensor<128x64xi32, #mma>
      "scf.yield"(%acc_5) : (tensor<128x64xi32, #mma>) -> ()
    }) {sched.location = "integers.py:90:5", sched.name = "k"} : (i32, i32, i32, tensor<128x64xi32, #mma>) -> tensor<128x64xi32, #mma>
    %7 = "ttg.convert_layout"(%acc_0) {sched.trivial = false, sched.location = "integers.py:94:5"} : (tensor<128x64xi32, #mma>) -> tensor<128x64xi32, #blocked1>
    "tt.descriptor_store"(%c_desc, %7, %4, %6) {sched.location = "integers.py:94:5"} : (!tt.tensordesc<128x64xsi32, #shared1>, tensor<128x64xi32, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:86:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
