import { geminiCli } from './clis.ts';
import { workerSuite } from './worker-suite.ts';

workerSuite(geminiCli, {
  refused: /Wrong\s+key/,
  keyless: /enter your Gemini API key/
});
