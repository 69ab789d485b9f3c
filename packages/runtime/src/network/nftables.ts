import { promisify } from 'node:util';
import { RuntimeError } from '../error.ts';
import koffi from '../kernel/native.ts';

/** Changes the packet filter of one network namespace. */
export interface RuleSet {
  /**
   * Executes a text in nft's language as one transaction and resolves with its output. Rejects with `internal` and the
   * reason; nothing has changed then.
   */
  run(text: string): Promise<string>;
  /** Does not wait until the kernel has freed it, which takes milliseconds where rules were deleted. */
  close(): void;
}

interface Library {
  create: (flags: number) => unknown;
  setOutput: (context: unknown, flags: number) => void;
  free: (context: unknown) => Promise<unknown>;
  bufferErrors: (context: unknown) => number;
  errors: (context: unknown) => string;
  bufferOutput: (context: unknown) => number;
  output: (context: unknown) => string;
  run: (context: unknown, text: string) => Promise<number>;
}

/** nftables/libnftables.h */
const NFT_CTX_OUTPUT_HANDLE = 1 << 3;

let loaded: Library | undefined;
/** The library shares its parser's tables among all contexts. */
let previous: Promise<unknown> = Promise.resolve();

/**
 * Opens the packet filter of the network namespace that this thread is in now; the connection stays with that
 * namespace. Uses libnftables, the library of the `nft` command: no process is started. With `showsHandles` rules are
 * listed with their handles.
 * @throws RuntimeError `unsupported` where the library is not installed
 */
export function openRuleSet({ showsHandles = false } = {}): RuleSet {
  const library = load();
  const context = library.create(0);
  if (!context) throw new RuntimeError('internal', 'the packet filter could not be opened');
  if (showsHandles) library.setOutput(context, NFT_CTX_OUTPUT_HANDLE);
  library.bufferErrors(context);
  library.bufferOutput(context);
  return {
    run: async (text) => {
      const run = previous.then(() => library.run(context, text));
      // The caller of `run` receives the failure; the next call only waits.
      previous = run.catch(() => undefined);
      if ((await run) !== 0) {
        throw new RuntimeError('internal', `the rules were refused: ${library.errors(context).trim()}`);
      }
      return library.output(context);
    },
    close: () => void library.free(context),
  };
}

/** Changes the packet filter of the namespace of this process, by libnftables or by the `nft` command. */
export interface PacketFilter {
  /** Runs nft commands and resolves with their output. */
  run(text: string): Promise<string>;
  /**
   * Runs nft commands and resolves with their output, in which each listed rule has its handle, by which it
   * can be deleted.
   */
  list(text: string): Promise<string>;
}

/** Runs one text in the namespace of this process. */
export const runRules = (text: string): Promise<string> => runOnce(text, openRuleSet());

/** Runs nft commands with the handles of rules in their output. */
const listRules = (text: string): Promise<string> => runOnce(text, openRuleSet({ showsHandles: true }));

/** The packet filter by libnftables. */
export const hostFilter: PacketFilter = { run: runRules, list: listRules };

async function runOnce(text: string, rules: RuleSet): Promise<string> {
  try {
    return await rules.run(text);
  } finally {
    rules.close();
  }
}

function load(): Library {
  if (loaded) return loaded;
  let library: ReturnType<typeof koffi.load>;
  try {
    library = koffi.load('libnftables.so.1');
  } catch (error) {
    throw new RuntimeError('unsupported', 'libnftables.so.1 is missing: apt-get install -y libnftables1', {
      cause: error,
    });
  }
  const run = library.func('int nft_run_cmd_from_buffer(void *, const char *)');
  const free = library.func('void nft_ctx_free(void *)');
  loaded = {
    create: library.func('void *nft_ctx_new(uint32_t)'),
    setOutput: library.func('void nft_ctx_output_set_flags(void *, unsigned int)'),
    free: promisify(free.async) as Library['free'],
    bufferErrors: library.func('int nft_ctx_buffer_error(void *)'),
    errors: library.func('const char *nft_ctx_get_error_buffer(void *)'),
    bufferOutput: library.func('int nft_ctx_buffer_output(void *)'),
    output: library.func('const char *nft_ctx_get_output_buffer(void *)'),
    run: promisify(run.async) as Library['run'],
  };
  return loaded;
}
