//! The description of a fiber as a LaTeX document.

use super::formula::{affine_latex, escaped, matrix_latex, number_latex, vector_latex};
use super::{Equations, FiberSummary, HiddenRow};

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
        match (&self.case, self.dimension) {
            (Some(_), Some(dimension)) => {
                body += &format!(
                    "The generic parameters with the same function as $\\theta$ form a set of dimension ${dimension}$ modulo permutation and positive scaling of neurons, that is ${}$ in the space of all ${}$ parameters.\n\n",
                    dimension + self.scalings,
                    self.parameters
                );
            }
            _ => {
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
        format!(
            "\\documentclass{{article}}\n\\usepackage{{amsmath}}\n\\usepackage[margin=25mm]{{geometry}}\n\\begin{{document}}\n{body}\\end{{document}}\n"
        )
    }

    fn table_latex(&self) -> String {
        if self.components.len() < 2 {
            return String::new();
        }
        let mut text = "The components, one per orientation $S$:\n\\begin{center}\n\\begin{tabular}{lll}\n$S$ & dimension & why\\\\\\hline\n".to_owned();
        for row in self.components.iter().take(ROWS) {
            let dimension = row.dimension.map_or("empty".into(), |dimension| format!("${dimension}$"));
            text += &format!("${}$ & {dimension} & {}\\\\\n", row.orientation, escaped(&row.reason));
        }
        if self.components.len() > ROWS {
            text += "$\\cdots$ & &\\\\\n";
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
    if equations.linear > 0 {
        text += &format!(
            "The ${}$ linear neurons satisfy\n\\[ V_{{\\mathrm{{Lin}}}} W_{{\\mathrm{{Lin}}}} = M_S, \\quad W_{{\\mathrm{{Lin}}}} \\ge 0, \\quad c_{{\\mathrm{{Lin}}}} \\ge 0, \\quad e = \\beta_S - V_{{\\mathrm{{Lin}}}} c_{{\\mathrm{{Lin}}}}, \\]\nwhere, for the orientation $S = {}$ of $\\theta$,\n\\[ M_S = {}, \\qquad \\beta_S = {}. \\]\n",
            equations.linear,
            if equations.own.is_empty() { r"\emptyset" } else { &equations.own },
            matrix_latex(&equations.matrix),
            vector_latex(&equations.constant)
        );
    } else {
        text += &format!(
            "There is no linear neuron, and $e = \\beta_S = {}$.\n",
            vector_latex(&equations.constant)
        );
    }
    if equations.dead > 0 {
        text += &format!(
            "The ${}$ dead neurons may have any $w \\le 0$, $c \\le 0$ and any outgoing weights.\n",
            equations.dead
        );
    }
    text + "\n"
}
