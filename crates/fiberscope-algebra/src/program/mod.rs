//! Linear programs in few dimensions: doubles first, rational numbers last.
//!
//! - [`Cone::side`]: is `c y >= 0` wherever `a_i y >= 0`? A point beyond, or that there is none. The dual
//!   simplex method in doubles, its basis settled exactly; else the method exactly.
//! - [`BoxedPolytope::least`]: how small is `c x` on a polytope in a box? A proved lower bound with
//!   multipliers. The dual simplex method in doubles.
//! - [`Polytope::maximize`]: how large is `c x`, starting at the vertex of the last question? A vertex and
//!   Farkas' multipliers, proposed. The primal simplex method in doubles.
//! - [`interior`]: have `a_i x + b_i > 0` a common solution? One, or Farkas' multipliers. The primal simplex
//!   method, exactly.
//! - [`pointedness`]: has `y M_j > 0` a common solution? One, or Gordan's multipliers. The first phase in
//!   doubles, verified; else exactly.
//!
//! All but the tableau of [`interior`] keep a basis with its dual basis and exchange one vector at a time, in
//! doubles and in rational numbers alike.

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
pub use pointed::{Pointedness, pointedness};
pub use polytope::{Optimum, Polytope, certain_sign};
