/**
 * The bridge of a run that asks: an MCP server that the run's program starts.
 * It writes each ask into the run's folder and waits there for the answer, so
 * that no server of troupe has to live meanwhile.
 *
 * `node ask-bridge.cjs <folder> [hook]`: with `hook` it answers one call of a
 * program's permission hook, which it reads from stdin.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { thisProcess } from '../../adapters/child-process/process-table.ts';
import { askFile, askSettingsFile } from '../../core/asks/ask-files.ts';
import { Asker, type AskSettings } from '../../core/asks/asker.ts';
import { logProblem } from '../../host/log.ts';
import { serveEveryRevision } from '../../interfaces/mcp/server/every-revision.ts';
import { liveUntilDisconnect } from '../../interfaces/mcp/server/lifecycle.ts';
import {
  askTools,
  decidePermission
} from '../../interfaces/mcp/toolsets/ask.ts';
import { StdioTransport } from '../../interfaces/mcp/transport/stdio-transport.ts';
import { setUpServer } from '../process/process-setup.ts';

const instructions =
  'ask_coordinator asks the agent or person that gave you this task, and waits for the answer.';

const hookSchema = z.object({
  toolName: z.string(),
  toolInput: z.record(z.string(), z.unknown())
});

const stdout = setUpServer(logProblem);
const directory = process.argv[2] ?? '';
const settings: AskSettings = JSON.parse(
  readFileSync(askFile(directory, askSettingsFile), 'utf8')
);
const asker = new Asker({ directory, settings, self: thisProcess() });
if (process.argv[3] === 'hook') void answerHook();
else serveTools();

function serveTools(): void {
  const life = liveUntilDisconnect(async () => undefined);
  const tools = askTools(asker, settings);
  void serveEveryRevision(
    { life, instructions, offer: async () => ({ tools }) },
    new StdioTransport(process.stdin, stdout)
  );
}

/** Every path prints a decision: a program may take silence for consent. */
async function answerHook(): Promise<void> {
  const gone = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => gone.abort());
  const decision = await readHook()
    .then(({ tool, input }) =>
      decidePermission(asker, settings, tool, input, gone.signal)
    )
    .catch((problem: unknown) => {
      logProblem(problem);
      return { behavior: 'deny', message: 'The ask could not be written.' };
    });
  stdout.write(JSON.stringify(decision), () => process.exit(0));
}

async function readHook() {
  const { toolName, toolInput } = hookSchema.parse(
    JSON.parse(readFileSync(0, 'utf8'))
  );
  return { tool: toolName, input: toolInput };
}
