import { UserError } from '@skerry/server/user-error';
import type { Command } from 'commander';
import { OPTION_GROUPS } from './option-groups.ts';

/** Paths of a certificate, its private key and its authority. */
type CredentialFiles = Record<'cert' | 'key' | 'ca', string>;

/** The flags of `withCredentialOptions`. */
export type CredentialFlags = Partial<CredentialFiles>;

/**
 * Adds the flags of a command that speaks with the other side over TLS. They are not mandatory for commander, which would ask for
 * them in subcommands too.
 */
export const withCredentialOptions = (command: Command): Command =>
  command
    .optionsGroup(OPTION_GROUPS.nodes)
    .option('--cert <file>', 'certificate of this side, as "skerry node cert" makes it')
    .option('--key <file>', 'private key of that certificate, which only its owner may read')
    .option('--ca <file>', 'certificate of the authority that has signed those of both sides');

/** Throws `UserError` when one of them is missing. */
export function toCredentialFiles({ cert, key, ca }: CredentialFlags): CredentialFiles {
  if (cert === undefined || key === undefined || ca === undefined)
    throw new UserError('--cert, --key and --ca are needed: "skerry node cert" makes the files');
  return { cert, key, ca };
}
