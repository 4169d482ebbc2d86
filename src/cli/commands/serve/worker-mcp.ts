import type { Writable } from 'node:stream';
import {
  createProcesses,
  processLiveness
} from '../../../adapters/child-process/processes.ts';
import type { Config } from '../../../config/config.ts';
import { heartbeatOf } from '../../../config/orchestrator.ts';
import { HostError } from '../../../core/errors.ts';
import { OwnProgram } from '../../../core/orchestrator/process/lost-workers.ts';
import { writePayload } from '../../../core/orchestrator/queue/payload.ts';
import { payloadAt } from '../../../core/orchestrator/queue/worker-folder.ts';
import { WorkerMailbox } from '../../../core/orchestrator/queue/worker-mailbox.ts';
import { WorkerStore } from '../../../core/orchestrator/queue/worker-store.ts';
import { pathsOf } from '../../../core/paths/paths.ts';
import {
  checkState,
  statePathsOf
} from '../../../core/state/integrity/state-guard.ts';
import { markProcess } from '../../../core/state/locks/process-marks.ts';
import { poll } from '../../../core/timing.ts';
import { logProblem } from '../../../host/log.ts';
import { distDirectory } from '../../../host/package.ts';
import { serveEveryRevision } from '../../../interfaces/mcp/server/every-revision.ts';
import { liveUntilDisconnect } from '../../../interfaces/mcp/server/lifecycle.ts';
import { admitted } from '../../../interfaces/mcp/tool/define-tool.ts';
import { workerTools } from '../../../interfaces/mcp/toolsets/worker.ts';
import { StdioTransport } from '../../../interfaces/mcp/transport/stdio-transport.ts';

const instructions =
  'wait_for_command brings your tasks, emit_event sends your answers. Keep calling wait_for_command; end every task with exactly one event of type result, error or canceled.';

/** How often the server checks whether the record of its worker exists. */
const checkMs = 1000;

/**
 * Serves the two tools of one worker, without the rest of the host.
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
      'agent_create starts workers and gives them their server; no other client needs one.'
    );
  const paths = pathsOf(workspace, home);
  const statePaths = statePathsOf(paths);
  checkState(statePaths);
  const liveness = processLiveness();
  const store = new WorkerStore(paths, liveness);
  const { meta, folder, log } = store.get(agentId);
  const mailbox = new WorkerMailbox({
    folder,
    log,
    broadcast: store.broadcastOf(meta.run_id),
    heartbeatSeconds: heartbeatOf(orchestrator),
    onProblem: logProblem
  });
  const tools = workerTools({
    agentId,
    desk: mailbox,
    keepPayload: (text) => writePayload(text, folder),
    pathOf: (file) => payloadAt(folder, file)
  }).map((tool) => admitted(tool, () => checkState(statePaths)));
  const unmark = markProcess(folder.servers, liveness);
  const program = new OwnProgram({
    store,
    agentId,
    processes: () => createProcesses(distDirectory()),
    onProblem: logProblem
  });
  const stopChecks = poll(checkMs, () => program.look(), logProblem);
  const life = liveUntilDisconnect(async () => {
    stopChecks();
    unmark();
    store.close();
  });
  await serveEveryRevision(
    { life, instructions, offer: async () => ({ tools }) },
    new StdioTransport(process.stdin, stdout)
  );
}
