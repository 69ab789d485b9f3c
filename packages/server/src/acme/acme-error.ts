import { UserError } from '../user-error.ts';

/** A certificate could not be obtained; the message says which step failed, and what the authority or the DNS server said. */
export class AcmeError extends UserError {
  override name = 'AcmeError';
  /** The authority asks not to be called again before that time has passed. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { cause?: unknown; hint?: string; retryAfterMs?: number } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}
