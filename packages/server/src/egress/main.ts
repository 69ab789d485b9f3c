// The gateway: a process of the helper, without its rights, through which sandboxes go out that have rules by name.
import { runGateway } from '@skerry/egress';
import { readOriginalDestination } from '@skerry/runtime/kernel';
import { gatewayPorts, isPublicAddress } from '@skerry/runtime/network';

await runGateway({
  input: process.stdin,
  output: process.stdout,
  dnsPort: gatewayPorts.dns,
  proxyPort: gatewayPorts.proxy,
  findDestination: readOriginalDestination,
  isPublicAddress,
});
process.exit(0);
