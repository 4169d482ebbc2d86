import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const troupe = join(import.meta.dirname, '..', '..', 'dist', 'troupe.cjs');

/**
 * The lists that a built server returns.
 * @param toolsets toolsets to serve, one server each. Prompts and resources
 * belong to several toolsets and come from a server with all of them.
 * @param engines engines that are off by default
 */
export async function servedBy(toolsets, engines) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-reference-'));
  const config = {
    engines: Object.fromEntries(engines.map((name) => [name, true])),
    // With chats, a tool of squads has another parameter.
    squad: { stateMode: 'stateful' },
    orchestrator: { backend: 'process', engine: 'rehearsal' }
  };
  for (const name of ['home', 'project']) mkdirSync(join(folder, name));
  writeFileSync(
    join(folder, 'project', 'troupe.config.json'),
    JSON.stringify(config)
  );
  try {
    // Before agents exist, which the resources would name.
    const extras = await extrasOf(folder);
    const served = [];
    for (const name of toolsets)
      served.push({ name, tools: await toolsOf(folder, ['--toolsets', name]) });
    served.push({ name: 'worker', tools: await toolsOfWorker(folder) });
    return { toolsets: served, extras };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A worker's server needs a worker. */
async function toolsOfWorker(folder) {
  return await withServer(
    folder,
    ['--toolsets', 'orchestrator'],
    async (ask) => {
      const call = async (name, input) =>
        (await ask('tools/call', { name, arguments: input })).structuredContent;
      const { agent_id } = await call('agent_create', {
        name: 'reference',
        role: 'You wait.'
      });
      try {
        const flags = ['--toolsets', 'worker', '--agent-id', agent_id];
        return await toolsOf(folder, flags);
      } finally {
        const over = { agent_id, force: true, confirm: true };
        await call('agent_delete', over);
      }
    }
  );
}

function toolsOf(folder, flags) {
  return withServer(
    folder,
    flags,
    async (ask) => (await ask('tools/list')).tools
  );
}

function extrasOf(folder) {
  return withServer(folder, ['--toolsets', 'all'], async (ask) => ({
    prompts: (await ask('prompts/list')).prompts,
    resources: (await ask('resources/list')).resources,
    templates: (await ask('resources/templates/list')).resourceTemplates,
    roles: (await ask('tools/call', { name: 'list_roles', arguments: {} }))
      .structuredContent.roles
  }));
}

async function withServer(folder, flags, work) {
  const child = spawn(process.execPath, [troupe, 'mcp', ...flags], {
    cwd: join(folder, 'project'),
    env: { PATH: process.env.PATH, HOME: join(folder, 'home') },
    stdio: ['pipe', 'pipe', 'inherit']
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const open = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    open.get(message.id)?.(message);
  });
  const send = (message) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = async (method, params = {}) => {
    const id = open.size + 1;
    const answer = new Promise((resolve) => open.set(id, resolve));
    send({ id, method, params });
    const { result, error } = await Promise.race([
      answer,
      ended.then(() => ({ error: { message: 'the server has ended' } }))
    ]);
    if (result === undefined || result.isError)
      throw new Error(`${method}: ${JSON.stringify(error ?? result)}`);
    return result;
  };
  try {
    await ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'reference', version: '1' }
    });
    send({ method: 'notifications/initialized' });
    return await work(ask);
  } finally {
    child.stdin.end();
    await ended;
  }
}
