import { SandboxError } from '../errors.ts';

/** Output of a command that is no longer available. */
export interface LostOutput {
  /** How many bytes of output, of stdout and stderr together, precede the lost ones. */
  offset: number;
  /** How many bytes are lost. */
  lostBytes: number;
}

/**
 * A handle reconnected to its command, or attached at an offset, and the sandbox had kept only later output. The
 * command continues: `commands.connect(pid, { offset: offset + lostBytes })` attaches after the gap.
 */
export class OutputLostError extends SandboxError implements LostOutput {
  override readonly name: string = 'OutputLostError';
  readonly offset: number;
  readonly lostBytes: number;

  constructor({ offset, lostBytes }: LostOutput) {
    super('output_lost', `${lostBytes} bytes of output after the first ${offset} are no longer available`);
    this.offset = offset;
    this.lostBytes = lostBytes;
  }
}
