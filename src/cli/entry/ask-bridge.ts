/**
 * The bridge of a run that asks: an MCP server that the run's program starts.
 * It writes each ask into the run's folder and waits there for the answer, so
 * that no server of troupe has to live meanwhile.
 *
 * `node ask-bridge.cjs <folder>`
 */
import { readFileSync } from 'node:fs';
import { thisProcess } from '../../adapters/child-process/process-table.ts';
import { askFile, askSettingsFile } from '../../core/asks/ask-files.ts';
import { Asker, type AskSettings } from '../../core/asks/asker.ts';
import { logProblem } from '../../host/log.ts';
import { liveUntilDisconnect } from '../../interfaces/mcp/server/lifecycle.ts';
import { serve } from '../../interfaces/mcp/server/server.ts';
import { askTools } from '../../interfaces/mcp/toolsets/ask.ts';
import { StdioTransport } from '../../interfaces/mcp/transport/stdio-transport.ts';
import { setUpServer } from '../process/process-setup.ts';

const instructions =
  'ask_coordinator asks whoever gave you this task, and waits for the answer.';

const stdout = setUpServer(logProblem);
const directory = process.argv[2] ?? '';
const settings: AskSettings = JSON.parse(
  readFileSync(askFile(directory, askSettingsFile), 'utf8')
);
const asker = new Asker({ directory, settings, self: thisProcess() });
const life = liveUntilDisconnect(async () => undefined);
void serve(
  {
    life,
    instructions,
    offer: async () => ({ tools: askTools(asker, settings) })
  },
  new StdioTransport(process.stdin, stdout)
);
