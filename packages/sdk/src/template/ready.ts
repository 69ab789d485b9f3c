import { toSandboxError } from '../errors.ts';
import { quoteWord } from './quote-word.ts';

// Only the shell and grep are needed where possible: many images have neither ss nor pgrep.

/** A command that succeeds when a program listens on the TCP port. Throws `invalid_argument` for what is no port. */
export function waitForPort(port: number): string {
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw toSandboxError('invalid_argument', `port must be an integer from 1 to 65535, got ${port}`);
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  // A line of a listening socket: number, own address, foreign address with port 0, state 0A.
  return `grep -qsE '^ *[0-9]+: [0-9A-F]+:${hex} [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6`;
}

/** A command that succeeds when the URL is answered with that status, 200 by default. The template must have curl. */
export function waitForUrl(url: string | URL, status = 200): string {
  const text = String(url);
  if (!URL.canParse(text)) throw toSandboxError('invalid_argument', `url must be a URL, got "${text}"`);
  return `[ "$(curl -s -o /dev/null -w '%{http_code}' ${quoteWord(text)})" = ${Number(status)} ]`;
}

/** A command that succeeds when a process with that name of its program runs. */
export function waitForProcess(name: string): string {
  // The kernel cuts the name in comm to 15 bytes.
  const comm = new TextDecoder().decode(new TextEncoder().encode(name).slice(0, 15));
  return `grep -qsxF -e ${quoteWord(comm)} /proc/[0-9]*/comm`;
}

/** A command that succeeds when the file or folder exists. */
export const waitForFile = (path: string): string => `[ -e ${quoteWord(path)} ]`;

/** A command that succeeds after that time, in milliseconds. It is rounded up to whole seconds. */
export const waitForTimeout = (ms: number): string => `sleep ${Math.max(0, Math.ceil(ms / 1000))}`;
