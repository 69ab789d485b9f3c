import { agentExec } from './agent/exec.ts';
import { agentListdir } from './agent/listdir.ts';
import { agentOutput } from './agent/output.ts';
import { agentProcesses } from './agent/processes.ts';
import { agentSmallfiles } from './agent/smallfiles.ts';
import { agentStart } from './agent/start.ts';
import { agentDownload, agentUpload } from './agent/transfer.ts';
import { agentUnary } from './agent/unary.ts';
import { agentWatch } from './agent/watch.ts';
import { clusterCreate } from './cluster/create.ts';
import { clusterTransfer } from './cluster/transfer.ts';
import { dockerRun } from './containers/docker-run.ts';
import { podmanRun } from './containers/podman-run.ts';
import { runcRun } from './containers/runc-run.ts';
import { apiHttp2 } from './edge/api-http2.ts';
import { edgeTlsDownload, edgeTlsRequests } from './edge/tls-requests.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { createAt200 } from './sandboxes/create-at200.ts';
import { createBurst50 } from './sandboxes/create-burst50.ts';
import { createCold } from './sandboxes/create-cold.ts';
import { createWarm } from './sandboxes/create-warm.ts';
import { deleteSandbox } from './sandboxes/delete.ts';
import { densityPerGib } from './sandboxes/density-per-gib.ts';
import { execRoundtrip } from './sandboxes/exec-roundtrip.ts';
import { fileDownload, fileUpload } from './sandboxes/file-transfer.ts';
import { fork8 } from './sandboxes/fork.ts';
import { memoryIdle } from './sandboxes/memory-idle.ts';
import { pauseResume1g, pauseResume64m } from './sandboxes/pause-resume.ts';
import { snapshotStop, snapshotStopMemory } from './sandboxes/snapshot-stop.ts';
import { wakeFirst, wakeMany } from './sandboxes/wake.ts';
import { storeList } from './store/list.ts';
import { storeReserve } from './store/reserve.ts';
import { templateCreateLarge } from './templates/create-large.ts';
import { templateCreateServed } from './templates/create-served.ts';
import { imageErofs, imageErofsLz4 } from './templates/file-systems.ts';
import { templateRebuild } from './templates/rebuild.ts';
import { templateUnpack } from './templates/unpack.ts';
import { templateUploadMemory } from './templates/upload-memory.ts';

/** All benchmarks by name, in the order of a run. */
export const benchmarks: Record<string, Benchmark> = {
  // First: create.cold is compared with them.
  'runc.run': runcRun,
  'docker.run': dockerRun,
  'podman.run': podmanRun,
  'create.cold': createCold,
  'create.warm': createWarm,
  'create.burst50': createBurst50,
  'create.at200': createAt200,
  'density.per-gib': densityPerGib,
  delete: deleteSandbox,
  'pause-resume.64m': pauseResume64m,
  'pause-resume.1g': pauseResume1g,
  'wake.first': wakeFirst,
  'wake.1000': wakeMany,
  'fork.8': fork8,
  'snapshot.stop': snapshotStop,
  'snapshot.stop.memory': snapshotStopMemory,
  'exec.roundtrip': execRoundtrip,
  'file.download': fileDownload,
  'file.upload': fileUpload,
  'edge.tls.requests': edgeTlsRequests,
  'edge.tls.download': edgeTlsDownload,
  'api.http2': apiHttp2,
  'memory.idle': memoryIdle,
  'template.unpack': templateUnpack,
  'template.rebuild': templateRebuild,
  'template.create.large': templateCreateLarge,
  'template.create.served': templateCreateServed,
  'template.upload.memory': templateUploadMemory,
  'image.erofs': imageErofs,
  'image.erofs-lz4': imageErofsLz4,
  'store.list': storeList,
  'store.reserve': storeReserve,
  'cluster.create': clusterCreate,
  'cluster.transfer': clusterTransfer,
  'agent.start': agentStart,
  'agent.unary': agentUnary,
  'agent.exec': agentExec,
  'agent.output': agentOutput,
  'agent.smallfiles': agentSmallfiles,
  'agent.listdir': agentListdir,
  'agent.upload': agentUpload,
  'agent.download': agentDownload,
  'agent.processes': agentProcesses,
  'agent.watch': agentWatch,
};
