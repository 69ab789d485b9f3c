import { RuntimeError, type RuntimeErrorCode } from '../error.ts';

const READY = 'ready';

/** The first line that a helper writes on stdout: that it is ready, or why it is not and will exit. */
export const formatReadiness = (failure?: RuntimeError): string =>
  `${failure === undefined ? READY : JSON.stringify({ code: failure.code, message: failure.message })}\n`;

/** Returns the failure that such a line reports, without its cause, which the helper has written to stderr. */
export const parseReadiness = (line: string): RuntimeError | undefined => {
  if (line === READY) return undefined;
  const { code, message } = JSON.parse(line) as { code: RuntimeErrorCode; message: string };
  return new RuntimeError(code, message);
};
