import { InvalidArgumentError } from '../../errors.ts';

/** A Dockerfile, or a part of one, cannot become a template. Nothing was built. */
export class DockerfileError extends InvalidArgumentError {
  override readonly name: string = 'DockerfileError';
  /** The line of the Dockerfile, from 1. */
  readonly line: number;

  /** @internal */
  constructor(line: number, message: string, options?: { cause?: unknown }) {
    super('invalid_argument', `line ${line}: ${message}`, options);
    this.line = line;
  }
}

/** @internal */
export function refuse(line: number, message: string): never {
  throw new DockerfileError(line, message);
}
