import { agentPort } from '@skerry/contract/directory';
import { invalid } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { Ingress } from '../../store/rows.ts';

type Schemas = components['schemas'];
type IngressFields = Pick<Schemas['NetworkConfig'], 'allowPublicTraffic' | 'maskRequestHost' | 'httpsPorts'>;

/**
 * Parses how the ports of a new sandbox are reached. Null where the body chooses nothing. Throws `invalid_argument`, naming the field;
 * also for private ports of a sandbox whose agent answers to everyone: a process started there would reach them.
 */
export const parseIngress = (
  { allowPublicTraffic = true, maskRequestHost, httpsPorts = [] }: IngressFields,
  { secure }: { secure: boolean },
): Ingress | null => {
  if (!allowPublicTraffic && !secure)
    throw invalid('body.network.allowPublicTraffic must not be false with body.secure false');
  if (allowPublicTraffic && maskRequestHost === undefined && httpsPorts.length === 0) return null;
  return {
    isPrivate: !allowPublicTraffic,
    ...(maskRequestHost !== undefined && { maskHost: parseMask(maskRequestHost) }),
    ...(httpsPorts.length > 0 && { httpsPorts: parseHttpsPorts(httpsPorts) }),
  };
};

const hostName = /^(?:[\w-]+(?:\.[\w-]+)*|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
const maxMaskLength = 255;

const parseMask = (mask: string): string => {
  if (mask.length <= maxMaskLength && hostName.test(mask.replaceAll(`\${PORT}`, '65535'))) return mask;
  throw invalid(
    `body.network.maskRequestHost must be a host name in ASCII of at most ${maxMaskLength} characters, with a port if needed; \${PORT} stands for that of the request, got ${JSON.stringify(mask.slice(0, maxMaskLength))}`,
  );
};

const maxHttpsPorts = 128;

const parseHttpsPorts = (ports: number[]): number[] => {
  const field = 'body.network.httpsPorts';
  if (ports.length > maxHttpsPorts)
    throw invalid(`${field} must have at most ${maxHttpsPorts} ports, got ${ports.length}`);
  for (const [index, port] of ports.entries()) {
    if (port === agentPort) throw invalid(`${field}[${index}] must not be ${agentPort}, which speaks no TLS`);
    if (ports.indexOf(port) < index) throw invalid(`${field}[${index}] repeats ${port}`);
  }
  return ports;
};

/** Returns the fields of a reply about a sandbox whose creator chose this. */
export const toIngressFields = ({ isPrivate, maskHost, httpsPorts }: Ingress): Schemas['SandboxNetwork'] => ({
  allowPublicTraffic: !isPrivate,
  ...(maskHost !== undefined && { maskRequestHost: maskHost }),
  ...(httpsPorts !== undefined && { httpsPorts }),
});
