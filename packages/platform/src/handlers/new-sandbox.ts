import { invalid } from '@skerry/contract/error';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { components } from '@skerry/platform-client';
import type { CreateRequest } from '../sandboxes/create/origins.ts';
import type { PauseKind } from '../store/rows.ts';
import { parseEnvVars } from './env-vars.ts';
import { parseIngress } from './network/ingress.ts';
import { listNetworkRefusals, parseOutgoingRules } from './network/network-policy.ts';

type NewSandbox = components['schemas']['NewSandbox'];
type NewSandboxV1 = components['schemas']['NewSandboxV1'];

/** The defaults of absent fields, which differ by the generation of the route. */
export interface NewSandboxDefaults {
  timeoutSeconds: number;
  secure: boolean;
  maxRunMs: number;
  /** Whether this server has rules by name. */
  nameRules: boolean;
}

const isEmpty = (value: object | null | undefined): boolean =>
  value == null || Object.keys(value).length === 0;

/** Fields that request a feature that this server lacks. Values equal to the default are accepted. */
const refusals = (body: NewSandbox | NewSandboxV1): string[] => [
  ...(isEmpty(body.volumeMounts) ? [] : ['volumeMounts']),
  ...(isEmpty(body.iam?.tokens) ? [] : ['iam']),
  ...(isEmpty(body.mcp) ? [] : ['mcp']),
  ...(isEmpty(body.sidecars) ? [] : ['sidecars']),
  ...listNetworkRefusals(body.network ?? {}).map((field) => `network.${field}`),
];

const parseAutoPause = ({
  autoPause = false,
  autoPauseMemory = true,
  autoResume,
}: Pick<NewSandbox, 'autoPause' | 'autoPauseMemory' | 'autoResume'>): PauseKind | null => {
  if (!autoPauseMemory && autoResume?.enabled === true)
    throw invalid(
      'body.autoPauseMemory must not be false with body.autoResume.enabled: traffic resumes a sandbox only with its memory',
    );
  if (autoPause) return autoPauseMemory ? 'memory' : 'filesystem';
  if (!autoPauseMemory) throw invalid('body.autoPauseMemory must not be false without body.autoPause');
  return null;
};

// Every listing contains the metadata of every sandbox in it.
const MAX_METADATA_BYTES = 65_536;

const parseMetadata = (metadata: Record<string, string>): Record<string, string> => {
  const totalBytes = Buffer.byteLength(Object.entries(metadata).flat().join(''));
  if (totalBytes > MAX_METADATA_BYTES) {
    throw invalid(`body.metadata must have at most ${MAX_METADATA_BYTES} bytes in total, got ${totalBytes}`);
  }
  return metadata;
};

/** Seconds within the limits of the installation. Throws `invalid_argument`. */
export const parseTimeout = (seconds: number, maxRunMs: number): number => {
  if (seconds * 1000 > maxRunMs) {
    throw invalid(`body.timeout must be at most ${maxRunMs / 1000}, got ${seconds}`);
  }
  return seconds * 1000;
};

/** A body without what depends on its template and on the hosts. */
type ParsedSandbox = Omit<
  CreateRequest,
  'project' | 'keyId' | 'template' | 'snapshot' | 'build' | 'isolation'
> & {
  /** Null: the creator did not choose. */
  isolation: IsolationLevel | null;
};

/**
 * Parses the body of a create, whose shape was checked against the document. Throws `invalid_argument` for a field that
 * requests a feature that this server lacks: no field is accepted and then ignored.
 */
export const parseNewSandbox = (
  body: NewSandbox | NewSandboxV1,
  { timeoutSeconds, secure, maxRunMs, nameRules }: NewSandboxDefaults,
): ParsedSandbox => {
  const refused = refusals(body).map((field) => `body.${field}`);
  if (refused.length > 0) throw invalid(`${refused.join(', ')}: not supported by this server`);
  const isSecure = body.secure ?? secure;
  return {
    timeoutMs: parseTimeout(body.timeout ?? timeoutSeconds, maxRunMs),
    metadata: parseMetadata(body.metadata ?? {}),
    envVars: parseEnvVars('body.envVars', body.envVars ?? {}),
    secure: isSecure,
    isolation: body.isolation ?? null,
    network: parseOutgoingRules(
      { ...body.network, allow_internet_access: body.allow_internet_access },
      'body.network',
      { nameRules },
    ),
    ingress: parseIngress(body.network ?? {}, { secure: isSecure }),
    autoPause: parseAutoPause(body),
    autoResume: body.autoResume?.enabled === true,
  };
};
