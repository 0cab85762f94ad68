// Verdicts in the background: a worker with its own instance of the core, the newest question first.

class Judge {
  // `report(id, answer or null, error or null)` is called for every question that was not overtaken.
  constructor(module, source, report) {
    this.module = module;
    this.report = report;
    this.busy = null;
    this.next = null;
    this.count = 0;
    this.address = URL.createObjectURL(new Blob([source, WORKER], { type: "text/javascript" }));
    this.start();
  }

  start() {
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => this.finish(data);
    this.worker.onerror = (event) => this.finish({ id: this.busy?.id, error: event.message || "the worker stopped" });
    this.worker.postMessage({ module: this.module });
  }

  ask(request) {
    const id = ++this.count;
    this.next = { id, request };
    if (this.busy && performance.now() - this.busy.since > 400) {
      this.worker.terminate();
      this.busy = null;
      this.start();
    }
    if (!this.busy) this.send();
    return id;
  }

  send() {
    this.busy = { id: this.next.id, since: performance.now() };
    this.worker.postMessage(this.next);
    this.next = null;
  }

  finish({ id, answer, error }) {
    if (!this.busy || id !== this.busy.id) return;
    this.busy = null;
    this.report(id, answer ?? null, error ?? null);
    if (this.next) this.send();
  }
}

const WORKER = `
let engine;
onmessage = ({ data }) => {
  if (data.module) { engine = new Engine(data.module); return; }
  try { postMessage({ id: data.id, answer: engine.ask(data.request) }); }
  catch (error) { postMessage({ id: data.id, error: error.message }); }
};`;
