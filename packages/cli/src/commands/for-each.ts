import { SandboxError, type SandboxErrorCode } from '@skerry/sdk';
import { explainFailure } from '../explain-failure.ts';
import type { Kind } from '../kind.ts';
import { printJson, report, reportText } from '../output/print.ts';

export interface ForEachOptions<Result> {
  ids: readonly string[];
  act: (id: string) => Promise<Result>;
  kind: Kind;
  /** Prints a JSON object a line: the id, and what this makes of the result, or the error. */
  toJson?: ((result: Result) => object) | false | undefined;
}

/** The name of the id in that object. */
const keys = {
  sandbox: 'sandboxId',
  snapshot: 'snapshotId',
  template: 'template',
  result: 'key',
  node: 'node',
  key: 'keyId',
} satisfies Record<Kind, string>;

/**
 * Runs the action for each id in turn. An error of the service is printed as a line, the next id follows, and the status of this
 * process becomes 1. Hints follow at the end, each once.
 */
export async function forEach<Result>({ ids, act, kind, toJson }: ForEachOptions<Result>): Promise<void> {
  const hints = new Set<string>();
  for (const id of ids) {
    try {
      const result = await act(id);
      if (toJson) printJson({ [keys[kind]]: id, ...toJson(result) });
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      process.exitCode = 1;
      if (toJson) printJson({ [keys[kind]]: id, error: toPlainError(error) });
      else {
        report(`${id}: ${error.message}`);
        const hint = explainFailure(error, kind)?.hint;
        if (hint !== undefined) hints.add(hint);
      }
    }
  }
  for (const hint of hints) reportText(`  ${hint}\n`);
}

interface RemoveEachOptions {
  ids: readonly string[];
  /** Resolves to false where nothing has the id. */
  remove: (id: string) => Promise<boolean>;
  kind: Kind;
  /** The key of the result in a JSON object. */
  verb: 'deleted' | 'removed' | 'revoked';
  json: boolean | undefined;
}

/** Removes what each id names, as {@link forEach}. An id that nothing has is printed as a line, and the status of this process becomes 1. */
export async function removeEach({ ids, remove, kind, verb, json }: RemoveEachOptions): Promise<void> {
  const act = async (id: string): Promise<boolean> => {
    const removed = await remove(id);
    if (!removed) process.exitCode = 1;
    if (!removed && !json) report(`no ${kind} ${id}`);
    return removed;
  };
  await forEach({ ids, act, kind, toJson: json && ((removed) => ({ [verb]: removed })) });
}

/** What `--json` prints of an error of the service. */
export function toPlainError({ code, message }: SandboxError): { code: SandboxErrorCode; message: string } {
  return { code, message };
}
