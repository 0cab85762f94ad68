//! The page `bench/results/soak.md`: the counts of the commit at hand, and a line for each commit before.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::Options;
use crate::tally::Tally;

const HEAD: &str = "| commit | runs | minutes | pairs | wrong verdicts | certificates | by the second checker | changed ones | readings | findings |";

/// The counts of earlier runs of the same commit and seed, to go on from there.
pub fn earlier(options: &Options, folder: &Path) -> Tally {
    let stored = options.commit.as_ref().and_then(|commit| fs::read(folder.join(file(options, commit))).ok());
    stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn file(options: &Options, commit: &str) -> String {
    format!("counts-{commit}-{}.json", options.seed)
}

/// Stores the counts for later runs and writes the page.
pub fn store(options: &Options, folder: &Path, tally: &Tally) -> Result<(), String> {
    if let Some(commit) = &options.commit {
        let json = serde_json::to_vec_pretty(tally).map_err(|error| error.to_string())?;
        write(&folder.join(file(options, commit)), &json)?;
    }
    let Some(path) = &options.report else { return Ok(()) };
    let before = fs::read_to_string(path).unwrap_or_default();
    write(path, page(options, tally, &before).as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let done = fiberscope_io::write_atomically(path, |file| file.write_all(bytes));
    done.map_err(|error| format!("{}: {error}", path.display()))
}

/// The page.
pub fn page(options: &Options, tally: &Tally, before: &str) -> String {
    let name = options.commit.clone().unwrap_or_else(|| "uncommitted".into());
    let mut out = format!("# Soak\n\n`cargo xtask soak` on {}.\n\n## Runs\n\n{HEAD}\n", options.machine);
    out.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    let wrong: u64 = tally.classes.values().map(|class| class.wrong).sum();
    let row = format!(
        "| {name} | {} | {:.0} | {} | {wrong} | {} | {} | {} | {} | {} |\n",
        tally.runs,
        tally.seconds / 60.0,
        tally.pairs(),
        tally.certificates,
        tally.second,
        tally.mutants,
        tally.executions(),
        tally.findings.len()
    );
    out.push_str(&row);
    let start = format!("| {name} |");
    let rows =
        before.lines().skip_while(|line| *line != HEAD).skip(2).take_while(|line| line.starts_with('|'));
    rows.filter(|line| !line.starts_with(&start)).for_each(|line| {
        out.push_str(line);
        out.push('\n');
    });
    // Writing to a string does not fail.
    let _ = verdicts(tally, &mut out, &name);
    let _ = proofs(tally, &mut out);
    let _ = readers(tally, &mut out);
    let _ = findings(tally, &mut out);
    out
}

fn verdicts(tally: &Tally, out: &mut String, name: &str) -> std::fmt::Result {
    writeln!(out, "\n## Pairs of {name}\n")?;
    writeln!(
        out,
        "Verdicts are counted per question: plainly, with `--exact`, with `--tolerance` on both sides of the difference; on `R^n` and on boxes; with time limits of 0 to 60 ms. \
         \"Sampled\" are verdicts that hold at all points and on all lines looked at, where the truth is out of reach.\n"
    )?;
    writeln!(
        out,
        "| class | pairs | questions | equivalent | up to rounding, within | different | undecided | share | sampled | wrong |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    for (class, v) in &tally.classes {
        let share = 100.0 * v.undecided as f64 / v.questions.max(1) as f64;
        writeln!(
            out,
            "| {class} | {} | {} | {} | {} | {} | {} | {share:.1} % | {} | {} |",
            v.pairs, v.questions, v.equivalent, v.rounding, v.different, v.undecided, v.sampled, v.wrong
        )?;
    }
    writeln!(
        out,
        "\nDraws whose numbers left the doubles: {}. Constructions confirmed by decomposition: {}. Questions asked of the command in a process of its own: {}.",
        tally.rejected, tally.constructions, tally.commands
    )
}

fn proofs(tally: &Tally, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n## Certificates\n\n| evidence | accepted by the first checker |\n|---|---:|")?;
    for (kind, count) in &tally.kinds {
        writeln!(out, "| `{kind}` | {count} |")?;
    }
    writeln!(
        out,
        "\nAccepted by the second checker: {} of {}. Changed certificates: {}; accepted, since what they say is still true: {}; both checkers gave the same \
         answer on all {} that both looked at.",
        tally.second, tally.certificates, tally.mutants, tally.mutants_accepted, tally.mutants_second
    )
}

fn readers(tally: &Tally, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n## Readers\n\n| reader | executions | accepted | kinds of answers | slowest, ms |\n|---|---:|---:|---:|---:|"
    )?;
    for (name, p) in &tally.parsers {
        let slowest = p.slowest as f64 / 1000.0;
        writeln!(out, "| {name} | {} | {} | {} | {slowest:.1} |", p.runs, p.accepted, p.kinds)?;
    }
    Ok(())
}

fn findings(tally: &Tally, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n## Findings\n")?;
    if tally.findings.is_empty() {
        return writeln!(out, "None.");
    }
    let mut counts: std::collections::BTreeMap<&str, usize> = Default::default();
    tally.findings.iter().for_each(|finding| *counts.entry(&finding.kind).or_default() += 1);
    for (kind, count) in counts {
        writeln!(out, "- {kind}: {count}")?;
    }
    writeln!(out, "\n| kind | again | what |\n|---|---|---|")?;
    for finding in tally.findings.iter().take(100) {
        let what = finding.what.replace(['|', '\n'], " ");
        writeln!(out, "| {} | `cargo xtask soak {}` | {what} |", finding.kind, finding.again)?;
    }
    Ok(())
}
