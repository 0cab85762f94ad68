//! Pages and drawings: well-formed, self-contained, safe with hostile names, the same every time.

use crate::common;

use common::{hiding_two, hiding_two_anatomy, long_chain, motley, motley_anatomy, translation};
use fiberscope::anatomy::Anatomy;
use fiberscope_check::check;
use fiberscope_core::{
    Activation, Certificate, Domain, Evidence, Layer, Matrix, MoveChain, Network, Rational,
};
use fiberscope_report::anatomy::diagram;
use fiberscope_report::draw::graph::{Curve, Graph};
use fiberscope_report::page::{Badge, Cell, Figure, Page, Section, Table};
use fiberscope_report::{anatomy, certificate};

const HOSTILE: &str = "</script><script>alert(\"1\")</script> & 'x' <!-- ]]> \u{0}\u{1b}";

/// Checks that tags are balanced, attributes quoted, and no stray `<` or `&` is left; returns the names of
/// the elements in order.
fn elements(markup: &str) -> Vec<String> {
    let (mut open, mut seen): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start]);
        let end = rest[start..].find('>').expect("an open tag") + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') || tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name: String = tag.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        check_attributes(tag[name.len()..].trim_end_matches('/'));
        seen.push(name.clone());
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("the end of the style sheet")..];
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    check_text(rest);
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

fn check_attributes(attributes: &str) {
    let parts: Vec<_> = attributes.split('"').collect();
    assert!(parts.len() % 2 == 1, "unbalanced quotes: {attributes}");
    for pair in parts.chunks_exact(2) {
        let name = pair[0].trim_start().strip_suffix('=').expect("an attribute with a value");
        assert!(name.chars().all(|c| c.is_ascii_alphabetic() || c == '-'), "{name}");
        check_text(pair[1]);
    }
    assert_eq!(parts[parts.len() - 1], "");
}

fn check_text(text: &str) {
    assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{text:?}");
    for (at, _) in text.match_indices('&') {
        let entity = text[at..].split_inclusive(';').next().unwrap();
        assert!(["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].contains(&entity), "{entity}");
    }
}

fn tent(width: usize) -> Curve {
    let points: Vec<_> = (0..=60)
        .map(|i| f64::from(i) / 20.0 - 1.0)
        .map(|x| (x, (1.0 - (x - 0.5).abs() * 2.0).max(0.0)))
        .collect();
    Curve {
        name: format!("tent with {width} neurons"),
        points,
        breakpoints: vec![(0.0, 0.0), (0.5, 1.0), (1.0, 0.0)],
    }
}

fn graph(title: &str) -> Graph {
    let curves = vec![tent(3), tent(4)];
    Graph { title: title.into(), x_label: "x".into(), y_label: "f(x)".into(), curves }
}

/// A page with every kind of block, in which `name` stands wherever a name can stand.
fn full_page(name: &str) -> String {
    let a = hiding_two(0.0);
    let mut page = Page::new(format!("What is known about {name}"))
        .introduce("Two networks with different parameters can compute the same function.")
        .section(overview(name))
        .section(anatomy::section(name, &a, &hiding_two_anatomy()))
        .section(anatomy::section("motley", &motley(), &motley_anatomy()));
    for (certificate, b) in certificates() {
        let outcome = check(&certificate, &a, &b);
        page = page.section(certificate::section((name, "translated"), &certificate, &outcome));
    }
    page.section(blocks(name)).to_html()
}

fn overview(name: &str) -> Section {
    let table = Table::new(["network", "widths", "parameters"])
        .caption("The networks of this page")
        .row([Cell::text(name), Cell::text("3-3-2-1"), Cell::number("23")])
        .row([Cell::text("motley"), Cell::text("2-3-4-2-1"), Cell::number("38")]);
    let section = Section::new("Overview").paragraph(name).table(table);
    section.figure(graph(name).draw(), "Two curves that coincide.")
}

/// One certificate of every kind about `hiding_two(0)` and another network; the second and the third are
/// wrong.
fn certificates() -> Vec<(Certificate, Network)> {
    let (a, b) = (hiding_two(0.0), hiding_two(-1.0));
    let r = |text: &str| text.parse::<Rational>().unwrap();
    let x = vec![r("1/4"), r("1"), r("1/3")];
    let witness = Evidence::Witness { x, a: vec![r("1")], b: vec![r("7602177/1048576")] };
    let rounding = Evidence::Rounding { a: long_chain(), b: MoveChain::default(), bound: r("1/1000000") };
    let mut rounded = common::certificate(&a, &a, rounding);
    rounded.domain = Domain::from_bounds(&[(-1.0, 1.0); 3]).unwrap();
    vec![
        (common::certificate(&a, &b, translation(-1)), b.clone()),
        (common::certificate(&a, &b, translation(-2)), b.clone()),
        (common::certificate(&a, &b, witness), b),
        (rounded, a),
    ]
}

fn blocks(name: &str) -> Section {
    let figures = [("before", hiding_two(0.0)), ("after", hiding_two(-1.0))].map(|(when, network)| Figure {
        drawing: diagram::draw(name, &network, &hiding_two_anatomy()),
        caption: format!("{name} {when}"),
    });
    let data = serde_json::json!({ "name": name });
    Section::new(name).badge(Badge::open(name)).figures(figures).code(name, name).data(name, &data)
}

#[test]
fn a_page_is_well_formed_and_has_headings_in_order() {
    let html = full_page("hiding-two");
    let seen = elements(&html);
    let level = |name: &String| ["h1", "h2", "h3"].iter().position(|heading| heading == name);
    let levels: Vec<_> = seen.iter().filter_map(level).collect();
    assert_eq!((levels[0], levels.iter().filter(|&&level| level == 0).count()), (0, 1));
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    for part in [
        "lang=\"en\"",
        "<meta charset=\"utf-8\"/>",
        "✓</span> checked: equivalent",
        "✕</span> refused: move 1 on A",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("10 more</summary><ol start=\"31\">"));
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/page.html"), html).unwrap();
}

#[test]
fn nothing_is_loaded_from_elsewhere_and_nothing_runs() {
    let html = full_page("hiding-two").replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for part in ["http:", "https:", "//", "url(", "@import", "src=", "onload", "javascript"] {
        assert!(!html.contains(part), "{part}");
    }
    assert_eq!(html.matches("<script").count(), html.matches("<script type=\"application/json\"").count());
    assert!(html.matches("href=").count() == html.matches("href=\"#").count());
}

#[test]
fn identifiers_are_unique_and_links_lead_somewhere() {
    let html = full_page("hiding-two");
    let values = |attribute: &str| -> Vec<String> {
        html.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap().to_string()).collect()
    };
    let ids = values(" id=\"");
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len());
    assert!(values("href=\"#").iter().all(|target| ids.contains(target)));
}

#[test]
fn hostile_names_stay_text() {
    let html = full_page(HOSTILE);
    let scripts = elements(&html).iter().filter(|name| *name == "script").count();
    let harmless = elements(&full_page("x")).iter().filter(|name| *name == "script").count();
    assert_eq!(scripts, harmless);
    assert!(!html.contains("alert(\"1\")") && html.contains("&lt;script&gt;alert(&quot;1&quot;)"));
}

#[test]
fn embedded_data_is_the_json_that_was_given() {
    let html = full_page(HOSTILE);
    let blocks: Vec<serde_json::Value> = html
        .split("<script type=\"application/json\"")
        .skip(1)
        .map(|rest| rest.split_once('>').unwrap().1.split("</script>").next().unwrap())
        .map(|json| serde_json::from_str(json).unwrap())
        .collect();
    assert_eq!(blocks.len(), 5);
    assert_eq!(blocks[4]["name"], HOSTILE);
    for ((certificate, _), block) in certificates().iter().zip(&blocks) {
        assert_eq!(*block, serde_json::from_str::<serde_json::Value>(&certificate.to_json()).unwrap());
    }
}

#[test]
fn pages_are_the_same_every_time() {
    assert_eq!(full_page("x"), full_page("x"));
}

#[test]
fn drawings_are_well_formed_files() {
    let drawings = [
        diagram::draw(HOSTILE, &motley(), &motley_anatomy()),
        diagram::draw("hiding-two", &hiding_two(0.0), &hiding_two_anatomy()),
        graph(HOSTILE).draw(),
    ];
    for (i, drawing) in drawings.iter().enumerate() {
        let svg = drawing.to_document();
        assert_eq!(elements(&svg)[..3], ["svg", "title", "desc"]);
        std::fs::write(format!("{}/drawing-{i}.svg", env!("CARGO_TARGET_TMPDIR")), svg).unwrap();
    }
}

#[test]
fn a_diagram_shows_what_the_anatomy_says() {
    let svg = diagram::draw("motley", &motley(), &motley_anatomy()).to_document();
    let count = |class: &str| svg.matches(&format!("<circle class=\"{class}\"")).count();
    let in_legend = 1;
    assert_eq!(count("nonlinear"), 4 + in_legend);
    assert_eq!(count("linear"), 2 + in_legend);
    assert_eq!(count("dead"), 1 + in_legend);
    assert_eq!(count("identity"), 2 + in_legend);
    assert_eq!(count("end-unit"), 3);
    assert_eq!(count("hides"), 0);
    let svg = diagram::draw("hiding-two", &hiding_two(0.0), &hiding_two_anatomy()).to_document();
    assert_eq!(svg.matches("<circle class=\"hides\"").count(), 1 + in_legend);
    let nonzero = |sign: f64| {
        let network = hiding_two(0.0);
        let weights = network.layers().iter().flat_map(|layer| layer.weight().entries().to_vec());
        weights.filter(|weight| weight * sign > 0.0).count()
    };
    assert_eq!(svg.matches("<path class=\"plus\"").count(), nonzero(1.0) + in_legend);
    assert_eq!(svg.matches("<path class=\"minus\"").count(), nonzero(-1.0) + in_legend);
}

fn wide_and_deep() -> (Network, Anatomy) {
    let widths = [784, 512, 17, 16, 3, 3, 3, 3, 3, 3, 3, 3, 10];
    let layer = |l: usize| {
        let weight = Matrix::from_fn(widths[l + 1], widths[l], |i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0);
        let activation = if l + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
        Layer::new(weight, vec![1.0; widths[l + 1]], activation)
    };
    let network = Network::new((0..widths.len() - 1).map(layer).collect()).unwrap();
    let anatomy = common::anatomy(&network, vec![], "none", None);
    (network, anatomy)
}

#[test]
fn large_networks_are_shown_in_part() {
    let (network, anatomy) = wide_and_deep();
    let section = anatomy::section("large", &network, &anatomy);
    let html = Page::new("large").section(section).to_html();
    elements(&html);
    assert!(html.len() < 120_000, "{}", html.len());
    for part in ["⋮", "⋯", ">512 relu<", ">784<", ">layer 1<", ">layer 11<", ">output<"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains(">layer 7</text>"));
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/large.html"), html).unwrap();
}

#[test]
fn an_anatomy_of_another_network_does_no_harm() {
    let svg = diagram::draw("x", &motley(), &hiding_two_anatomy()).to_document();
    elements(&svg);
}

#[test]
fn layers_of_zeros_and_networks_without_hidden_layers_are_drawn() {
    let zeros = |activation| -> (&[&[f64]], &[f64], Activation) {
        (&[&[0.0, 0.0], &[0.0, 0.0]], &[0.0; 2], activation)
    };
    let (relu, last) = (zeros(Activation::Relu), zeros(Activation::Identity));
    for layers in [&[last][..], &[relu, last]] {
        let network = common::network(layers);
        let svg =
            diagram::draw("zero", &network, &common::anatomy(&network, vec![], "none", None)).to_document();
        elements(&svg);
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
