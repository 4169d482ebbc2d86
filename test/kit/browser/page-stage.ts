import { until } from '../judges/until.ts';
import { type McpClient, startServer } from '../servers/mcp-client.ts';
import { createdWorker } from '../servers/orchestrator-calls.ts';
import { type StartedWeb, startWeb } from '../servers/web-server.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../workspaces/git-workspace.ts';

/** A workspace in which something of everything has happened. */
export interface PageStage {
  workspace: GitWorkspace;
  server: McpClient;
  web: StartedWeb;
  /** Ids of agents, by what they are. */
  agents: Record<
    'completed' | 'edited' | 'failed' | 'running' | 'asking' | 'wondering',
    string
  >;
  remove: () => Promise<void>;
}

const findings = [
  'progress Reading src/parser.ts',
  'progress Running npm test -- parser',
  'say # Findings',
  'say',
  'say The parser reads **one line too many**, in `parser.ts`:',
  'say',
  'say ```ts',
  'say const lines = text.split("\\n");',
  'say ```',
  'say',
  'say | File | Lines |',
  'say |---|---:|',
  'say | parser.ts | 120 |',
  'say | lexer.ts | 88 |',
  'say',
  'say 1. Fix the loop',
  'say 2. Add a test'
].join('\n');

export async function createPageStage(): Promise<PageStage> {
  const workspace = await createGitWorkspace();
  workspace.write(
    '.trouperc.json',
    JSON.stringify({
      engines: { rehearsal: true },
      orchestrator: { backend: 'process', engine: 'rehearsal' }
    })
  );
  const server = await startServer(workspace, {
    flags: ['--engine', 'rehearsal', '--toolsets', 'all'],
    clientName: 'claude-code'
  });
  const spawn = async (prompt: string, more: Record<string, unknown> = {}) => {
    const { data } = await server.call('spawn_rehearsal', { prompt, ...more });
    return String(data.agent_id);
  };
  const completed = await spawn(
    `Review the parser and say what reads too far\n${findings}`,
    { access: 'read' }
  );
  const failed = await spawn(
    'Summarize the failures of yesterday\nfail rate_limited The provider asks to slow down: try again in 20 minutes.'
  );
  await server.call('wait_for_agents', {});
  const edited = await spawn(
    'Replace every blank in a slug\nprogress Editing slug.js\nwrite slug.js export const slug = (text) => text.replaceAll(" ", "-");\nsay Done: all tests pass.',
    { access: 'write' }
  );
  await server.call('start_squad_members', {
    members: [
      { roleId: 'code-reviewer', task: 'Review the last commit' },
      { roleId: 'security-reviewer', task: 'Review the last commit' }
    ]
  });
  await server.call('wait_for_agents', {});
  const running = await spawn(
    'Move the configuration loader to the new schema\nprogress Running npm test -- config\nsleep 600'
  );
  const asking = await spawn(
    'Install the missing package\npermit npm install --save-dev pad@1.3.0',
    {
      ...{ ask: 'person', access: 'write' }
    }
  );
  const wondering = await spawn(
    'Choose the database\nask Which database should the migration use? | PostgreSQL | SQLite',
    { ask: 'coordinator', access: 'read' }
  );
  await server.call('start_council', {
    agent_name: 'claude',
    request: 'May two processes append to one log **without a lock**?'
  });
  await server.call('send_response', {
    agent_name: 'codex',
    content:
      'Yes, while a record is one `write`.\n\n- O_APPEND is atomic\n- no record may be torn'
  });
  await server.call('send_response', {
    agent_name: 'gemini',
    content:
      'Not on every file system: **NFS** has no atomic append.\n\nTake a lock where the log may lie on one.'
  });
  const { agent_id: worker } = await createdWorker(server, {
    name: 'Migrations',
    role: 'You write the migrations of the database, one at a time.'
  });
  const enqueue = (task_id: string, payload: string) =>
    server.call('task_enqueue', {
      agent_id: worker,
      task: { task_id, payload }
    });
  await enqueue('add-owner', 'say The column is there.');
  await enqueue(
    'fill-owner',
    'Fill the new column in batches of 1,000 rows\nsleep 600'
  );
  await enqueue('drop-user', 'Drop the old column once nothing reads it');
  const web = await startWeb(workspace);
  await until('both ask', async () => {
    const { data } = await server.call('list', {});
    return Array.isArray(data.asking) && data.asking.length > 1;
  });
  return {
    workspace,
    server,
    web,
    agents: { completed, edited, failed, running, asking, wondering },
    remove: async () => {
      await web.end();
      await server.call('agent_delete', {
        ...{ agent_id: worker, force: true, confirm: true }
      });
      await server.close();
      workspace.remove();
    }
  };
}
