import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Forms that a comment must not have, above lines of the form `above` or any, with the advice that the failure prints. */
const rules: { form: RegExp; above?: RegExp; advice: string }[] = [
  {
    form: /^(Of|As|Its|It|They|By|For|With|The same)\b/,
    advice: 'begin with the noun or with a verb ("Returns …"), not with a word that refers to the code',
  },
  {
    form: /\b([Ww]hoever|(?<!`)[Nn]obody|[Ss]omebody|[Hh]e|[Hh]is|[Hh]im)\b/,
    advice: 'name the process, caller or user',
  },
  {
    form: /\bThrows\b/,
    above: /^\s*(?:export )?(?:static )?(?:async (?!function\*|\*)|const \w+ = async |.*\): Promise<)/,
    advice: 'a promise "Rejects with …"',
  },
  { form: /\b(of no use|so many|takes? no new)\b/, advice: 'write "unused", "the number of", "cordoned"' },
];

interface Comment {
  /** From 1. */
  line: number;
  text: string;
  /** The line below. */
  below: string;
}

/** Returns the comments of a source file. Consecutive lines of `//` are one comment. */
function listComments(source: string): Comment[] {
  const comments: (Omit<Comment, 'below'> & { end: number; joins: boolean })[] = [];
  const lines = source.split('\n');
  let open = false;
  for (const [index, content] of lines.entries()) {
    const last = comments.at(-1);
    if (open && last !== undefined) {
      last.text += ` ${(content.split('*/')[0] ?? '').replace(/^\s*\*?/, '').trim()}`;
      last.end = index;
      open = !content.includes('*/');
      continue;
    }
    const block = /^\s*\/\*+(.*?)(\*\/|$)/.exec(content);
    const whole = /^\s*\/\/(.*)/.exec(content);
    const found = block?.[1] ?? whole?.[1] ?? /\S\s+\/\/\s(.*)/.exec(content)?.[1];
    if (found === undefined) continue;
    open = block !== null && block[2] === '';
    if (whole !== null && last?.joins === true && last.end === index - 1) {
      last.text += ` ${found.trim()}`;
      last.end = index;
    } else {
      comments.push({ line: index + 1, text: found.trim(), end: index, joins: whole !== null });
    }
  }
  return comments.map(({ line, text, end }) => ({ line, text: text.trim(), below: lines[end + 1] ?? '' }));
}

/** Returns a line for each comment that breaks a rule, with the rule's advice. */
function findOffenders(source: string): string[] {
  return listComments(source).flatMap(({ line, text, below }) => {
    const rule = rules.find(({ form, above }) => form.test(text) && (above?.test(below) ?? true));
    return rule === undefined ? [] : [`line ${line}: "${text.slice(0, 80)}": ${rule.advice}`];
  });
}

const sources = ['.', 'packages', 'scripts', 'site', 'bench']
  .flatMap((root) =>
    readdirSync(root, { recursive: root !== '.', encoding: 'utf8' }).map((path) => join(root, path)),
  )
  .filter((path) => path.endsWith('.ts') && !/node_modules|\/dist\/|\/gen\/|^comments\.test/.test(path));

describe('comments', () => {
  it.each([
    ['/** Of the host. */', 1],
    ['/**\n * As `run`,\n * of a set.\n */', 1],
    ['run(); // It has ended.', 1],
    ['// Ends the process.\n// It has ended.', 0],
    ['// Ends the process.\n\n// It has ended.', 1],
    ['// Ends the process, whoever\n// started it.', 1],
    ['/**\n * Ends it. Throws an error.\n */\nexport async function end() {}', 1],
    ['/** Ends it. Throws an error. */\nend(): Promise<void>;', 1],
    ['/** Ends it. Throws an error. */\nexport function end() {}', 0],
    ['/** Item. */', 0],
    ["const url = 'http://It.example';", 0],
  ])('finds in %j the number of comments that break a rule', (source, count) => {
    expect(findOffenders(source)).toHaveLength(count);
  });

  it('have their subject and plain words', () => {
    const wrong = sources.flatMap((path) =>
      findOffenders(readFileSync(path, 'utf8')).map((offender) => `${path} ${offender}`),
    );
    expect(wrong).toEqual([]);
  });
});
