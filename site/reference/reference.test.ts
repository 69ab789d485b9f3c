import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { toApiPage } from './openapi/api-page.ts';
import type { OpenApiDocument, Operation } from './openapi/document.ts';
import { toProtoPage } from './proto/proto-page.ts';
import { readProtos } from './proto/read-protos.ts';

const specs = join(import.meta.dirname, '../../specs');
const document = parse(readFileSync(join(specs, 'openapi.yaml'), 'utf8')) as OpenApiDocument;
const operations = Object.values(document.paths).flatMap((item) =>
  Object.values(item as Record<string, Operation>).filter((part) => part.operationId !== undefined),
);

/** The text below the heading with an id, up to the next one of its level. */
const below = (page: string, id: string): string =>
  new RegExp(`^(#+) .* \\{#${id}\\}\\n([\\s\\S]*?)(?=^#{1,3} |$(?![\\s\\S]))`, 'm').exec(page)?.[2] ?? '';

/** Links of a page to headings that it does not have. */
const findBroken = (page: string): string[] => {
  const ids = new Set([...page.matchAll(/\{#(.+?)\}$/gm)].map(([, id]) => id));
  return [...page.matchAll(/\]\(#(.+?)\)/g)].map(([, id = '']) => id).filter((id) => !ids.has(id));
};

describe('the page of the API', () => {
  const page = toApiPage(document);

  it('has each operation with its parameters and statuses', () => {
    expect(operations.length).toBeGreaterThan(40);
    for (const { operationId, responses, parameters = [] } of operations) {
      const text = below(page, operationId);
      for (const status of Object.keys(responses)) expect(text, operationId).toContain(`\n| ${status} | `);
      for (const { name, $ref } of parameters) {
        const shared = document.components.parameters?.[$ref?.split('/').at(-1) ?? ''] as { name: string };
        expect(text, operationId).toContain(`\n| \`${name ?? shared.name}\` (`);
      }
    }
  });

  it('has each schema with its fields', () => {
    for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
      const text = below(page, name);
      expect(text.length, name).toBeGreaterThan(0);
      for (const field of Object.keys(properties)) expect(text, name).toContain(`\n| \`${field}\` | `);
    }
  });

  it('has no link to a heading that is missing, and nothing that the site reads as HTML or a template', () => {
    expect(findBroken(page)).toEqual([]);
    const prose = page.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '');
    expect(prose.match(/\{\{|<(?!br>)/g)).toBe(null);
  });

  it('is refused for a reference that names nothing, and for a tag without a description', () => {
    const given = { ...document, components: { ...document.components, responses: {} } };
    expect(() => toApiPage(given)).toThrow('#/components/responses/');
    expect(() => toApiPage({ ...document, tags: [] })).toThrow('has a tag that is not described');
  });
});

it.each(readProtos(specs).map((file) => [file.name, file] as const))(
  'the page of %s has each call and each message',
  (_name, file) => {
    const page = toProtoPage(file);
    const named = [...file.services.flatMap(({ methods }) => methods), ...file.messages, ...file.enums];
    expect(named.filter(({ name }) => below(page, name) === '').map(({ name }) => name)).toEqual([]);
    expect(findBroken(page)).toEqual([]);
    for (const { name, fields } of file.messages)
      for (const field of fields) expect(below(page, name)).toContain(`\n| \`${field.name}\` | `);
  },
);

it('is generated of both files of the agent', () => {
  const folders = readdirSync(specs).filter((name) => ['process', 'filesystem'].includes(name));
  expect(readProtos(specs)).toHaveLength(folders.length);
});
