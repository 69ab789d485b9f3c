import { unimplemented } from '@skerry/contract/error';
import type { FileHandlers } from '../server.ts';
export const createFileHandlers = (_: unknown): FileHandlers => {
  const refuse = async () => {
    throw unimplemented('files are not offered by this version of the agent');
  };
  return { download: refuse, upload: refuse };
};
