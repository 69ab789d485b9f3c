// The gateway: a process of the helper, of an unprivileged user, through which sandboxes go out that have rules by name.
import { runGateway } from '@skerry/egress';
import { leaveRoot, readOriginalDestination } from '@skerry/runtime/kernel';
import { gatewayPorts, isPublicAddress } from '@skerry/runtime/network';

leaveRoot();
await runGateway({
  input: process.stdin,
  output: process.stdout,
  dnsPort: gatewayPorts.dns,
  proxyPort: gatewayPorts.proxy,
  findDestination: readOriginalDestination,
  isPublicAddress,
});
process.exit(0);
