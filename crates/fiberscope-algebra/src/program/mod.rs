//! Linear programs in few dimensions: doubles first, rational numbers last.
//!
//! | question | answer | how |
//! |---|---|---|
//! | [`Cone::side`]: is `c y >= 0` on `{y : a_i y >= 0}`? | a point beyond, or that there is none | dual simplex method in doubles, its basis settled exactly; else exactly |
//! | [`BoxedPolytope::least`]: how small is `c x` on a polytope in a box? | a proved lower bound, with multipliers | dual simplex method in doubles |
//! | [`Polytope::maximize`]: how large is `c x`, from the vertex of the last question? | a vertex and Farkas' multipliers, proposed | primal simplex method in doubles |
//! | [`interior`]: have `a_i x + b_i > 0` a solution? | one, or Farkas' multipliers | primal simplex method, exactly |
//! | [`pointedness`]: has `y M_j > 0` a solution? | one, or Gordan's multipliers | first phase in doubles, verified; else exactly |
//!
//! All but the tableau of [`interior`] keep a basis with its dual basis and exchange one vector at a time, in doubles and
//! in rational numbers alike.

mod basis;
mod boxed;
mod cone;
mod dual;
mod interior;
mod pointed;
mod polytope;

pub use boxed::{BoxedPolytope, Least, is_proved};
pub use cone::{Cone, Side};
pub use interior::{Interior, interior};
pub use pointed::{Pointedness, pointedness, pointedness_until};
pub use polytope::{Optimum, Polytope, certain_sign};
