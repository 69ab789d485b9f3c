// A process that only answers: `measureAnswers` compares its answers with those of the helper.
import { createServer } from 'node:http2';

createServer().listen(process.argv[2], () => process.send?.('ready'));
