import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { thisWitness } from '../../adapters/child-process/processes.ts';
import type { Config } from '../../config.ts';
import { HostError } from '../../core/errors.ts';
import { writePayload } from '../../core/orchestrator/payload.ts';
import { WorkerDesk } from '../../core/orchestrator/worker-desk.ts';
import { WorkerStore } from '../../core/orchestrator/worker-store.ts';
import { pathsOf } from '../../core/paths/paths.ts';
import { markProcess } from '../../core/state/process-marks.ts';
import { checkState, workspacePlaces } from '../../core/state/state-guard.ts';
import { liveUntilDisconnect } from '../../interfaces/mcp/lifecycle.ts';
import { admitted, serve } from '../../interfaces/mcp/server.ts';
import { StdioTransport } from '../../interfaces/mcp/stdio-transport.ts';
import { workerTools } from '../../interfaces/mcp/toolsets/worker.ts';
import { logProblem } from '../../log.ts';
import { heartbeatOf } from '../../orchestrator-config.ts';

const instructions =
  'Your tasks come by wait_for_command, your answers go by emit_event. Call wait_for_command again and again, without end; end every task with exactly one event of type result, error or canceled.';

/**
 * Serves one worker its two tools, and nothing else of the host.
 * @throws HostError `config_invalid`, `unknown_agent`, `state_unsafe`
 */
export async function serveWorker(
  { workspace, home, toolsets, orchestrator }: Config,
  agentId: string | undefined,
  stdout: Writable
): Promise<void> {
  if (agentId === undefined || !toolsets?.includes('worker'))
    throw new HostError(
      'config_invalid',
      'A worker is served with --toolsets worker and --agent-id, both or neither.',
      'agent_create starts workers and gives them their server; nobody else needs one.'
    );
  const paths = pathsOf(workspace, home);
  const places = workspacePlaces(paths);
  checkState(places);
  const witness = thisWitness();
  const store = new WorkerStore(paths, witness);
  const { meta, folder, log } = store.get(agentId);
  const desk = new WorkerDesk({
    folder,
    log,
    broadcast: store.broadcastOf(meta.run_id),
    heartbeatSeconds: heartbeatOf(orchestrator),
    onProblem: logProblem
  });
  const tools = workerTools({
    agentId,
    desk,
    keepPayload: (text) => writePayload(text, folder),
    pathOf: (file) => join(folder.public, file)
  }).map((tool) => admitted(tool, () => checkState(places)));
  const unmark = markProcess(folder.servers, witness);
  const life = liveUntilDisconnect(async () => {
    unmark();
    store.close();
  });
  await serve(
    { life, instructions, offer: async () => ({ tools }) },
    new StdioTransport(process.stdin, stdout)
  );
}
