"""Makes the graphs that mix, count or repeat the samples of a batch, and others that were once read wrongly; adds them to outputs.json."""

import numpy as np, onnx, json, onnxruntime, pathlib
from onnx import helper, TensorProto, numpy_helper
N=helper.make_node; F=lambda a:np.asarray(a,dtype=np.float32); L=lambda a:np.asarray(a,dtype=np.int64)
def save(name,nodes,inits,shape,opset=13,dt=TensorProto.FLOAT):
    g=helper.make_graph(nodes,name,[helper.make_tensor_value_info("x",dt,shape)],[helper.make_tensor_value_info("y",dt,None)],[numpy_helper.from_array(v,k) for k,v in inits.items()])
    m=helper.make_model(g,opset_imports=[helper.make_opsetid("",opset)],ir_version=8)
    open(name+".onnx","wb").write(m.SerializeToString())
g=np.random.default_rng(0)
A=g.normal(size=(2,2)); B=g.normal(size=(2,2))
save("sum_of_three",[N("MatMul",["x","A"],["a"]),N("MatMul",["x","B"],["b"]),N("Sum",["a","b","x"],["y"])],{"A":A,"B":B},[1,2],dt=TensorProto.DOUBLE)
ch=[];cur="x";ini={}
for i in range(8):
    ch.append(N("Mul" if i%2==0 else "Add",[cur,f"k{i}"],[f"c{i}"])); cur=f"c{i}"; ini[f"k{i}"]=F([1.1+i,.7,-.3])
save("switches_after_constants",[N("Relu",["x"],["r"])]+ch+[N("HardSigmoid",[cur],["h"]),N("Concat",["r","h"],["y"],axis=1)],ini,[1,3])
save("matrix_on_the_left",[N("MatMul",["w","x"],["a"]),N("Gather",["a","i"],["y"],axis=2)],{"w":F(g.normal(size=(1,2,3))),"i":L([1])},[1,3,2])
save("column_minus_mean",[N("Sub",["x","m"],["a"]),N("MatMul",["w","a"],["b"]),N("Relu",["b"],["y"])],{"m":F(g.normal(size=(4,1))),"w":F(g.normal(size=(2,4)))},[4,1])
save("channels_first",[N("Sub",["x","m"],["a"]),N("Unsqueeze",["a","z"],["b"]),N("Conv",["b","k"],["c"]),N("Relu",["c"],["y"])],{"m":F(np.array([.1,.2,.3]).reshape(3,1,1)),"z":L([0]),"k":F(g.normal(size=(2,3,2,2)))},[3,3,3])
save("mean_of_all",[N("ReduceMean",["x"],["m"],keepdims=1),N("Sub",["x","m"],["a"]),N("Relu",["a"],["y"])],{},[4,3])
save("batch_in_a_constant",[N("Max",["x","c"],["y"])],{"c":F(np.tile([[.1,-.2,.3]],(4,1)))},[4,3])
save("batch_in_a_size",[N("Resize",["x","","","s"],["y"],mode="nearest",coordinate_transformation_mode="asymmetric",nearest_mode="floor")],{"s":L([2,1,4])},[2,1,2])
out=json.load(open("outputs.json")); r=np.random.default_rng(5)
for n in ["sum_of_three","switches_after_constants","matrix_on_the_left","column_minus_mean","channels_first","mean_of_all","batch_in_a_constant","batch_in_a_size"]:
    s=onnxruntime.InferenceSession(n+".onnx",providers=["CPUExecutionProvider"]); v=s.get_inputs()[0]
    cs=[]
    for _ in range(6):
        x=r.standard_normal(v.shape).astype(np.float64 if "double" in v.type else np.float32)
        (y,)=s.run(["y"],{"x":x}); cs.append({"input":[float(t) for t in x.flat],"output":[float(t) for t in y.flat]})
    out[n+".onnx"]=cs
lines=[f'  {json.dumps(k)}: {json.dumps(out[k])}' for k in sorted(out)]
open("outputs.json","w").write("{\n"+",\n".join(lines)+"\n}\n")
