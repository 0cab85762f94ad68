//! The version: one in the workspace, one section of the changelog, one tag.

use std::fs;

use crate::shell::{Failure, root};

/// Checks that this is the version of the workspace and that the changelog has a section for it; prints that
/// section on request.
pub fn tell(version: &str, notes: bool) -> Result<(), Failure> {
    let ours = env!("CARGO_PKG_VERSION");
    if version != ours {
        return Err(Failure(format!("the workspace has version {ours}, not {version}")));
    }
    let path = root().join("CHANGELOG.md");
    let text = fs::read_to_string(&path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    let section = section(&text, version)
        .ok_or_else(|| Failure(format!("CHANGELOG.md has no section [{version}] with text in it")))?;
    if notes {
        print!("{section}");
    }
    Ok(())
}

/// The text below `## [VERSION] - DATE`, up to the next section or the links at the end.
fn section<'a>(changelog: &'a str, version: &str) -> Option<&'a str> {
    let heading = format!("\n## [{version}]");
    let after = &changelog[changelog.find(&heading)? + heading.len()..];
    let body = &after[after.find('\n')? + 1..];
    let end = body.find("\n## [").or_else(|| body.find("\n[")).map_or(body.len(), |end| end + 1);
    let body = body[..end].trim_start_matches('\n');
    (!body.trim().is_empty()).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_section_ends_at_the_next_one_or_at_the_links() {
        let text = "# Changes\n\n## [0.2.0] - 2026-01-02\n\n- new\n\n## [0.1.0] - 2026-01-01\n\n- old\n\n[0.2.0]: x\n";
        assert_eq!(section(text, "0.2.0"), Some("- new\n\n"));
        assert_eq!(section(text, "0.1.0"), Some("- old\n\n"));
        assert_eq!(section(text, "0.3.0"), None);
        assert_eq!(section("# Changes\n\n## [1.0.0]\n\n", "1.0.0"), None);
    }
}
