/** The result of trying one part of this host. */
export interface ProbeResult {
  name: string;
  ok: boolean;
  /** Whether no sandbox can be made without it. */
  needed: boolean;
  /** What was seen when it was tried, or why it failed: one line. */
  found: string;
  /** The line to run on Debian or Ubuntu, as root, or else what to do. */
  mend?: string;
}

/** Tries one thing and reports the result. Never rejects. */
export async function probe(
  about: { name: string; needed: boolean; mend: string },
  attempt: () => Promise<string>,
): Promise<ProbeResult> {
  const { name, needed, mend } = about;
  try {
    return { name, ok: true, needed, found: await attempt() };
  } catch (error) {
    return { name, ok: false, needed, found: toReason(error), mend };
  }
}

/** A failure in one line, with its causes. */
function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `: ${toReason(error.cause)}`;
  return `${error.message}${cause}`.replaceAll(/\s*\n\s*/g, ' ').slice(0, 500);
}

export const aptInstall = (...packages: string[]): string => `apt-get install -y ${packages.join(' ')}`;

/** The advice for what an ordinary user cannot have. */
export const asRoot = 'run skerry as root: sudo skerry';
