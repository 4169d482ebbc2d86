import { claude } from './clis.ts';
import { workerSuite } from './worker-suite.ts';

workerSuite(claude, {
  refused: /401 Wrong key/,
  keyless: /Not logged in/
});
