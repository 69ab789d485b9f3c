import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TemplateDefinition } from '../../definition.ts';
import { type ParseOptions, parseDockerfile } from '../parse-dockerfile.ts';
import { DockerfileError } from '../refused.ts';

/** What one sentence of the reference of the Dockerfile syntax says, in words of our own, with what shows it. */
type Row = { says: string } & (
  | {
      /** The file, whose first line may be left out: then it is `FROM image`. */
      file: string;
      options?: ParseOptions;
      /** What the last stage does, as far as the sentence goes. */
      steps?: readonly object[];
      /** What else the template has. */
      has?: Partial<TemplateDefinition>;
    }
  | {
      file: string;
      options?: ParseOptions;
      /** A template cannot express it: the line, and a part of the reason. */
      refused: readonly [line: number, reason: string];
    }
  | {
      /** Only a build shows it: the title of a test of `testkit/src/templates/FILE`. */
      shownBy: readonly [file: string, title: string];
    }
);

const testkit = join(import.meta.dirname, '../../../../../testkit/src/templates');

/** Declares a test for each sentence about an instruction. */
export function testReference(instruction: string, rows: readonly Row[]): void {
  describe(`the reference of ${instruction}`, () => {
    it.each(rows.map((row) => [row.says, row] as const))('%s', (_says, row) => {
      if ('shownBy' in row) {
        const [file, title] = row.shownBy;
        expect(readFileSync(join(testkit, file), 'utf8')).toContain(title);
        return;
      }
      const text = /^(?:\s*#|\s*FROM|\s*ARG[^\n]*\nFROM|\uFEFF)/i.test(row.file)
        ? row.file
        : `FROM image\n${row.file}`;
      const parse = () => parseDockerfile(text, { platform: 'linux/amd64', ...row.options });
      if ('refused' in row) {
        const [line, reason] = row.refused;
        expect(parse).toThrow(DockerfileError);
        expect(parse).toThrow(expect.objectContaining({ line, message: expect.stringContaining(reason) }));
        return;
      }
      const parsed = parse();
      if (row.steps !== undefined) {
        expect(parsed.steps).toHaveLength(row.steps.length);
        expect(parsed.steps).toMatchObject(row.steps);
      }
      expect(parsed).toMatchObject(row.has ?? {});
    });
  });
}

/** A command of the shell form. */
export const run = (command: string): object => ({ type: 'RUN', args: [command], shell: ['/bin/sh', '-c'] });
