import type { Command } from 'commander';

/** What the ids and names of a command stand for. */
export type Kind = 'sandbox' | 'snapshot' | 'template' | 'result' | 'node' | 'key';

const listings: Record<Kind, string> = {
  sandbox: 'skerry sandbox list',
  snapshot: 'skerry snapshot list',
  template: 'skerry template list',
  result: 'skerry template cache ls',
  node: 'skerry node ls',
  key: 'skerry key list',
};

/** What to do when nothing of that kind has the id or the name. */
export const toMissingHint = (kind: Kind): string => `"${listings[kind]}" shows what there is`;

/** The kind that a command asks for; undefined for a command that asks for nothing by id or name. */
export function toKind(command: Command): Kind | undefined {
  const words: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) words.unshift(at.name());
  const [group = '', verb = ''] = words;
  if (group === 'template') return verb === 'cache' ? 'result' : 'template';
  if (group === 'image') return 'template';
  if (group === 'snapshot') return verb === 'create' ? 'sandbox' : 'snapshot';
  if (group === 'node' || group === 'key') return group;
  const own = group === 'sandbox' ? verb : group;
  if (own === 'create' || own === 'run') return 'template';
  return group === 'sandbox' || shortcuts.includes(group) ? 'sandbox' : undefined;
}

/** Commands of `sandbox` that need not that word. */
const shortcuts = ['exec', 'cp', 'ls', 'logs', 'rm'];
