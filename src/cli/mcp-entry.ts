import { runMcp } from './commands/mcp.ts';

void runMcp(process.argv.slice(3));
