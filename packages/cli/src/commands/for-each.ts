import { SandboxError } from '@skerry/sdk';

/** Does it to each, one after the other. What the service refuses is told in a line, and the others still get their turn. */
export async function forEach(ids: string[], act: (id: string) => Promise<unknown>): Promise<void> {
  for (const id of ids) {
    try {
      await act(id);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      process.stderr.write(`skerry: ${id}: ${error.message}\n`);
      process.exitCode = 1;
    }
  }
}
