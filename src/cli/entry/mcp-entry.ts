import './plain-schemas.ts';
import { runCouncilMcp, runMcp } from '../commands/serve/mcp.ts';

const [command, ...rest] = process.argv.slice(2);
void (command === 'council' ? runCouncilMcp(rest.slice(1)) : runMcp(rest));
