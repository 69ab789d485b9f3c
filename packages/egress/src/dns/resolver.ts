import type { NameRules } from '../rules/name-rules.ts';
import { normalizeName } from '../rules/name-rules.ts';
import type { Pins } from '../rules/pins.ts';
import type { AskUpstream } from './ask-upstream.ts';
import type { Answer, Query } from './messages.ts';

/** Resolves names for one sandbox. */
export interface Resolver {
  /** Answers a query of the sandbox. */
  answer(query: Pick<Query, 'name' | 'type'>): Promise<Answer>;
  /** Whether the address was answered for the allowed name, or is answered for it now. */
  leadsTo(name: string, address: string): Promise<boolean>;
}

export interface ResolverOptions {
  rules: NameRules;
  pins: Pins;
  ask: AskUpstream;
  /** Whether sandboxes may not reach an address, whatever name leads to it. */
  isClosed(address: string): boolean;
}

/** The most names that are being asked for one sandbox at a time. */
const MAX_ASKED = 64;

/**
 * Asks only for names that a rule allows, and only for IPv4 addresses: a query can carry data, and so can each other type of records.
 * Answers without the addresses that are closed to sandboxes, and pins the others.
 */
export const createResolver = ({ rules, pins, ask, isClosed }: ResolverOptions): Resolver => {
  const asked = new Map<string, Promise<Answer>>();

  const askAndPin = async (name: string): Promise<Answer> => {
    const answer = await ask(name);
    if (answer.code !== 'NOERROR') return answer;
    const addresses = answer.addresses.filter((address) => !isClosed(address));
    if (addresses.length === 0 && answer.addresses.length > 0) return { code: 'REFUSED' };
    pins.add(name, addresses, answer.ttlSeconds);
    return { ...answer, addresses };
  };

  const resolve = (name: string): Promise<Answer> => {
    const running = asked.get(name);
    if (running !== undefined) return running;
    if (asked.size >= MAX_ASKED) return Promise.resolve({ code: 'SERVFAIL' });
    const answer = askAndPin(name).finally(() => asked.delete(name));
    asked.set(name, answer);
    return answer;
  };

  return {
    answer: async ({ name, type }) => {
      const plain = normalizeName(name);
      if (plain === undefined || !rules.allows(plain)) return { code: 'NXDOMAIN' };
      return type === 'A' ? resolve(plain) : { code: 'NOERROR', addresses: [], ttlSeconds: 0 };
    },
    leadsTo: async (name, address) => {
      const plain = normalizeName(name);
      if (plain === undefined || !rules.allows(plain) || isClosed(address)) return false;
      if (pins.has(plain, address)) return true;
      await resolve(plain);
      return pins.has(plain, address);
    },
  };
};
