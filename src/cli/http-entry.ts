import { runMcpHttp } from './commands/mcp-http.ts';

void runMcpHttp(process.argv.slice(3));
