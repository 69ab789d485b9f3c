import { type LogEntry, nodes, type SandboxExplanation } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLines } from '../../output/print.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry sandbox explain ID`: the node, the reason, and a line for what has happened since. */
export function explainSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('explain')
      .description('show on which node a sandbox is or was, why, and what has happened to it')
      .argument('<id>', 'id of the sandbox')
      .option('--json', 'one JSON object'),
  ).action(async (id: string, { json, ...flags }: Flags) => {
    const found = await findReference('sandbox', id, flags);
    const explanation = await nodes.explain(found.id, found.connection);
    if (json) printJson(explanation);
    else printLines(toLines(explanation));
  });
}

const toLines = (explanation: SandboxExplanation): string[] => {
  const { isolation, node, nodeState, reason, stored, problem, wakeProblem, history } = explanation;
  const elsewhere = stored ? 'the blob store, and no node' : 'the machine of the server';
  const where = node === undefined ? elsewhere : `${node}, which is ${nodeState ?? 'forgotten'}`;
  return [
    `where    ${where}`,
    `level    ${isolation}`,
    ...(node === undefined ? [] : [`why      ${reason ?? 'this is not on record'}`]),
    ...(stored === undefined ? [] : [`stored   ${stored ? 'yes' : `no: ${problem ?? 'not yet'}`}`]),
    ...(wakeProblem === undefined ? [] : [`waking   ${wakeProblem}`]),
    ...history.map(toLine),
  ];
};

const toLine = ({ timestamp, message, fields }: LogEntry): string => {
  const { cause, node } = fields;
  const more = [cause && `cause ${cause}`, node && `node ${node}`].filter(Boolean).join(', ');
  return `${timestamp.toISOString()}  ${message}${more === '' ? '' : ` (${more})`}`;
};
