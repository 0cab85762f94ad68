//! The strata of a fiber as determinantal equations for Macaulay2 and Sage, and as a LaTeX table.
//!
//! The stratum with the ranks `r_{k~i}` is where the products `W_k ... W_{i+1}` have these ranks. Its closure
//! is where they have at most these ranks: where the minors of the next size vanish. The product is the
//! matrix with `1` at the first places of its diagonal; every other of the same rank comes from it by a change
//! of bases at both ends, which moves one fiber into the other.

use std::fmt::Write;

use fiberscope::linear::{RankList, StratumDag};

use crate::export::{Program, article, escaped};
use crate::words::joined;

/// Rows of a table that fit on a page.
const ROWS: usize = 45;

/// The strata in the language of a program.
pub fn to_text(dag: &StratumDag, program: Program) -> String {
    match program {
        Program::Latex => latex(dag),
        Program::Sage | Program::Macaulay2 => code(dag, program),
    }
}

/// What the file is about.
fn title(dag: &StratumDag) -> String {
    let fiber = dag.fiber();
    format!(
        "Strata of the linear networks of widths {} with a product of rank {}",
        joined(fiber.widths(), ","),
        fiber.rank()
    )
}

/// A product of consecutive matrices, the last one first.
fn product(k: usize, i: usize, sign: &str) -> String {
    (i + 1..=k).rev().map(|j| format!("W{j}")).collect::<Vec<_>>().join(sign)
}

/// The products whose ranks cut the stratum out of the fiber: not the whole product, and none of full rank.
fn cut(ranks: &RankList) -> Vec<(usize, usize, usize)> {
    let (widths, depth) = (ranks.widths(), ranks.depth());
    let pairs = (1..=depth).flat_map(|k| (0..k).map(move |i| (k, i)));
    pairs
        .filter(|&pair| pair != (depth, 0))
        .map(|(k, i)| (k, i, ranks.get(k, i)))
        .filter(|&(k, i, rank)| rank < *widths[i..=k].iter().min().expect("a product has layers"))
        .collect()
}

fn code(dag: &StratumDag, program: Program) -> String {
    let fiber = dag.fiber();
    let widths = fiber.widths();
    let (sign, m2) = (program.comment(), program == Program::Macaulay2);
    let name = |l: usize, i: usize, j: usize| match m2 {
        true => format!("w_({l},{i},{j})"),
        false => format!("w{l}_{i}_{j}"),
    };
    let mut text = format!(
        "{sign} {}\n{sign} S<number> is the ideal of the closure of a stratum: products of at most its ranks. Its dimension is beside it.\n\n",
        title(dag)
    );
    let all: Vec<String> = (1..widths.len())
        .flat_map(|l| (1..=widths[l]).flat_map(move |i| (1..=widths[l - 1]).map(move |j| (l, i, j))))
        .map(|(l, i, j)| name(l, i, j))
        .collect();
    text += &match m2 {
        true => format!("R = QQ[{}];\n", all.join(", ")),
        false => format!(
            "R = PolynomialRing(QQ, names=[{}])\nR.inject_variables(verbose=False)\n",
            all.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
        ),
    };
    let matrix = |rows: usize, columns: usize, entry: &dyn Fn(usize, usize) -> String| {
        let (open, close) = if m2 { ("{", "}") } else { ("[", "]") };
        let row = |i: usize| {
            format!("{open}{}{close}", (1..=columns).map(|j| entry(i, j)).collect::<Vec<_>>().join(", "))
        };
        let rows = (1..=rows).map(row).collect::<Vec<_>>().join(", ");
        if m2 { format!("matrix(R, {{{rows}}});") } else { format!("matrix(R, [{rows}])") }
    };
    for l in 1..widths.len() {
        let _ = writeln!(text, "W{l} = {}", matrix(widths[l], widths[l - 1], &|i, j| name(l, i, j)));
    }
    let (inputs, outputs) = (widths[0], widths[fiber.depth()]);
    let unit = |i: usize, j: usize| u8::from(i == j && i <= fiber.rank()).to_string();
    let _ = writeln!(text, "W = {}", matrix(outputs, inputs, &unit));
    let whole = product(fiber.depth(), 0, "*");
    let _ = match m2 {
        true => writeln!(text, "F = ideal flatten entries ({whole} - W);"),
        false => writeln!(text, "F = R.ideal(({whole} - W).list())"),
    };
    for (at, stratum) in dag.strata().enumerate() {
        let minors = cut(stratum.ranks()).into_iter().map(|(k, i, rank)| match m2 {
            true => format!(" + minors({}, {})", rank + 1, product(k, i, "*")),
            false => format!(" + R.ideal(({}).minors({}))", product(k, i, "*"), rank + 1),
        });
        let end = if m2 { ";" } else { "" };
        let _ = writeln!(
            text,
            "\n{sign} {}: ranks {}, dimension {}\nS{at} = F{}{end}",
            stratum.short_name(),
            rank_rows(stratum.ranks()),
            dag.dim(at),
            minors.collect::<String>()
        );
    }
    let names: Vec<String> = (0..dag.len()).map(|at| format!("S{at}")).collect();
    let (open, close) = if m2 { ("{", "};") } else { ("[", "]") };
    let dimensions: Vec<String> = (0..dag.len()).map(|at| dag.dim(at).to_string()).collect();
    text + &format!(
        "\nstrata = {open}{}{close}\ndimensions = {open}{}{close}\n",
        names.join(", "),
        dimensions.join(", ")
    )
}

/// All ranks, `k~i=r`.
fn rank_rows(ranks: &RankList) -> String {
    let pairs = (1..=ranks.depth()).flat_map(|k| (0..k).map(move |i| (k, i)));
    pairs.map(|(k, i)| format!("{k}~{i}={}", ranks.get(k, i))).collect::<Vec<_>>().join(" ")
}

fn latex(dag: &StratumDag) -> String {
    let fiber = dag.fiber();
    let mut body = format!(
        "\\section*{{{}}}\n\nLet $W$ have rank ${}$. The fiber of $W$ is the set of all $(W_{{{}}}, \\dots, W_1)$ whose product is $W$, of widths $({})$; its dimension is ${}$. Its strata are the sets where all products $W_k \\cdots W_{{i+1}}$ have the ranks $r_{{k\\sim i}}$ below. Of each: the dimension, the dimension of all velocities in the fiber (dof), how many of these raise ranks (rdof), and the strata that cover it.\n\n",
        escaped(&title(dag)),
        fiber.rank(),
        fiber.depth(),
        joined(fiber.widths(), ", "),
        dag.fiber_dimension()
    );
    let head =
        "\\begin{tabular}{rlrrrl}\nno. & ranks $r_{k\\sim i}$ & dim & dof & rdof & covered by\\\\\\hline";
    let _ = writeln!(body, "\\begin{{center}}\\footnotesize\n{head}");
    for (at, stratum) in dag.strata().enumerate() {
        if at > 0 && at % ROWS == 0 {
            let _ = writeln!(body, "\\end{{tabular}}\n\n{head}");
        }
        let ranks = stratum.ranks();
        let pairs = (1..=ranks.depth()).flat_map(|k| (0..k).map(move |i| (k, i)));
        let shown: Vec<String> =
            pairs.map(|(k, i)| format!("r_{{{k}\\sim {i}}}={}", ranks.get(k, i))).collect();
        let mut above: Vec<usize> = dag.successors(at).iter().map(|&above| above as usize).collect();
        above.sort_unstable();
        let above = if above.is_empty() { "none (open)".to_owned() } else { joined(&above, ", ") };
        let _ = writeln!(
            body,
            "{at} & ${}$ & {} & {} & {} & {above}\\\\",
            shown.join(",\\, "),
            dag.dim(at),
            dag.dof(at),
            dag.rdof(at)
        );
    }
    article(&(body + "\\end{tabular}\n\\end{center}\n"))
}
