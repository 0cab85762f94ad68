//! Facets of a three-dimensional complex as meshes.

use std::fmt::Write;

/// A flat polygon of a bent hyperplane.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFacet {
    /// Numbers of its corners, in order.
    pub corners: Vec<u32>,
    /// The hidden layer.
    pub layer: usize,
    /// The neuron within its layer.
    pub unit: usize,
    /// The size of the gradient's jump; 0 if invisible.
    pub weight: f64,
}

/// Points and polygons in space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// A title.
    pub title: String,
    /// The points.
    pub points: Vec<[f64; 3]>,
    /// The polygons.
    pub facets: Vec<MeshFacet>,
    /// The number of regions, for captions.
    pub regions: usize,
}

impl Mesh {
    /// A Wavefront OBJ file, one group per layer and visibility.
    pub fn to_obj(&self) -> String {
        let mut text = format!("# {}\n", one_line(&self.title));
        for [x, y, z] in &self.points {
            let _ = writeln!(text, "v {x} {y} {z}");
        }
        let mut order: Vec<&MeshFacet> = self.facets.iter().collect();
        order.sort_by_key(|facet| (facet.layer, facet.weight == 0.0));
        let mut group = None;
        for facet in order {
            let own = (facet.layer, facet.weight == 0.0);
            if group != Some(own) {
                group = Some(own);
                let _ = writeln!(text, "g layer{}{}", own.0 + 1, if own.1 { "_invisible" } else { "" });
            }
            text.push('f');
            for corner in &facet.corners {
                let _ = write!(text, " {}", corner + 1);
            }
            text.push('\n');
        }
        text
    }

    /// A legacy VTK file of polygons with layer, unit, weight and visibility as cell data.
    pub fn to_vtk(&self) -> String {
        let mut text = format!(
            "# vtk DataFile Version 3.0\n{}\nASCII\nDATASET POLYDATA\nPOINTS {} double\n",
            one_line(&self.title),
            self.points.len()
        );
        for [x, y, z] in &self.points {
            let _ = writeln!(text, "{x} {y} {z}");
        }
        let numbers: usize = self.facets.iter().map(|facet| facet.corners.len() + 1).sum();
        let _ = writeln!(text, "POLYGONS {} {numbers}", self.facets.len());
        for facet in &self.facets {
            let _ = write!(text, "{}", facet.corners.len());
            for corner in &facet.corners {
                let _ = write!(text, " {corner}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "CELL_DATA {}", self.facets.len());
        self.data(&mut text, "layer int", |facet| (facet.layer + 1).to_string());
        self.data(&mut text, "unit int", |facet| (facet.unit + 1).to_string());
        self.data(&mut text, "visible int", |facet| u8::from(facet.weight > 0.0).to_string());
        self.data(&mut text, "weight double", |facet| facet.weight.to_string());
        text
    }

    fn data(&self, text: &mut String, name: &str, value: impl Fn(&MeshFacet) -> String) {
        let _ = writeln!(text, "SCALARS {name} 1\nLOOKUP_TABLE default");
        for facet in &self.facets {
            let _ = writeln!(text, "{}", value(facet));
        }
    }
}

/// The title on one line, as both formats want it.
fn one_line(title: &str) -> String {
    title.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_list_what_there_is() {
        let facet = |layer, weight| MeshFacet { corners: vec![0, 1, 2], layer, unit: 0, weight };
        let mesh = Mesh {
            title: "two\nfacets".into(),
            points: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.5]],
            facets: vec![facet(1, 0.0), facet(0, 2.0)],
            regions: 3,
        };
        let obj = mesh.to_obj();
        assert!(obj.starts_with("# two facets\nv 0 0 0\n"));
        assert!(obj.ends_with("g layer1\nf 1 2 3\ng layer2_invisible\nf 1 2 3\n"), "{obj}");
        let vtk = mesh.to_vtk();
        assert!(vtk.contains("POLYGONS 2 8\n3 0 1 2\n"), "{vtk}");
        assert!(vtk.ends_with("SCALARS weight double 1\nLOOKUP_TABLE default\n0\n2\n"), "{vtk}");
    }
}
