import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startHttp } from '../kit/servers/http-server.ts';
import { ask, initialize } from '../kit/servers/raw-http.ts';
import { ended, type Provoke, rehearse, rehearsed, said } from './provoke.ts';

/** Symptoms of servers that do not start, or refuse what is asked. */
export const symptomsOfServers: Record<string, Provoke> = {
  '`troupe init` leaves an entry as it is': async ({ run, workspace }) => {
    const agents = { command: 'python', args: ['server.py'] };
    workspace.write('.mcp.json', JSON.stringify({ mcpServers: { agents } }));
    return (await run(['init', 'claude', '--yes'])).stderr;
  },

  '`troupe init` says that it does not start': async ({ configure, run }) => {
    configure({ maxAcces: 'read' });
    return (await run(['init', 'claude', '--yes'])).stderr;
  },

  'A key is not known': async ({ configure, run }) => {
    configure({ maxAcces: 'read' });
    return (await run(['mcp'])).stderr;
  },

  'It takes a variable for its own': async ({ run }) =>
    (await run(['mcp'], { env: { ENGINE: 'docker' } })).stderr,

  'A tool is not there': async ({ serve }) =>
    said(await serve(), 'agent_create', { name: 'a', role: 'b' }),

  'The tool of a plugin is not there': async ({ configure, run }) => {
    configure({ plugins: ['./shout.mjs'] });
    return (await run(['mcp'])).stderr;
  },

  'A parameter is refused': async ({ configure, serve }) => {
    configure(rehearsed);
    return said(await serve(), 'spawn_rehearsal', { promt: 'x' });
  },

  '`cwd_outside`': async ({ configure, serve }) => {
    configure(rehearsed);
    const input = { prompt: 'x', cwd: '../elsewhere' };
    return said(await serve(), 'spawn_rehearsal', input);
  },

  'A folder was prepared by another user': async ({
    configure,
    serve,
    workspace
  }) => {
    configure(rehearsed);
    symlinkSync(workspace.home, workspace.paths.shared.directory);
    return said(await serve(), 'spawn_rehearsal', { prompt: 'x' });
  },

  'Keys can be read by others': async ({ serve, workspace }) => {
    const file = workspace.write('api_keys.json', '{"XAI_API_KEY": "x"}');
    chmodSync(file, 0o644);
    const server = await serve();
    await server.call('list');
    await server.close();
    return server.stderr;
  },

  'The log does not verify': async ({ configure, serve, run, workspace }) => {
    configure(rehearsed);
    const server = await serve();
    await ended(server, await rehearse(server, 'say x'));
    await server.close();
    const journal = join(workspace.record, 'iac.jsonl');
    const records = readFileSync(journal, 'utf8');
    writeFileSync(journal, records.replace('say x', 'say y'));
    return (await run(['log', '--verify'])).stdout;
  },

  '401': async ({ workspace }) =>
    answered(workspace, { authorization: 'Bearer wrong-wrong-wrong' }),

  '403': async ({ workspace }) =>
    answered(workspace, { host: 'agents.example' }),

  '404': async ({ workspace }) =>
    answered(workspace, { 'mcp-session-id': 'gone' }),

  'The port is in use': async ({ workspace, run }) => {
    const http = await startHttp(workspace);
    const { stderr } = await run(['mcp', '--http', String(http.port)]);
    await http.end();
    return stderr;
  },

  'It does not know which project': async ({ run, workspace }) => {
    const env = { HOME: workspace.path };
    return (await run(['mcp', '--http', '0'], { env })).stderr;
  }
};

/** What a server over HTTP says to a request with these headers. */
async function answered(
  workspace: Parameters<typeof startHttp>[0],
  headers: Record<string, string>
): Promise<string> {
  const http = await startHttp(workspace);
  const { status, text } = await ask(http, { headers, body: initialize });
  await http.end();
  return `${status} ${text}`;
}
