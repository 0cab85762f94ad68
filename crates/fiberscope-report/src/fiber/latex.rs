//! The description of a fiber as a LaTeX document.

use super::formula::{affine_latex, matrix_latex, number_latex, vector_latex};
use super::{Equations, FiberSummary, HiddenRow};
use crate::export::{article, escaped};

/// The most components in the table.
const ROWS: usize = 40;

impl FiberSummary {
    /// A LaTeX document (amsmath) with the description.
    pub fn to_latex(&self) -> String {
        let mut body = String::new();
        let widths: Vec<String> = self.widths.iter().map(ToString::to_string).collect();
        let name = format!(r"\texttt{{{}}}", escaped(&self.name));
        body += &format!("\\section*{{The fiber of {name}}}\n\n");
        body += &format!("Let $\\theta$ be the parameter of {name}, of widths $({})$.\n", widths.join(", "));
        match &self.case {
            Some(_) => body += &self.covered_latex(),
            None => {
                body += "The theory of generic fibers does not cover it:\n\\begin{itemize}\n";
                for condition in self.conditions.iter().filter(|condition| !condition.holds) {
                    body += &format!(
                        "\\item {} fails: {}\n",
                        escaped(&condition.statement),
                        escaped(condition.detail.as_deref().unwrap_or(""))
                    );
                }
                body += &format!(
                    "\\item[] still, the dimension is at least ${}$ in the space of all ${}$ parameters.\n\\end{{itemize}}\n\n",
                    self.lower_bound, self.parameters
                );
            }
        }
        if let Some(hidden) = &self.hidden {
            body += &hidden_latex(hidden);
        }
        if let Some(equations) = &self.equations {
            body += &equations_latex(equations);
        }
        body += &self.table_latex();
        article(&body)
    }

    /// The list in words: its dimension, its generic part, the place of the parameter.
    fn covered_latex(&self) -> String {
        let mut text = "All generic parameters with the same function as $\\theta$, and parameters with it that are not generic, form the pieces below.\n".to_owned();
        if let Some(dimension) = self.dimension {
            text += &format!(
                "The pieces have dimension ${dimension}$ modulo permutation and positive scaling of neurons, that is ${}$ in the space of all ${}$ parameters",
                dimension + self.scalings,
                self.parameters
            );
            text += &match self.generic_dimension {
                Some(generic) => format!("; the generic ones have dimension ${generic}$.\n"),
                None if self.generic == Some(0) => "; none of the generic ones has points.\n".into(),
                None => ".\n".into(),
            };
        } else {
            text += &format!("Their dimension: {}.\n", escaped(&self.dimension_text()));
        }
        text + &format!("The parameter $\\theta$ is {}.\n\n", escaped(&self.given_text()))
    }

    fn table_latex(&self) -> String {
        if self.components.is_empty() {
            return String::new();
        }
        let mut text = "The pieces, by the orientation $S$ and the numbers of linear and dead neurons:\n\\begin{center}\n\\begin{tabular}{llllll}\n$S$ & linear & dead & dimension & generic & why\\\\\\hline\n".to_owned();
        for row in self.components.iter().take(ROWS) {
            let dimension = row.dimension.map_or("empty".into(), |dimension| format!("${dimension}$"));
            let dead = row.dead.map_or("--".into(), |dead| format!("${dead}$"));
            let signs = if row.orientation.is_empty() { r"\emptyset" } else { &row.orientation };
            text += &format!(
                "${signs}$ & ${}$ & {dead} & {dimension} & {} & {}\\\\\n",
                row.linear,
                row.generic_text(),
                escaped(&row.reason)
            );
        }
        if self.components.len() > ROWS {
            text += "$\\cdots$ & & & & &\\\\\n";
        }
        text + "\\end{tabular}\n\\end{center}\n"
    }
}

fn hidden_latex(hidden: &HiddenRow) -> String {
    let k = hidden.neuron.unit + 1;
    let mut text = format!(
        "The second layer hides the hyperplane of neuron ${k}$ of layer 1. For every $t \\ge t_{{\\min}} = {}$ the translation\n\\[ b_{{1,{k}}} \\mapsto b_{{1,{k}}} + t, \\qquad b_{{2,j}} \\mapsto b_{{2,j}} - t\\, W_{{2,j{k}}} \\]\nkeeps the function.\n",
        number_latex(&hidden.least)
    );
    if hidden.flips > 0 {
        text += &format!(
            "So do the flips: for every set $I$ of the other ${}$ neurons of layer 1,\n\\[ (w_i, b_i) \\mapsto -(w_i, b_i) \\quad (i \\in I), \\qquad (w_{k}, b_{k}) \\mapsto (w_{k}, b_{k}) + \\sum_{{i \\in I}} \\frac{{W_{{2,1i}}}}{{W_{{2,1{k}}}}} (w_i, b_i). \\]\n",
            hidden.flips
        );
    }
    text + "\n"
}

fn equations_latex(equations: &Equations) -> String {
    let d = equations.base.len();
    let ground = if equations.orthant {
        format!(r"\mathbf{{R}}^{{{d}}}_{{\ge 0}}")
    } else {
        format!(r"\mathbf{{R}}^{{{d}}}")
    };
    let mut text = format!(
        "On ${ground}$ the map is $x \\mapsto V \\max(Wx + c, 0) + e$. Take the base point $x_0 = {}$.\n",
        vector_latex(&equations.base)
    );
    if !equations.hyperplanes.is_empty() {
        text += "Its gradient jumps on the hyperplanes\n\\begin{align*}\n";
        let rows: Vec<String> = equations
            .hyperplanes
            .iter()
            .enumerate()
            .map(|(i, (normal, offset, weight))| {
                format!(
                    "H_{{{0}}}&: \\; {1} = 0, & a_{{{0}}} &= {2}",
                    i + 1,
                    affine_latex(normal, offset),
                    vector_latex(weight)
                )
            })
            .collect();
        text += &rows.join("\\\\\n");
        text += "\n\\end{align*}\n(by $a_i u_i^\\top$ across $H_i = \\{u_i x + t_i = 0\\}$). For a set $S$ of hyperplanes, the parameters in which exactly the neurons of $S$ are active at $x_0$ are\n\\[ (w_i, c_i) = \\begin{cases} (u_i, t_i) & i \\in S \\\\ -(u_i, t_i) & i \\notin S \\end{cases}, \\qquad V_i = a_i. \\]\n";
    }
    if equations.others > 0 {
        text += &format!(
            "Of the ${}$ other neurons, $l'$ are linear and the rest are dead, with any $w \\le 0$, $c \\le 0$ and any outgoing weights. The linear ones satisfy\n\\[ V_{{\\mathrm{{Lin}}}} W_{{\\mathrm{{Lin}}}} = M_S, \\quad W_{{\\mathrm{{Lin}}}} \\ge 0, \\quad c_{{\\mathrm{{Lin}}}} \\ge 0, \\quad e = \\beta_S - V_{{\\mathrm{{Lin}}}} c_{{\\mathrm{{Lin}}}}, \\]\nwhere, for the orientation $S = {}$,\n\\[ M_S = {}, \\qquad \\beta_S = {}. \\]\n",
            equations.others,
            if equations.shown.is_empty() { r"\emptyset" } else { &equations.shown },
            matrix_latex(&equations.matrix),
            vector_latex(&equations.constant)
        );
    } else {
        text += &format!(
            "There is no other neuron, and $e = \\beta_S = {}$.\n",
            vector_latex(&equations.constant)
        );
    }
    text + "\n"
}
