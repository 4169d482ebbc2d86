import { codex } from './clis.ts';
import { workerSuite } from './worker-suite.ts';

workerSuite(codex, {
  refused: /401 Unauthorized: Wrong key/,
  keyless: /Sign in with ChatGPT/
});
