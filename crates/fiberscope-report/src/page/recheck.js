// The button that checks the certificates of the page again, with the checker that the page carries.
document.getElementById("recheck").addEventListener("click", async (event) => {
  const button = event.target;
  const result = document.getElementById("recheck-result");
  button.disabled = true;
  result.textContent = "checking …";
  document.querySelectorAll(".rechecked").forEach((old) => old.remove());
  // ℝ³ and [−1, 1]³ instead of R^3 and [-1, 1]^3.
  const set = (text) => text.replace(/\bR\^/g, "ℝ^").replace(/\^(\d+)/g, (_, digits) => [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join(""));
  try {
    const engine = await Engine.fromBase64(document.getElementById("checker").textContent);
    const blocks = [...document.querySelectorAll('script[type="application/json"]')];
    const formatted = (format) => blocks.filter((block) => JSON.parse(block.textContent)?.format === format);
    const networks = new Map();
    for (const block of formatted("fiberscope-network")) {
      networks.set(engine.ask({ op: "digest", network: block.textContent }).sha256, block.textContent);
    }
    const certificates = formatted("fiberscope-certificate");
    let [proved, refused, missing] = [0, 0, 0];
    for (const block of certificates) {
      // Lets the browser show how far it is.
      await new Promise((next) => setTimeout(next));
      const { a, b } = JSON.parse(block.textContent);
      const [first, second] = [networks.get(a.sha256), networks.get(b.sha256)];
      const note = document.createElement("p");
      note.className = "rechecked";
      if (first === undefined || second === undefined) {
        missing++;
        note.textContent = "Not checked again: the page does not carry both networks.";
      } else {
        const answer = engine.ask({ op: "check", certificate: block.textContent, a: first, b: second });
        answer.valid ? proved++ : refused++;
        note.textContent = answer.valid ? `✓ Checked again in this browser: on ${set(answer.place)}, ${answer.reason} (evidence: ${answer.kind}).` : `✕ Refused in this browser: ${answer.reason}.`;
      }
      note.classList.add(first === undefined || second === undefined ? "open" : note.textContent.startsWith("✓") ? "good" : "bad");
      block.before(note);
      result.textContent = `${proved} of ${certificates.length} proved so far …`;
    }
    const rest = [refused && `${refused} refused`, missing && `${missing} without their networks`].filter(Boolean).join(", ");
    result.textContent = `${proved} of ${certificates.length} certificates proved in this browser, in exact arithmetic${rest ? `; ${rest}` : ""}.`;
  } catch (error) {
    result.textContent = `The check could not be run: ${error.message}`;
  }
  button.disabled = false;
});
