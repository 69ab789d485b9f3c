import type { FetchedNode } from '../base/add-node.ts';
import type { BaseContents } from '../base/contents.ts';
import type { WorkdirConfig } from '../base/workdir.ts';
import type { ImageErrorCode } from '../image-error.ts';
import type { LoadedArchive } from '../image-tree.ts';
import type { LayerDescriptor } from '../oci/image-manifest.ts';
import type { Progress } from '../progress.ts';

/**
 * What the unpacker is told to do, one at a time, as a line of JSON on its stdin. The bytes of the layer follow `addLayer`, as many as the
 * descriptor says.
 */
export type TreeCall =
  | { method: 'begin' }
  | { method: 'addLayer'; descriptor: LayerDescriptor }
  | { method: 'endLayers' }
  | { method: 'load'; source: LoadedArchive }
  | { method: 'prepare'; config: WorkdirConfig; sinceMs: number; ownerOffset: number }
  | { method: 'inspectBase'; contents: BaseContents }
  | { method: 'finishBase'; node: FetchedNode | undefined };

/** A line of JSON on its stdout: any number of reports, then the result of the call. It ends after an error. */
export type TreeReply =
  | { kind: 'progress'; progress: Progress }
  | { kind: 'result'; result: unknown }
  /** Without a code: a defect of the unpacker, or of the host. */
  | { kind: 'error'; code: ImageErrorCode | undefined; message: string; remedy: string | undefined };
