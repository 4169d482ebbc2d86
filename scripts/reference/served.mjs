import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const troupe = join(import.meta.dirname, '..', '..', 'dist', 'troupe.cjs');

/**
 * What a built server answers when it is asked what it has.
 * @param toolsets those to be served, one server each; prompts and resources
 *   go with several of them, and are those of a server that has all
 * @param engines those that are off by default
 */
export async function servedBy(toolsets, engines) {
  const place = mkdtempSync(join(tmpdir(), 'troupe-reference-'));
  const config = {
    engines: Object.fromEntries(engines.map((name) => [name, true])),
    // With them, a squad's tool has a parameter more.
    squad: { stateMode: 'stateful' },
    orchestrator: { backend: 'process', engine: 'rehearsal' }
  };
  for (const name of ['home', 'project']) mkdirSync(join(place, name));
  writeFileSync(
    join(place, 'project', 'troupe.config.json'),
    JSON.stringify(config)
  );
  try {
    // Before there are agents, which it would name.
    const beside = await besideTools(place);
    const served = [];
    for (const name of toolsets)
      served.push({ name, tools: await toolsOf(place, ['--toolsets', name]) });
    served.push({ name: 'worker', tools: await toolsOfWorker(place) });
    return { toolsets: served, beside };
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A worker's server needs a worker. */
async function toolsOfWorker(place) {
  return await withServer(
    place,
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
        return await toolsOf(place, flags);
      } finally {
        const over = { agent_id, force: true, confirm: true };
        await call('agent_delete', over);
      }
    }
  );
}

function toolsOf(place, flags) {
  return withServer(
    place,
    flags,
    async (ask) => (await ask('tools/list')).tools
  );
}

function besideTools(place) {
  return withServer(place, ['--toolsets', 'all'], async (ask) => ({
    prompts: (await ask('prompts/list')).prompts,
    resources: (await ask('resources/list')).resources,
    templates: (await ask('resources/templates/list')).resourceTemplates
  }));
}

async function withServer(place, flags, work) {
  const child = spawn(process.execPath, [troupe, 'mcp', ...flags], {
    cwd: join(place, 'project'),
    env: { PATH: process.env.PATH, HOME: join(place, 'home') },
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
