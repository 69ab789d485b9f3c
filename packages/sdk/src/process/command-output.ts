/** A chunk of output, in the order in which it was written. */
export type CommandOutput = { stdout: string } | { stderr: string };

type OutputName = 'stdout' | 'stderr';

/**
 * The output of a command so far, as text. Any number of readers iterate over it from the start, at their own pace,
 * also after its end. A character that arrives in two chunks is joined; bytes that are not UTF-8 become U+FFFD.
 *
 * @internal
 */
export class CommandOutputLog implements AsyncIterable<CommandOutput> {
  readonly #pieces: CommandOutput[] = [];
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  #wake: (() => void)[] = [];
  #end: { error?: unknown } | undefined;

  /** Adds bytes and returns the text that they complete, which may be empty. */
  push(name: OutputName, bytes: Uint8Array): string {
    return this.#append(name, this.#decoders[name].decode(bytes, { stream: true }));
  }

  /** Flushes incomplete characters and returns the result. Readers stop after it, with the error if there is one. */
  end(error?: unknown): CommandOutput[] {
    const rest = this.#pieces.length;
    for (const name of ['stdout', 'stderr'] as const) this.#append(name, this.#decoders[name].decode());
    this.#end = error === undefined ? {} : { error };
    this.#notify();
    return this.#pieces.slice(rest);
  }

  textOf(name: OutputName): string {
    let text = '';
    for (const piece of this.#pieces) text += (piece as Partial<Record<OutputName, string>>)[name] ?? '';
    return text;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CommandOutput, void, undefined> {
    for (let next = 0; ; ) {
      const piece = this.#pieces[next];
      if (piece) {
        next += 1;
        yield piece;
      } else if (this.#end) {
        if ('error' in this.#end) throw this.#end.error;
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    }
  }

  #append(name: OutputName, text: string): string {
    if (text) {
      this.#pieces.push(name === 'stdout' ? { stdout: text } : { stderr: text });
      this.#notify();
    }
    return text;
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
