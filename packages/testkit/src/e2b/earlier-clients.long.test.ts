import { testedClients } from './clients.ts';
import { driveClients } from './drive-clients.ts';

driveClients(testedClients.filter(({ generation }) => generation !== 'newest'));
