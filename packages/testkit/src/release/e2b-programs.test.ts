// Packages of npm that are built on the e2b client, driven by scripted calls against the real service.
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replaceSection } from '../hosts/marked-section.ts';
import { readCodeBlocks } from '../pages/code-blocks.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { installProject, type NpmProject } from './e2b-programs/npm-project.ts';
import { type CallResult, toResultTables } from './e2b-programs/result-table.ts';
import { startScriptedModel } from './e2b-programs/scripted-model.ts';

/** Exact, as the pages name them. They are installed for this run alone: together they are larger than the workspace. */
const dependencies = {
  '@ai-sdk/openai': '4.0.118',
  '@computesdk/e2b': '1.7.52',
  '@e2b/cli': '2.19.0',
  '@langchain/core': '1.4.0',
  '@langchain/openai': '1.6.0',
  '@mastra/core': '1.71.0',
  '@mastra/e2b': '0.8.0',
  '@openai/agents': '0.18.0',
  '@openai/agents-core': '0.18.0',
  '@openai/agents-extensions': '0.18.0',
  ai: '7.0.173',
  e2b: '2.51.0',
  langchain: '1.5.14',
  zod: '4.6.7',
};

/** The program that drives each package. */
const programs: readonly (readonly [name: keyof typeof dependencies, program: string])[] = [
  ['@e2b/cli', 'cli.mjs'],
  ['@openai/agents-extensions', 'openai-agents.mjs'],
  ['@mastra/e2b', 'mastra.mjs'],
  ['@computesdk/e2b', 'computesdk.mjs'],
];

const page = join(workspaceRoot, 'docs/e2b-clients.md');
const frameworks = readCodeBlocks('docs/agent-frameworks.md').filter(({ language }) => language === 'ts');
const installLines = readCodeBlocks('docs/agent-frameworks.md').flatMap(({ text }) =>
  text.startsWith('npm install ') ? [text.trim()] : [],
);

let project: NpmProject;
const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'sleep', 'mkdir', 'chown']);
let stack: Stack;
let registry: DebianRegistry;
beforeAll(async () => {
  project = await installProject(dependencies);
  for (const name of ['calls.mjs', ...programs.map(([, program]) => program)])
    copyFileSync(join(import.meta.dirname, 'e2b-programs', name), join(project.path, name));
  registry = await startDebianRegistry();
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  stack = await startStack({ args: ['--registry', registry.host] });
});
afterAll(async () => {
  project?.remove();
  await stack?.down();
  await registry?.[Symbol.asyncDispose]();
  rmSync(busybox, { recursive: true, force: true });
});

const environment = (): Record<string, string> => {
  const { apiKey, apiUrl, domain, sandboxUrl } = stack.address;
  return {
    ...{ E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl },
    ...{
      SKERRY_API_KEY: apiKey,
      SKERRY_API_URL: apiUrl,
      SKERRY_DOMAIN: domain,
      SKERRY_SANDBOX_URL: sandboxUrl,
    },
  };
};

it('runs calls of packages that are built on the e2b client as docs/e2b-clients.md lists them', async () => {
  const made: { name: string; results: CallResult[] }[] = [];
  for (const [name, program] of programs) {
    const file = join(project.path, `${program}.results`);
    const env = { ...environment(), IMAGE: `${registry.host}/test/busybox` };
    await project.run(process.execPath, [program, file], env);
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    made.push({
      name: `${name} ${dependencies[name]}`,
      results: lines.map((line) => JSON.parse(line) as CallResult),
    });
  }
  const content = toResultTables(made);
  // The page is written with -u.
  await expect(replaceSection(readFileSync(page, 'utf8'), { name: 'programs', content })).toMatchFileSnapshot(
    page,
  );
});

describe('the page on frameworks of agents', () => {
  it('installs the releases that are tested, each framework its own', () => {
    const named = installLines.flatMap((line) => line.split(' ').slice(2));
    for (const word of named.filter((name) => name !== '@skerry/sdk')) {
      const [, name = '', version] = /^(@?[^@]+)@(.+)$/.exec(word) ?? [];
      expect([word, version]).toEqual([word, dependencies[name as keyof typeof dependencies]]);
    }
    // The last is for any framework.
    expect(frameworks).toHaveLength(installLines.length + 1);
  });

  it.each(frameworks.map(({ line, text }) => [line, text] as const))(
    'has a program of at most twenty lines in line %i, which runs the commands of a model in a sandbox and leaves none',
    async (_line, program) => {
      expect(program.trim().split('\n').filter(Boolean).length).toBeLessThanOrEqual(20);
      await using model = await startScriptedModel(['python3 -c "print(6 * 7)"', 'cat missing; exit 3']);
      writeFileSync(join(project.path, 'agent.mts'), program);
      const env = {
        ...{ ...environment(), OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: model.url },
        // Traces would be sent to the vendor.
        OPENAI_AGENTS_DISABLE_TRACING: '1',
      };
      const printed = await project.run(process.execPath, ['agent.mts'], env);
      expect(printed).toMatch(/\b42\b/);
      if (program.includes('gpt-')) {
        expect(printed).toContain('missing: No such file or directory');
        expect(printed).toMatch(/code"?:? ?3/i);
      }
      const { data } = await stack.api.GET('/sandboxes');
      expect(data).toEqual([]);
    },
  );
});
