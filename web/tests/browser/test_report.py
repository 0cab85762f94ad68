"""The report in a browser: it reads well, and its button checks the certificates again."""

import re


def recheck(page):
    page.click("#recheck")
    page.wait("/proved in this browser|could not/.test(document.getElementById('recheck-result').textContent)")
    return page.text("#recheck-result")


def test_certificates_are_checked_again(page, fiberscope, tmp_path, shots):
    data = tmp_path / "data.csv"
    data.write_text("".join(f"{i % 7 - 3},{i % 5 - 2},{i % 3}\n" for i in range(40)))
    report = tmp_path / "report.html"
    fiberscope("report", "zoo:hiding-two", "zoo:hiding-two-too-far", "--data", data, "-o", report)
    page.open(f"file://{report}")
    page.screenshot(shots / "report-top.png")
    found = re.match(r"(\d+) of (\d+) certificates proved", recheck(page))
    assert found and found[1] == found[2] and int(found[1]) >= 3
    assert page.js("document.querySelectorAll('.rechecked.good').length") == int(found[1])
    assert "on all of ℝ³" in page.text(".rechecked.good")
    page.screenshot(shots / "report-checked.png")
    assert all(url.startswith("file:") for url in page.requests)
    for part in ["Verdict", "Symmetries and fiber", "Linear regions", "Functional dimension", "Rests on"]:
        assert part in page.js("document.body.textContent"), part
    # Whoever changes a number gets a refusal.
    page.js("""(() => {
      const block = [...document.querySelectorAll('script[type="application/json"]')].find((b) => b.id.startsWith("certificate") && b.textContent.includes('"translate"'));
      block.textContent = block.textContent.replace(/"amount": ?"[^"]*"/, '"amount":"-7"');
    })()""")
    assert "1 refused" in recheck(page)
    assert "Refused in this browser" in page.text(".rechecked.bad")


def test_the_page_is_accessible_and_prints(page, fiberscope, tmp_path, shots):
    report = tmp_path / "report.html"
    fiberscope("report", "zoo:deep", "-o", report)
    page.scheme("dark")
    page.open(f"file://{report}")
    page.screenshot(shots / "report-dark.png", whole=True)
    unnamed = page.js("""[...document.querySelectorAll("svg[role=img]")].filter((s) => !s.querySelector("title")?.textContent || !s.querySelector("desc")?.textContent).length""")
    assert unnamed == 0 and page.js("document.querySelectorAll('svg[role=img]').length") >= 2
    levels = page.js("[...document.querySelectorAll('h1,h2,h3')].map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:]))
    assert page.js("document.documentElement.lang") == "en"
    page.js("document.getElementById('recheck').focus()")
    page.key("Enter")
    page.wait("document.getElementById('recheck-result').textContent.includes('certificates proved')")
    page.scheme("light", media="print")
    assert page.js("getComputedStyle(document.getElementById('recheck')).display") == "none"
    page.screenshot(shots / "report-print.png")


def test_the_tour_has_the_button_too(page, fiberscope, tmp_path):
    report = tmp_path / "tour.html"
    fiberscope("tour", "-o", report)
    page.open(f"file://{report}")
    assert recheck(page).startswith("5 of 5 certificates proved")


def test_a_phone_shows_whole_drawings_and_the_summary_first(page, fiberscope, tmp_path, shots):
    report = tmp_path / "report.html"
    fiberscope("report", "zoo:hiding-two", "zoo:hiding-two-too-far", "--box", "-1,1", "-o", report)
    page.size(390, 844, 2)
    page.open(f"file://{report}")
    assert page.js("document.documentElement.scrollWidth") <= 390
    clipped = page.js("""[...document.querySelectorAll("figure svg")].filter((svg) => {
      const inner = svg.getBoundingClientRect(), outer = svg.parentElement.getBoundingClientRect();
      return inner.left < outer.left - 1 || inner.right > outer.right + 1;
    }).length""")
    assert clipped == 0 and page.js("document.querySelectorAll('figure svg').length") >= 3
    assert page.text("main > section h2") == "Summary"
    summary = page.text("#summary")
    assert "different functions" in summary and "at most" in summary and "Not known, and why" in summary
    # Three inputs: what is drawn is a slice, and is called so.
    assert "a slice with" in page.text("[id^=linear-regions] .badge")
    body = page.js("document.querySelector('main').innerText")
    assert not re.search(r"\bR\^\d|\bW_\d|\bn_\d", body)
    page.screenshot(shots / "report-phone.png")
