"""A click-through of the explorer page."""

import json
import math
import pathlib

from conftest import settle

DATA = pathlib.Path(__file__).resolve().parents[3] / "crates/fiberscope-io/tests/data"
FOLD = "[...window.explorer.view.picture.folds]"


def verdict(page):
    settle(page)
    return page.text("#verdict .badge")


def example(page, name):
    page.choose("#examples", name)
    settle(page)


def spot(page, fold_filter):
    """The middle of the longest fold that fits, in pixels of the window, with its neuron."""
    return page.js(f"""(() => {{
      const view = window.explorer.view;
      const box = view.canvas.getBoundingClientRect();
      const inside = ([x, y]) => x > 80 && y > 40 && x < view.width - 60 && y < view.height - 60;
      const middle = (f) => view.toScreen([(f.p[0] + f.p[2]) / 2, (f.p[1] + f.p[3]) / 2]);
      const length = (f) => Math.hypot(f.p[2] - f.p[0], f.p[3] - f.p[1]);
      const fold = {FOLD}.filter({fold_filter}).filter((f) => inside(middle(f))).sort((a, b) => length(b) - length(a))[0];
      const [x, y] = middle(fold);
      return {{x: x + box.x, y: y + box.y, l: fold.l, u: fold.u, w: fold.w}};
    }})()""")


def free_spot(page):
    """A point well inside the largest region."""
    return page.js("""(() => {
      const view = window.explorer.view;
      const box = view.canvas.getBoundingClientRect();
      let best = null;
      for (let x = 70; x < view.width - 40; x += 12) for (let y = 30; y < view.height - 60; y += 12) {
        const room = Math.min(...view.picture.folds.map((f) => segment([x, y], view.toScreen([f.p[0], f.p[1]]), view.toScreen([f.p[2], f.p[3]]))));
        if (!best || room > best.room) best = {room, x: x + box.x, y: y + box.y, at: view.toPlane([x, y])};
      }
      function segment([x, y], [ax, ay], [bx, by]) {
        const [dx, dy] = [bx - ax, by - ay];
        const t = Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy), 0), 1);
        return Math.hypot(x - ax - t * dx, y - ay - t * dy);
      }
      return best;
    })()""")


def network(page, which="current"):
    return json.loads(page.js(f"window.explorer.app.{which}"))


def signs(layers, x):
    """The sign vector and the value at a point, computed here."""
    out = []
    for layer in layers:
        z = [b + sum(w * v for w, v in zip(row, x)) for row, b in zip(layer["weight"], layer["bias"])]
        if layer["activation"] == "relu":
            out.append("".join("+" if v > 0 else "-" if v < 0 else "0" for v in z))
            x = [max(v, 0) for v in z]
        else:
            x = z
    return "|".join(out), x


def test_the_page_opens_with_an_example(explorer, shots):
    assert "2-3-2-1" in explorer.text("#title")
    assert verdict(explorer) == "✓ yes"
    assert int(explorer.text("#count").split()[0]) > 5
    colours = explorer.js("""(() => {
      const c = document.getElementById("plane");
      const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      const seen = new Set();
      for (let i = 0; i < d.length; i += 4 * 97) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
      return seen.size;
    })()""")
    assert colours > 20
    explorer.screenshot(shots / "explorer-light.png")
    assert all(url.startswith(("file:", "data:", "blob:")) for url in explorer.requests)


def test_hovering_reads_a_region(explorer):
    at = free_spot(explorer)
    explorer.move(at["x"], at["y"])
    explorer.wait("document.querySelector('#signs') !== null")
    expected, value = signs(network(explorer)["layers"], at["at"])
    assert explorer.text("#signs") == expected
    reading = explorer.js("window.explorer.page.reading.region")
    assert math.isclose(reading["value"][0], value[0], rel_tol=1e-12)
    affine = sum(a * x for a, x in zip(reading["matrix"][0], at["at"])) + reading["constant"][0]
    assert math.isclose(affine, value[0], rel_tol=1e-9, abs_tol=1e-12)
    assert "x1" in explorer.text(".affine") and "x2" in explorer.text(".affine")


def test_clicking_a_line_tells_its_weight(explorer, shots):
    at = spot(explorer, "(f) => f.visible")
    explorer.click_at(at["x"], at["y"])
    explorer.frame()
    assert explorer.text("#facet-weight") not in ("", "0")
    assert explorer.js("window.explorer.app.marks.neuron") == [at["l"], at["u"]]
    assert explorer.js("document.getElementById('layer').value") == str(at["l"])
    hidden = spot(explorer, "(f) => f.hidden")
    explorer.click_at(hidden["x"], hidden["y"])
    explorer.frame()
    assert explorer.text("#facet-weight") == "0" and "hidden" in explorer.text("#reading")
    explorer.screenshot(shots / "explorer-weight.png")


def test_dragging_a_line_changes_the_function(explorer, shots):
    at = spot(explorer, "(f) => f.visible && f.l === 0")
    before = network(explorer)["layers"][at["l"]]["bias"][at["u"]]
    explorer.drag((at["x"], at["y"]), (at["x"] + 30, at["y"] + 22))
    assert verdict(explorer) == "✕ no"
    assert network(explorer)["layers"][at["l"]]["bias"][at["u"]] != before
    assert "1 of 20 parameters differ from the start" in explorer.text("#verdict")
    witness = explorer.js("window.explorer.app.verdict.witness")
    _, now = signs(network(explorer)["layers"], witness["x"])
    _, then = signs(network(explorer, "start")["layers"], witness["x"])
    assert math.isclose(now[0], witness["b"][0], abs_tol=1e-9) and now[0] != then[0]
    explorer.screenshot(shots / "explorer-different.png")
    explorer.click("#reset")
    assert verdict(explorer) == "✓ yes"
    assert network(explorer) == network(explorer, "start")


def test_the_line_follows_the_pointer(explorer):
    at = spot(explorer, "(f) => f.visible && f.l === 0")
    explorer.drag((at["x"], at["y"]), (at["x"] + 25, at["y"] - 18))
    explorer.frame()
    gap = explorer.js(f"""(() => {{
      const view = window.explorer.view;
      const box = view.canvas.getBoundingClientRect();
      const [x, y] = view.toPlane([{at["x"] + 25} - box.x, {at["y"] - 18} - box.y]);
      const row = window.explorer.app.network.layers[{at["l"]}];
      const [a, b] = row.weight[{at["u"]}];
      return Math.abs(a * x + b * y + row.bias[{at["u"]}]) / Math.hypot(a, b) * view.scale;
    }})()""")
    assert gap < 8  # the pointer took hold up to seven pixels beside the line


def drawn_line(page, layer):
    """A point of a line as it was painted: a pixel of the layer's colour with others like it around, in pixels of the window."""
    return page.js(f"""(() => {{
      const canvas = document.getElementById("plane");
      const box = canvas.getBoundingClientRect();
      const hex = ["#0072b2", "#d55e00"][{layer}];
      const wanted = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const like = (x, y) => wanted.every((value, k) => Math.abs(pixels[4 * (y * canvas.width + x) + k] - value) < 12);
      for (let y = Math.round(0.3 * canvas.height); y < 0.8 * canvas.height; y++) {{
        for (let x = Math.round(0.2 * canvas.width); x < 0.9 * canvas.width; x++) {{
          if (like(x, y)) return [box.x + ((x + 0.5) * box.width) / canvas.width, box.y + ((y + 0.5) * box.height) / canvas.height];
        }}
      }}
      return null;
    }})()""")


def test_a_drawn_line_is_dragged_at_every_size(browser, explorer_file):
    for width, height, ratio in [(1360, 900, 1), (1024, 640, 1.5), (800, 1100, 2), (420, 900, 3)]:
        page = browser.page(width, height)
        page.size(width, height, ratio)
        page.open(f"file://{explorer_file}", "document.documentElement.dataset.ready === 'yes'")
        page.scheme("light")
        for step in range(2):
            settle(page)
            page.frame()
            place = (width, height, ratio, step)
            size = page.js("""(() => { const c = document.getElementById("plane"), b = c.getBoundingClientRect();
              return [c.width / b.width, c.height / b.height, devicePixelRatio]; })()""")
            assert all(math.isclose(each, ratio, rel_tol=0.01) for each in size), (place, size)
            at = drawn_line(page, 0)
            assert at is not None, place
            page.drag(at, (at[0] + 14, at[1] + 10))
            assert verdict(page) == "✕ no", place
            assert "1 of 20 parameters differ" in page.text("#verdict"), place
            page.click("#reset")
            # Another size, without a reload.
            page.size(width - 60, height - 40, ratio)
        assert page.errors == []
        page.close()


def test_planes_go_through_chosen_inputs(explorer, shots, tmp_path):
    example(explorer, "zoo:hiding-two")
    explorer.js("document.getElementById('view-card').open = true")
    explorer.js("document.getElementById('through').value = '0, 0, 0\\n1, 1, 0\\n0, 1, 2'")
    explorer.click("#set-plane")
    settle(explorer)
    assert explorer.text("#message") == ""
    places = explorer.js("window.explorer.app.inputsOnPlane()")
    assert places[0] == [0, 0] and places[1] == [1, 0] and len(places) == 3
    # What is read at a chosen input is what the network gives there.
    layers = network(explorer)["layers"]
    for x, place in zip([[0, 0, 0], [1, 1, 0], [0, 1, 2]], places):
        at = json.dumps(place)
        found = explorer.js(f"window.explorer.engine.ask({{op: 'region', network: window.explorer.app.current, plane: window.explorer.app.planeRequest(), at: {at}}}).value")
        assert math.isclose(found[0], signs(layers, x)[1][0], abs_tol=1e-9)
    explorer.screenshot(shots / "explorer-through.png")
    data = tmp_path / "inputs.csv"
    data.write_text("a,b,c\n" + "\n".join("0.5,1,%d" % k for k in range(3)))
    explorer.upload("#file", data)
    explorer.wait("document.getElementById('set-rows') !== null")
    explorer.click("#set-rows")
    settle(explorer)
    assert explorer.js("window.explorer.app.plane.through") == [[0.5, 1, 0], [0.5, 1, 1]]
    explorer.js("document.getElementById('through').value = '0, 0, 0\\n0, 0, 0'")
    explorer.click("#set-plane")
    explorer.wait("document.getElementById('message').textContent !== ''")
    assert "the same" in explorer.text("#message")
    explorer.click("#axes-plane")
    settle(explorer)
    assert explorer.js("window.explorer.app.axisNames()") == ["x1", "x2"]


def test_the_box_of_examples_names_what_is_open(explorer):
    assert explorer.js("document.getElementById('examples').value") == "hiding-plane"
    explorer.upload("#file", DATA / "pt/f32.pt")
    explorer.wait("window.explorer.app.name === 'f32.pt'")
    assert explorer.js("document.getElementById('examples').selectedOptions[0].textContent") == "f32.pt"
    example(explorer, "folded-map")
    assert explorer.js("[...document.getElementById('examples').options].filter((o) => o.value === 'f32.pt').length") == 0


def handle(kind):
    return f"#fiber input[data-kind='{kind}']"


def test_walking_along_the_fiber_keeps_the_function(explorer, fiberscope, shots, tmp_path):
    heights = explorer.js("JSON.stringify(window.explorer.view.heights())")
    explorer.place(handle("translate"))
    explorer.js(f"document.querySelector({json.dumps(handle('translate'))}).focus()")
    explorer.key("ArrowRight", 12)
    assert verdict(explorer) == "✓ yes"
    start, moved = network(explorer, "start"), network(explorer)
    assert start["layers"][0]["bias"] != moved["layers"][0]["bias"] and start["layers"][1]["bias"] != moved["layers"][1]["bias"]
    assert explorer.js("window.explorer.app.seenDifference()") < 1e-12
    assert explorer.js("JSON.stringify(window.explorer.view.heights().map((x) => Number(x.toFixed(9))))") == json.dumps(
        [round(x, 9) for x in json.loads(heights)], separators=(",", ":")
    )
    explorer.screenshot(shots / "explorer-fiber.png")
    # What the page says is checked again by the command.
    explorer.downloads_to(tmp_path)
    explorer.click("#save-certificate")
    explorer.click("#save-network")
    explorer.wait("true")
    certificate, after = tmp_path / "hiding-plane-certificate.json", tmp_path / "hiding-plane-moved.json"
    wait_for(certificate, after)
    before = tmp_path / "before.json"
    before.write_text(explorer.js("window.explorer.app.start"))
    checked = json.loads(fiberscope("check", certificate, before, after, "--json"))
    assert checked["valid"] and checked["claim"] == "equivalent"


def wait_for(*paths):
    import time

    end = time.monotonic() + 10
    while not all(path.exists() and path.stat().st_size for path in paths):
        assert time.monotonic() < end, paths
        time.sleep(0.05)


def test_every_kind_of_slider_keeps_the_function(explorer):
    for name, kinds in [
        ("folded-map", ["mix", "shift", "scale", "rotate"]),
        ("zoo:duplicate", ["share"]),
        ("zoo:dead", ["lower"]),
        ("zoo:hiding-two", ["translate"]),
    ]:
        example(explorer, name)
        explorer.js("document.querySelectorAll('#fiber details').forEach((d) => { d.open = true; })")
        for kind in kinds:
            explorer.js(f"document.querySelector({json.dumps(handle(kind))}).focus()")
            explorer.key("ArrowRight", 3)
            assert verdict(explorer) == "✓ yes", (name, kind)
        assert network(explorer) != network(explorer, "start")
    example(explorer, "zoo:hiding-one")
    explorer.click("#fiber input[type=checkbox]")
    assert verdict(explorer) == "✓ yes"
    assert network(explorer) != network(explorer, "start")


def test_a_slider_stops_where_the_rule_does(explorer):
    example(explorer, "folded-map")
    selector = handle("mix")
    explorer.js(f"document.querySelector({json.dumps(selector)}).focus()")
    explorer.key("Home")
    explorer.frame()
    assert "nonnegative on the whole domain" in explorer.text("#refused")
    assert verdict(explorer) == "✓ yes"


def test_random_points_of_the_fiber(explorer):
    example(explorer, "zoo:linear-square")
    explorer.js("document.getElementById('component').selectedIndex = document.getElementById('component').options.length - 1")
    explorer.click("#sample")
    assert verdict(explorer) == "✓ yes"
    assert network(explorer) != network(explorer, "start")


def test_weights_are_edited_by_number(explorer):
    explorer.js("document.querySelector('[data-weight=\"0,0,b\"]').focus()")
    explorer.js("document.querySelector('[data-weight=\"0,0,b\"]').select()")
    explorer.type("0.75")
    assert verdict(explorer) == "✕ no"
    assert network(explorer)["layers"][0]["bias"][0] == 0.75
    explorer.js("document.querySelector('[data-weight=\"0,0,b\"]').select()")
    explorer.type("0.25")
    assert verdict(explorer) == "✓ yes"


def test_pan_and_zoom(explorer):
    bounds = lambda: explorer.js("window.explorer.view.bounds()")
    start = bounds()
    at = free_spot(explorer)
    explorer.wheel(at["x"], at["y"], -400)
    explorer.frame()
    closer = bounds()
    assert closer[0][1] - closer[0][0] < 0.8 * (start[0][1] - start[0][0])
    still = explorer.js(f"(() => {{ const b = window.explorer.view.canvas.getBoundingClientRect(); return window.explorer.view.toPlane([{at['x']} - b.x, {at['y']} - b.y]); }})()")
    assert math.isclose(still[0], at["at"][0], abs_tol=1e-6)
    at = free_spot(explorer)
    explorer.drag((at["x"], at["y"]), (at["x"] + 60, at["y"]))
    explorer.frame()
    assert bounds()[0][0] < closer[0][0] and network(explorer) == network(explorer, "start")
    assert verdict(explorer) == "✓ yes"


def test_keys_do_what_the_pointer_does(explorer, shots):
    explorer.js("document.getElementById('plane').focus()")
    start = explorer.js("window.explorer.view.bounds()")
    explorer.key("ArrowRight", 2)
    explorer.key("+", 2)
    assert explorer.js("window.explorer.view.bounds()") != start
    explorer.key("Enter")
    explorer.wait("document.querySelector('#signs') !== null")
    explorer.key("n")
    explorer.frame()
    chosen = explorer.js("window.explorer.app.marks.neuron")
    assert chosen != [0, 0]
    explorer.screenshot(shots / "explorer-keys.png")
    explorer.key("]")
    settle(explorer)
    assert network(explorer)["layers"][chosen[0]]["bias"] != network(explorer, "start")["layers"][chosen[0]]["bias"]
    explorer.key("0")
    explorer.frame()
    assert explorer.js("window.explorer.view.center") == [0, 0]
    explorer.js("document.querySelector('.skip').focus()")
    names = ["skip"]
    for _ in range(8):
        explorer.key("Tab")
        names.append(explorer.js("document.activeElement.id || document.activeElement.className"))
    assert {"skip", "examples", "open", "save", "reset", "plane"} <= set(names)


def test_every_control_has_a_name(explorer):
    explorer.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    unnamed = explorer.js("""[...document.querySelectorAll("button, input:not([hidden]), select, canvas")].filter((e) =>
      !e.getAttribute("aria-label") && !e.textContent.trim() && !e.labels?.length).map((e) => e.outerHTML)""")
    assert unnamed == []
    assert explorer.js("[...document.querySelectorAll('select')].every((e) => e.getAttribute('aria-label') || e.labels.length)")


def test_states_are_saved_and_opened(explorer, explorer_file, browser, tmp_path):
    explorer.js(f"document.querySelector({json.dumps(handle('translate'))}).focus()")
    explorer.key("ArrowRight", 5)
    settle(explorer)
    at = free_spot(explorer)
    explorer.wheel(at["x"], at["y"], -300)
    explorer.frame()
    explorer.downloads_to(tmp_path)
    explorer.click("#save")
    saved = tmp_path / "hiding-plane-state.json"
    wait_for(saved)
    expected = explorer.js("({current: window.explorer.app.network, center: window.explorer.view.center})")
    other = browser.page()
    other.open(f"file://{explorer_file}", "document.documentElement.dataset.ready === 'yes'")
    example(other, "zoo:deep")
    other.upload("#file", saved)
    other.wait("window.explorer.app.name === 'hiding-plane'")
    assert verdict(other) == "✓ yes"
    found = other.js("({current: window.explorer.app.network, center: window.explorer.view.center})")
    assert found["current"] == expected["current"]
    assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(found["center"], expected["center"]))
    assert other.errors == []
    other.close()


def test_bad_files_are_refused_in_sentences(explorer, fiberscope, tmp_path):
    cases = {
        "broken.json": ('{"format": "fiberscope-network", "version": 1, "layers": [', "broken.json"),
        "shape.json": (
            '{"format": "fiberscope-network", "version": 1, "layers": [{"weight": [[1, 2]], "bias": [0, 0], "activation": "identity"}]}',
            "layer 1",
        ),
        "state.json": ('{"format": "fiberscope-explorer", "version": 1, "start": 3}', 'no network "start"'),
        "later.json": ('{"format": "fiberscope-explorer", "version": 9}', "version 9"),
        "model.onnx": ("this is no protobuf", "model.onnx"),
        "model.txt": ("1 2 3", "model.txt"),
        "model.npz": ("PK", "no zip archive"),
    }
    for name, (text, expected) in cases.items():
        path = tmp_path / name
        path.write_text(text)
        explorer.js("document.getElementById('message').textContent = ''")
        explorer.upload("#file", path)
        explorer.wait("document.getElementById('message').textContent !== ''")
        assert expected in explorer.text("#message"), (name, explorer.text("#message"))
    assert verdict(explorer) == "✓ yes" and "hiding-plane" in explorer.text("#title")
    for ending in ["onnx", "safetensors", "npz"]:
        model = tmp_path / f"deep.{ending}"
        fiberscope("convert", "zoo:deep", model, "--precision", "f64")
        explorer.upload("#file", model)
        explorer.wait(f"window.explorer.app.name === 'deep.{ending}'")
        assert verdict(explorer) == "✓ yes" and "2-3-3-3-1" in explorer.text("#title")
    # Files of numpy.savez_compressed and torch.save.
    for name in ["npz/f32_compressed.npz", "pt/f32.pt", "pt/natural_order.pth"]:
        model = DATA / name
        explorer.upload("#file", model)
        explorer.wait(f"window.explorer.app.name === '{model.name}'")
        assert verdict(explorer) == "✓ yes"


def test_slices_of_more_inputs(explorer, shots):
    example(explorer, "zoo:hiding-two")
    explorer.js("document.getElementById('view-card').open = true")
    before = explorer.js("JSON.stringify(window.explorer.view.picture.regions)")
    explorer.js("document.querySelector('[data-origin=\"2\"]').focus()")
    explorer.js("document.querySelector('[data-origin=\"2\"]').select()")
    explorer.type("-1.5")
    explorer.frame()
    assert explorer.js("JSON.stringify(window.explorer.view.picture.regions)") != before
    explorer.choose("#axis-1", "2")
    explorer.frame()
    assert explorer.js("window.explorer.app.axisNames()") == ["x1", "x3"]
    explorer.screenshot(shots / "explorer-slice.png")
    example(explorer, "zoo:tent")
    assert explorer.text("#message") == "" and int(explorer.text("#count").split()[0]) == 4


def test_a_box_changes_what_is_compared(explorer):
    example(explorer, "zoo:constant")
    explorer.js("document.getElementById('view-card').open = true")
    explorer.js("document.querySelector('[data-weight=\"0,0,b\"]').focus()")
    explorer.js("document.querySelector('[data-weight=\"0,0,b\"]').select()")
    explorer.type("-3.5")
    assert verdict(explorer) == "✕ no"
    for end, value in [("box-0", "0"), ("box-1", "1")]:
        explorer.js(f"document.getElementById('{end}').focus()")
        explorer.type(value)
    explorer.click("#set-box")
    assert verdict(explorer) == "✓ yes"


def test_sixteen_by_sixteen_and_dark(explorer, shots):
    explorer.scheme("dark")
    example(explorer, "random-16")
    at = spot(explorer, "(f) => f.visible && f.l === 1")
    explorer.drag((at["x"], at["y"]), (at["x"] + 12, at["y"] + 9))
    assert verdict(explorer) == "✕ no"
    explorer.screenshot(shots / "explorer-dark.png")
    explorer.js("document.getElementById('view-card').open = true")
    explorer.choose("#ramp", "viridis")
    explorer.frame()
    explorer.screenshot(shots / "explorer-viridis.png")
    explorer.size(420, 900)
    explorer.frame()
    assert explorer.js("document.documentElement.scrollWidth") <= 420
    explorer.screenshot(shots / "explorer-narrow.png")
