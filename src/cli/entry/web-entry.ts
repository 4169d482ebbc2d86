import { runWeb } from '../commands/serve/web.ts';

void runWeb(process.argv.slice(3));
