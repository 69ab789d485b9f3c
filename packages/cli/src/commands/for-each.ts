import { SandboxError, type SandboxErrorCode } from '@skerry/sdk';
import { explainFailure } from '../explain-failure.ts';
import { printJson, report, reportText } from '../output/print.ts';

export interface ForEachOptions<Result> {
  ids: readonly string[];
  act: (id: string) => Promise<Result>;
  /** Prints a JSON object a line: the id by this key, and what `toFields` makes of the result, or the error. */
  json?:
    | { key: 'sandboxId' | 'snapshotId' | 'template' | 'key' | 'node'; toFields: (result: Result) => object }
    | undefined;
}

/**
 * Runs the action for each id in turn. An error of the service is printed as a line, the next id follows, and the status of this
 * process becomes 1. Hints follow at the end, each once.
 */
export async function forEach<Result>({ ids, act, json }: ForEachOptions<Result>): Promise<void> {
  const hints = new Set<string>();
  for (const id of ids) {
    try {
      const result = await act(id);
      if (json) printJson({ [json.key]: id, ...json.toFields(result) });
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      process.exitCode = 1;
      if (json) printJson({ [json.key]: id, error: toPlainError(error) });
      else {
        report(`${id}: ${error.message}`);
        const hint = explainFailure(error)?.hint;
        if (hint !== undefined) hints.add(hint);
      }
    }
  }
  for (const hint of hints) reportText(`  ${hint}\n`);
}

/** What `--json` prints of an error of the service. */
export function toPlainError({ code, message }: SandboxError): { code: SandboxErrorCode; message: string } {
  return { code, message };
}
