// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<64x64xsi8, #shared1>, i32, i32, i64, i64, !tt.tensordesc<128x64xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "four_bits", sym_visibility = "public"}> ({
  ^bb0(%a_desc: !tt.tensordesc<128x64xf16, #shared>, %a_desc.shape.0: i32, %a_desc.shape.1: i32, %a_desc.stride.0: i64, %a_desc.stride.1: i64, %b_desc: !tt.tensordesc<64x64xsi8, #shared1>, %b_desc.shape.0: i32, %b_desc.shape.1: i32, %b_desc.stride.0: i64, %b_desc.stride.1: i64, %c_desc: !tt.tensordesc<128x64xf16, #shared>, %c_desc.shape.0: i32, %c_desc.shape.1: i32, %c_desc.stride.0: i64, %c_desc.stride.1: i64, %depth: i32):
    %0 = "arith.constant"() <{value = dense<4> : tensor<64x64xi8, #blocked>}> : () -> tensor<64x64xi8, #blocked>
    %1 = "arith.constant"() <{value = 128 : i32}> : () -> i32
    %2 = "arith.constant"() <{value = 64 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 0 : i32}> {sched.location = "integers.py:76:5"} : () -> i32
    %4 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<128x64xf32, #mma>}> : () -> tensor<128x64xf32, #mma>
    %5 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:73:12"} : () -> i32
    %6 = "arith.muli"(%5, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:73:12"} : (i32, i32) -> i32
    %7 = "tt.get_program_id"() <{axis = 1 : i32}> {sched.location = "integers.py:73:34"} : () -> i32
    %8 = "arith.muli"(%7, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:73:34"} : (i32, i32) -> i32
    %high:2 = "scf.for"(%3, %depth, %2, %4, %4) ({
    ^bb0(%k: i32, %low: tensor<128x64xf32, #mma>, %high_0: tensor<128x64xf32, #mma>):
      %a = "tt.descriptor_load"(%a_desc, %6, %k) {sched.location = "integers.py:77:13", sched.name = "a", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 3 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 3 : i32} : (!tt.tensordesc<128x64xf16, #shared>, i32, i32) -> tensor<128x64xf16, #blocked1>
      %a_1 = "ttg.local_alloc"(%a) {sched.location = "integers.py:77:13", sched.name = "a", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<128x64xf16, #blocked1>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = "tt.descriptor_load"(%b_desc, %k, %8) {sched.location = "integers.py:78:13", sched.name = "b", sched.stage = 0 : i32, sched.cluster = 2 : i32, sched.slots = 2 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 3 : i32} : (!tt.tensordesc<64x64xsi8, #shared1>, i32, i32) -> tensor<64x64xi8, #blocked>
      %low_2 = "arith.shli"(%b, %0) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:79:27", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>, tensor<64x64xi8, #blocked>) -> tensor<64x64xi8, #blocked>
      %low_3 = "arith.shrsi"(%low_2, %0) {sched.location = "integers.py:79:26", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>, tensor<64x64xi8, #blocked>) -> tensor<64x64xi8, #blocked>
      %low_4 = "arith.sitofp"(%low_3) {sched.location = "integers.py:79:25", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>) -> tensor<64x64xf16, #blocked>
      %low_5 = "ttg.local_alloc"(%low_4) {sched.location = "integers.py:79:25", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %low_6 = "ttng.warp_group_dot"(%a_1, %low_5, %low) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "integers.py:79:15", sched.name = "low", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 8 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      %high_7 = "arith.shrsi"(%b, %0) {sched.location = "integers.py:80:27", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>, tensor<64x64xi8, #blocked>) -> tensor<64x64xi8, #blocked>
      %high_8 = "arith.sitofp"(%high_7) {sched.location = "integers.py:80:26", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xi8, #blocked>) -> tensor<64x64xf16, #blocked>
      %high_9 = "ttg.local_alloc"(%high_8) {sched.location = "integers.py:80:26", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32} : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %high_10 = "ttng.warp_group_dot"(%a_1, %high_9, %high_0) <{inputPrecision = 0 : i32, isAsync = false, maxNumImpreciseAcc = 0 : i32}> {sched.location = "integers.py:80:16", sched.name = "high", sched.stage = 2 : i32, sched.cluster = 0 : i32, sched.wait_stage = 2 : i32, sched.wait_before = 0 : i32} : (!ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, tensor<128x64xf32, #mma>) -> tensor<128x64xf32, #mma>
      "scf.yield"(%low_6, %high_10) : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> ()
    }) {sched.location = "integers.py:76:5", sched.name = "k"} : (i32, i32, i32, tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>)
    %9 = "arith.muli"(%7, %1) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:81:22"} : (i32, i32) -> i32
    %10 = "arith.truncf"(%high#0) {sched.location = "integers.py:81:30"} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf16, #mma>
    %11 = "ttg.convert_layout"(%10) {sched.trivial = false, sched.location = "integers.py:81:5"} : (tensor<128x64xf16, #mma>) -> tensor<128x64xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %11, %6, %9) {sched.location = "integers.py:81:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked1>, i32, i32) -> ()
    %12 = "arith.addi"(%9, %2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:82:22"} : (i32, i32) -> i32
    %13 = "arith.truncf"(%high#1) {sched.location = "integers.py:82:34"} : (tensor<128x64xf32, #mma>) -> tensor<128x64xf16, #mma>
    %14 = "ttg.convert_layout"(%13) {sched.trivial = false, sched.location = "integers.py:82:5"} : (tensor<128x64xf16, #mma>) -> tensor<128x64xf16, #blocked1>
    "tt.descriptor_store"(%c_desc, %14, %6, %12) {sched.location = "integers.py:82:5"} : (!tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #blocked1>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:71:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
