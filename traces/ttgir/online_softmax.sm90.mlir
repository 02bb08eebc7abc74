// triton 3.9.0, sm_90
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<16x512xf16, #shared>, i32, i32, i64, i64, !tt.tensordesc<16x512xf16, #shared>, i32, i32, i64, i64, i32) -> (), sym_name = "online_softmax", sym_visibility = "public"}> ({
  ^bb0(%x_desc: !tt.tensordesc<16x512xf16, #shared>, %x_desc.shape.0: i32, %x_desc.shape.1: i32, %x_desc.stride.0: i64, %x_desc.stride.1: i64, %y_desc: !tt.tensordesc<16x512xf16, #shared>, %y_desc.shape.0: i32, %y_desc.shape.1: i32, %y_desc.stride.0: i64, %y_desc.stride.1: i64, %columns: i32):
    %row = "arith.constant"() <{value = 16 : i32}> {sched.location = "online_softmax.py:12:11", sched.name = "row"} : () -> i32
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 512 : i32}> : () -> i32
    %l = "arith.constant"() <{value = dense<0.000000e+00> : tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>}> {sched.location = "online_softmax.py:14:9", sched.name = "l"} : () -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %2 = "arith.constant"() <{value = dense<1.44269502> : tensor<16x512xf32, #blocked>}> : () -> tensor<16x512xf32, #blocked>
    %m = "arith.constant"() <{value = dense<0xFF800000> : tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>}> {sched.location = "online_softmax.py:13:9", sched.name = "m"} : () -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %row_0 = "tt.get_program_id"() <{axis = 0 : i32}> {sched.location = "online_softmax.py:12:11", sched.name = "row"} : () -> i32
    %row_1 = "arith.muli"(%row_0, %row) <{overflowFlags = #arith.overflow<none>}> {sched.location = "online_softmax.py:12:11", sched.name = "row"} : (i32, i32) -> i32
    %l_2:2 = "scf.for"(%0, %columns, %1, %m, %l) ({
    ^bb0(%start: i32, %m_11: tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, %l_12: tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>):
      %x = "tt.descriptor_load"(%x_desc, %row_1, %start) {sched.location = "online_softmax.py:16:13", sched.name = "x"} : (!tt.tensordesc<16x512xf16, #shared>, i32, i32) -> tensor<16x512xf16, #blocked>
      %x_13 = "arith.extf"(%x) {sched.location = "online_softmax.py:16:13", sched.name = "x"} : (tensor<16x512xf16, #blocked>) -> tensor<16x512xf32, #blocked>
      %x_14 = "arith.mulf"(%x_13, %2) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:16:13", sched.name = "x"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %n = "tt.reduce"(%x_14) <{axis = 1 : i32}> ({
      ^bb0(%n_28: f32, %n_29: f32):
        %n_30 = "arith.maxnumf"(%n_28, %n_29) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:17:27", sched.name = "n"} : (f32, f32) -> f32
        "tt.reduce.return"(%n_30) : (f32) -> ()
      }) {sched.location = "online_softmax.py:17:27", sched.name = "n"} : (tensor<16x512xf32, #blocked>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %n_15 = "arith.maxnumf"(%m_11, %n) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:17:13", sched.name = "n"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %l_16 = "arith.subf"(%m_11, %n_15) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:18:25", sched.name = "l"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %l_17 = "math.exp2"(%l_16) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:18:17", sched.name = "l"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %l_18 = "arith.mulf"(%l_12, %l_17) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:18:13", sched.name = "l"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %l_19 = "tt.expand_dims"(%n_15) <{axis = 1 : i32}> {sched.location = "online_softmax.py:18:53", sched.name = "l"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xf32, #blocked>
      %l_20 = "tt.broadcast"(%l_19) {sched.location = "online_softmax.py:18:49", sched.name = "l"} : (tensor<16x1xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %l_21 = "arith.subf"(%x_14, %l_20) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:18:49", sched.name = "l"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %l_22 = "math.exp2"(%l_21) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:18:41", sched.name = "l"} : (tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %l_23 = "tt.reduce"(%l_22) <{axis = 1 : i32}> ({
      ^bb0(%l_25: f32, %l_26: f32):
        %l_27 = "arith.addf"(%l_25, %l_26) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:18:34", sched.name = "l"} : (f32, f32) -> f32
        "tt.reduce.return"(%l_27) : (f32) -> ()
      }) {sched.location = "online_softmax.py:18:34", sched.name = "l"} : (tensor<16x512xf32, #blocked>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      %l_24 = "arith.addf"(%l_18, %l_23) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:18:13", sched.name = "l"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
      "scf.yield"(%n_15, %l_24) : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> ()
    }) {sched.location = "online_softmax.py:15:5", sched.name = "start"} : (i32, i32, i32, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>)
    %y = "tt.expand_dims"(%l_2#0) <{axis = 1 : i32}> {sched.location = "online_softmax.py:22:25", sched.name = "y"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xf32, #blocked>
    %y_3 = "tt.broadcast"(%y) {sched.location = "online_softmax.py:22:21", sched.name = "y"} : (tensor<16x1xf32, #blocked>) -> tensor<16x512xf32, #blocked>
    %y_4 = "tt.expand_dims"(%l_2#1) <{axis = 1 : i32}> {sched.location = "online_softmax.py:22:39", sched.name = "y"} : (tensor<16xf32, #ttg.slice<{dim = 1, parent = #blocked}>>) -> tensor<16x1xf32, #blocked>
    %y_5 = "tt.broadcast"(%y_4) {sched.location = "online_softmax.py:22:13", sched.name = "y"} : (tensor<16x1xf32, #blocked>) -> tensor<16x512xf32, #blocked>
    "scf.for"(%0, %columns, %1) ({
    ^bb0(%again: i32):
      %x = "tt.descriptor_load"(%x_desc, %row_1, %again) {sched.location = "online_softmax.py:21:13", sched.name = "x"} : (!tt.tensordesc<16x512xf16, #shared>, i32, i32) -> tensor<16x512xf16, #blocked>
      %x_6 = "arith.extf"(%x) {sched.location = "online_softmax.py:21:13", sched.name = "x"} : (tensor<16x512xf16, #blocked>) -> tensor<16x512xf32, #blocked>
      %x_7 = "arith.mulf"(%x_6, %2) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:21:13", sched.name = "x"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_8 = "arith.subf"(%x_7, %y_3) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:22:21", sched.name = "y"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_9 = "math.exp2"(%y_8) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:22:13", sched.name = "y"} : (tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %y_10 = "arith.divf"(%y_9, %y_5) <{fastmath = #arith.fastmath<none>}> {sched.location = "online_softmax.py:22:13", sched.name = "y"} : (tensor<16x512xf32, #blocked>, tensor<16x512xf32, #blocked>) -> tensor<16x512xf32, #blocked>
      %3 = "arith.truncf"(%y_10) {sched.location = "online_softmax.py:23:36"} : (tensor<16x512xf32, #blocked>) -> tensor<16x512xf16, #blocked>
      "tt.descriptor_store"(%y_desc, %3, %row_1, %again) {sched.location = "online_softmax.py:23:9"} : (!tt.tensordesc<16x512xf16, #shared>, tensor<16x512xf16, #blocked>, i32, i32) -> ()
      "scf.yield"() : () -> ()
    }) {sched.location = "online_softmax.py:20:5", sched.name = "again"} : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false, sched.location = "online_softmax.py:8:1"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = false} : () -> ()
