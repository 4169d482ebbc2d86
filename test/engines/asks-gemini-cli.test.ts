import { asksSuite } from './asks-suite.ts';
import { geminiCli } from './clis.ts';

asksSuite(geminiCli, {
  access: 'read',
  shell: 'run_shell_command',
  isHosted: true
});
