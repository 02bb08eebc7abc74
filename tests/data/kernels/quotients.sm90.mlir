// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<16x64xsi32, #shared>, i32, i32, i64, i64, !tt.tensordesc<16x64xsi32, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "quotients", sym_visibility = "public"}> ({
  ^bb0(%x_desc: !tt.tensordesc<16x64xsi32, #shared>, %x_desc.shape.0: i32, %x_desc.shape.1: i32, %x_desc.stride.0: i64, %x_desc.stride.1: i64, %y_desc: !tt.tensordesc<16x64xsi32, #shared>, %y_desc.shape.0: i32, %y_desc.shape.1: i32, %y_desc.stride.0: i64, %y_desc.stride.1: i64, %rows: i32):
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 16 : i32}> {sched.location = "integers.py:63:5"} : () -> i32
    %2 = "arith.constant"() <{value = dense<3> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %3 = "arith.constant"() <{value = dense<6> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %4 = "arith.constant"() <{value = dense<11> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %5 = "arith.constant"() <{value = dense<8> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %6 = "arith.constant"() <{value = dense<5> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %7 = "arith.constant"() <{value = dense<7> : tensor<16x64xi32, #blocked>}> : () -> tensor<16x64xi32, #blocked>
    %first = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "integers.py:62:13", sched.name = "first"} : () -> i32
    %first_0 = "arith.muli"(%first, %rows) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:62:13", sched.name = "first"} : (i32, i32) -> i32
    "scf.for"(%0, %rows, %1) ({
    ^bb0(%r: i32):
      %x = "arith.addi"(%first_0, %r) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:64:26", sched.name = "x"} : (i32, i32) -> i32
      %x_1 = "tt.descriptor_load"(%x_desc, %x, %0) {sched.location = "integers.py:64:13", sched.name = "x"} : (!tt.tensordesc<16x64xsi32, #shared>, i32, i32) -> tensor<16x64xi32, #blocked>
      %y = "arith.divsi"(%x_1, %7) {sched.location = "integers.py:65:13", sched.name = "y"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %y_2 = "arith.remsi"(%x_1, %6) {sched.location = "integers.py:65:22", sched.name = "y"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %y_3 = "arith.addi"(%y, %y_2) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:65:13", sched.name = "y"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %y_4 = "arith.divsi"(%x_1, %5) {sched.location = "integers.py:65:30", sched.name = "y"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %y_5 = "arith.subi"(%y_3, %y_4) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:65:13", sched.name = "y"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %8 = "arith.remui"(%x_1, %4) {sched.location = "integers.py:67:43"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %9 = "arith.addi"(%y_5, %8) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:67:38"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %10 = "arith.divui"(%x_1, %3) {sched.location = "integers.py:67:67"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %11 = "arith.shrui"(%10, %2) {sched.location = "integers.py:67:67"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      %12 = "arith.addi"(%9, %11) <{overflowFlags = #arith.overflow<none>}> {sched.location = "integers.py:67:38"} : (tensor<16x64xi32, #blocked>, tensor<16x64xi32, #blocked>) -> tensor<16x64xi32, #blocked>
      "tt.descriptor_store"(%y_desc, %12, %x, %0) {sched.location = "integers.py:67:9"} : (!tt.tensordesc<16x64xsi32, #shared>, tensor<16x64xi32, #blocked>, i32, i32) -> ()
      "scf.yield"() : () -> ()
    }) {sched.location = "integers.py:63:5", sched.name = "r"} : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "integers.py:60:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
