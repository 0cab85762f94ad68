"""`fiberscope regions --export` against trimesh (OBJ) and VTK (legacy VTK).

The environment variable FIBERSCOPE names the command. Run with `pytest test_meshes.py`.
"""

import json
import os
import subprocess

import numpy as np
import pytest

FIBERSCOPE = os.environ.get("FIBERSCOPE")
pytestmark = pytest.mark.skipif(FIBERSCOPE is None, reason="FIBERSCOPE does not name the command")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    rng = np.random.default_rng(3)
    widths = [3, 6, 4, 1]
    pairs = [(rng.normal(size=(m, n)), 0.3 * rng.normal(size=m)) for n, m in zip(widths, widths[1:])]
    np.savez(folder / "net.npz", **{f"{k}{l}": x for l, pair in enumerate(pairs, 1) for k, x in zip("Wb", pair)})
    files = [str(folder / f"mesh.{ending}") for ending in ("obj", "vtk", "json")]
    flags = [flag for file in files for flag in ("--export", file)]
    done = subprocess.run(
        [FIBERSCOPE, "regions", str(folder / "net.npz"), "--box", "-1,1", "--json", *flags],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return files, json.loads(done.stdout)


def test_trimesh_reads_the_obj(exported):
    trimesh = pytest.importorskip("trimesh")
    (obj, _, _), result = exported
    scene = trimesh.load_scene(obj)
    meshes = list(scene.geometry.values())
    triangles = sum(len(mesh.faces) for mesh in meshes)
    # A polygon with n corners makes n - 2 triangles, and there are as many polygons as facets.
    assert triangles > result["facets"] > 0
    low, high = scene.bounds
    assert np.all(low >= -1 - 1e-9) and np.all(high <= 1 + 1e-9)
    assert all(np.all(mesh.area_faces > 0) for mesh in meshes)


def test_vtk_reads_the_vtk(exported):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    (_, file, _), result = exported
    reader = vtk.vtkPolyDataReader()
    reader.SetFileName(file)
    reader.ReadAllScalarsOn()
    reader.Update()
    data = reader.GetOutput()
    assert data.GetNumberOfPolys() == result["facets"]
    cells = {data.GetCellData().GetArrayName(i) for i in range(data.GetCellData().GetNumberOfArrays())}
    assert cells == {"layer", "unit", "visible", "weight"}
    column = lambda name: vtk_to_numpy(data.GetCellData().GetArray(name))  # noqa: E731
    assert set(column("layer")) == {1, 2} and set(column("unit")) <= set(range(1, 7))
    assert column("visible").sum() == result["visible_facets"]
    assert np.array_equal(column("weight") > 0, column("visible") == 1)
    # Every polygon is flat: its corners lie in the plane of its normal.
    points = vtk_to_numpy(data.GetPoints().GetData())
    for i in range(data.GetNumberOfCells()):
        ids = data.GetCell(i).GetPointIds()
        corners = points[[ids.GetId(k) for k in range(ids.GetNumberOfIds())]]
        assert len(corners) >= 3
        _, sizes, _ = np.linalg.svd(corners - corners.mean(axis=0))
        assert sizes[1] > 1e-9 and (len(sizes) < 3 or sizes[2] < 1e-7)
