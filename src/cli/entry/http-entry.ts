import { runMcpHttp } from '../commands/serve/mcp-http.ts';

void runMcpHttp(process.argv.slice(3));
