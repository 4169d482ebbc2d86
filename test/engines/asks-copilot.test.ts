import { asksSuite } from './asks-suite.ts';
import { copilot } from './clis.ts';

asksSuite(copilot, { access: 'read', shell: 'bash' });
