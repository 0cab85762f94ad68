// The Rust core as WebAssembly: one buffer in its memory, first for the request and then for the answer.
class Engine {
  constructor(module) {
    this.module = module;
    this.encoder = new TextEncoder();
    this.decoder = new TextDecoder();
    this.start();
  }

  static async fromBase64(text) {
    const binary = atob(text.trim());
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return new Engine(await WebAssembly.compile(bytes));
  }

  start() {
    this.exports = new WebAssembly.Instance(this.module, { page: { milliseconds: () => performance.now() } }).exports;
  }

  // The answer to a request; throws the sentence that says what is wrong with it.
  ask(request) {
    const bytes = this.encoder.encode(JSON.stringify(request));
    let answer;
    try {
      const at = this.exports.fiberscope_reserve(bytes.length);
      new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
      const length = this.exports.fiberscope_call();
      answer = JSON.parse(this.decoder.decode(new Uint8Array(this.exports.memory.buffer, this.exports.fiberscope_answer(), length)));
    } catch (trap) {
      // A stopped instance is in no known state.
      this.start();
      throw new Error(`the program stopped at "${request.op}" (${trap.message}); it was started again`);
    }
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }
}
