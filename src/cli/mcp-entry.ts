import './plain-schemas.ts';
import { runCouncilMcp } from './commands/council-mcp.ts';
import { runMcp } from './commands/mcp.ts';

const [command, ...rest] = process.argv.slice(2);
void (command === 'council' ? runCouncilMcp(rest.slice(1)) : runMcp(rest));
