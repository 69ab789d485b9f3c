import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { type Call, type Part, type Pipe, parseTemplate, type Term } from './parse-template.ts';

export type Values = Record<string, unknown>;

export interface Release {
  name: string;
  namespace: string;
}

interface Scope {
  dot: unknown;
  root: unknown;
  definitions: Map<string, Part[]>;
}

/** Merges values as Helm does: objects field by field, anything else is replaced. */
export const mergeValues = (base: Values, over: Values): Values => {
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? mergeValues(before, value) : value;
  }
  return merged;
};

/**
 * Renders a chart as "helm template" does, in the part of its language that `parseTemplate` knows. Resolves with the text of each
 * template by its name.
 */
export const renderChart = (folder: string, release: Release, values: Values): Map<string, string> => {
  const chart = parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as Record<string, unknown>;
  const given = parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values;
  const root = {
    Values: mergeValues(given, values),
    Release: { Name: release.name, Namespace: release.namespace, Service: 'Helm' },
    Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
  };
  const names = readdirSync(join(folder, 'templates')).toSorted();
  const parsed = names.map((name): [string, Part[]] => {
    try {
      return [name, parseTemplate(readFileSync(join(folder, 'templates', name), 'utf8'))];
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    }
  });
  const definitions = new Map<string, Part[]>();
  for (const [, parts] of parsed)
    for (const part of parts) if (part.kind === 'define') definitions.set(part.name, part.body);
  const scope: Scope = { dot: root, root, definitions };
  return new Map(
    parsed.filter(([name]) => !name.startsWith('_')).map(([name, parts]) => [name, render(parts, scope)]),
  );
};

const render = (parts: readonly Part[], scope: Scope): string =>
  parts.map((part) => renderPart(part, scope)).join('');

const renderPart = (part: Part, scope: Scope): string => {
  if (part.kind === 'text') return part.text;
  if (part.kind === 'define') return '';
  const value = evaluate(part.pipe, scope);
  if (part.kind === 'print') return print(value);
  if (!isTrue(value)) return render(part.otherwise, scope);
  if (part.kind === 'if') return render(part.body, scope);
  if (part.kind === 'with') return render(part.body, { ...scope, dot: value });
  return (value as unknown[]).map((dot) => render(part.body, { ...scope, dot })).join('');
};

const evaluate = (pipe: Pipe, scope: Scope): unknown => {
  let value: unknown;
  pipe.forEach((call, index) => {
    value = evaluateCall(call, index === 0 ? [] : [value], scope);
  });
  return value;
};

const evaluateCall = (call: Call, piped: unknown[], scope: Scope): unknown => {
  if ('term' in call) return evaluateTerm(call.term, scope);
  const given = [...call.terms.map((term) => evaluateTerm(term, scope)), ...piped];
  if (call.name === 'include') {
    const [name, dot] = given;
    const body = scope.definitions.get(String(name));
    if (body === undefined) throw new Error(`there is no template ${String(name)}`);
    return render(body, { ...scope, dot, root: dot });
  }
  const run = functions[call.name];
  if (run === undefined) throw new Error(`unknown function ${call.name}`);
  return run(given);
};

const evaluateTerm = (term: Term, scope: Scope): unknown => {
  if (term.kind === 'value') return term.value;
  if (term.kind === 'pipe') return evaluate(term.pipe, scope);
  let value: unknown = term.isRoot ? scope.root : scope.dot;
  for (const key of term.path) {
    // Helm would print "<no value>".
    if (!isObject(value) || !(key in value)) throw new Error(`there is no value .${term.path.join('.')}`);
    value = value[key];
  }
  return value;
};

/** The functions of Go templates, of Sprig and of Helm that the chart calls. */
const functions: Record<string, (given: readonly unknown[]) => unknown> = {
  toYaml: ([value]) => stringify(value, { sortMapEntries: true, lineWidth: 0 }).trimEnd(),
  nindent: ([count, text]) => `\n${print(text).replaceAll(/^/gm, ' '.repeat(Number(count)))}`,
  quote: ([value]) => JSON.stringify(print(value)),
  default: ([otherwise, value]) => (isTrue(value) ? value : otherwise),
  mul: (factors) => factors.reduce<number>((product, factor) => product * Number(factor), 1),
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTrue = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== '' && value !== 0 && value !== false;
};

const print = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new Error('only text, numbers and booleans can be printed: use toYaml');
};
