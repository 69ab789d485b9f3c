import { SandboxError } from '../errors.ts';

/** Output of a command that can no longer be had. */
export interface LostOutput {
  /** How many bytes of output came before the lost ones, of stdout and stderr together. */
  offset: number;
  /** How many bytes are lost. */
  lostBytes: number;
}

/**
 * A handle came back to its command after its connection broke, or attached at an offset, and the sandbox had kept only later
 * output. The command runs on: `commands.connect(pid, { offset: offset + lostBytes })` attaches behind the gap.
 */
export class OutputLostError extends SandboxError implements LostOutput {
  override readonly name: string = 'OutputLostError';
  readonly offset: number;
  readonly lostBytes: number;

  constructor({ offset, lostBytes }: LostOutput) {
    super('output_lost', `${lostBytes} bytes of output after the first ${offset} are no longer kept`);
    this.offset = offset;
    this.lostBytes = lostBytes;
  }
}
