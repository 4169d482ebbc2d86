import { copilot } from './clis.ts';
import { workerSuite } from './worker-suite.ts';

workerSuite(copilot, {
  refused: /Authentication failed[^✗]*HTTP 401/,
  keyless: /use \/login to sign in/
});
