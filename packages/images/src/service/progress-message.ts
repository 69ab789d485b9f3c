import type { MessageInitShape } from '@bufbuild/protobuf';
import * as wire from '../gen/skerry/images/v1/images_pb.ts';
import type { Progress } from '../progress.ts';

const phases: Record<Progress['phase'], wire.Phase> = {
  wait: wire.Phase.WAIT,
  pull: wire.Phase.PULL,
  install: wire.Phase.INSTALL,
  finish: wire.Phase.FINISH,
};

export const toProgressMessage = ({
  phase,
  message,
  fraction,
}: Progress): MessageInitShape<typeof wire.ProgressSchema> => ({
  phase: phases[phase],
  message: message.toWellFormed(),
  ...(fraction !== undefined && { fraction }),
});

/** A phase that is not known is one of an image that is being made. */
export const toProgress = ({ phase, message, fraction }: wire.Progress): Progress => ({
  phase: (Object.keys(phases) as Progress['phase'][]).find((name) => phases[name] === phase) ?? 'install',
  message,
  ...(fraction !== undefined && { fraction }),
});
