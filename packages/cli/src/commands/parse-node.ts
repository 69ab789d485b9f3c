import { parseAddress as toAddress, parseNode as toNode } from '@skerry/server/node-address';
import { UserError } from '@skerry/server/user-error';
import { InvalidArgumentError } from 'commander';

/** Makes the parser of an option of one that throws `UserError`: commander names the option beside the reason. */
const forOption =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof UserError) throw new InvalidArgumentError(error.message);
      throw error;
    }
  };

/** Parses a node of a server: `name=host:port`. */
export const parseNode = forOption(toNode);

/** Parses `host:port`, where an IPv6 address is in brackets. */
export const parseAddress = forOption(toAddress);
