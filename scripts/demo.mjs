#!/usr/bin/env node
/**
 * `npm run demo`: what an MCP client does with troupe, for real and in
 * seconds. Starts the server that .mcp.json names, in a temporary workspace,
 * with read access. Needs no network, no key and no account.
 *
 *   npm run demo                   engines that are ready, else the rehearsal
 *   npm run demo -- --rehearsal    the rehearsal only: no model is asked
 *   npm run demo -- --keep         leaves the workspace to look at
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const root = join(import.meta.dirname, '..');
const troupe = join(root, 'dist', 'troupe.cjs');
const timeout = 60;

const settings = {
  engines: { rehearsal: true },
  maxAccess: 'read',
  onDisconnect: 'stop'
};

const notes = `# Jobs
1. The report needs the parser.
2. The parser drops the last line.
3. The cache needs the parser.
`;

/** Scripts of the stand-in (docs/rehearsal.md). */
const rehearsals = [
  `Which job in notes.md comes first?
sleep 1
say The parser: the other two jobs need it.`,
  `Tick off the jobs in notes.md.
write notes.md all done`,
  `Fail, to show what that looks like.
fail rate_limited the provider asks to wait`
];

const question =
  'Read notes.md in this directory. Which job comes first, and why? Answer in one sentence and change nothing.';

/** Names of the engines to ask, after telling what was found and why. */
function chooseEngines(workspace, forced) {
  heading('Engines');
  const used = [];
  for (const { name, ready, why } of forced ? [] : probe(workspace)) {
    if (ready) used.push(name);
    tell(`${name.padEnd(10)} ${why}${ready ? '' : ': skipped'}`);
  }
  const because =
    used.length > 0 || forced ? '' : ', because no other engine is ready';
  tell(
    `rehearsal  a scripted stand-in (a real process, no model): used${because}`
  );
  return used;
}

/** Asks `troupe doctor`, which calls no model; without it looks at PATH. */
function probe(workspace) {
  const args = [troupe, 'doctor', '--json', '--workspace', workspace];
  const { stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    env: environment(workspace),
    encoding: 'utf8',
    timeout: 30_000
  });
  return enginesIn(stdout) ?? ['claude', 'codex'].map(onPath);
}

function onPath(name) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const ready = folders.some((folder) => existsSync(join(folder, name)));
  return { name, ready, why: ready ? 'is installed' : 'is not installed' };
}

/** A client's environment: it tells the server where the project is. */
function environment(workspace) {
  const chosen = /^TROUPE_(ENGINES|TOOLSETS|ON_DISCONNECT|MAX_)/;
  const kept = Object.entries(process.env).filter(
    ([name]) => !chosen.test(name)
  );
  return { ...Object.fromEntries(kept), CLAUDE_PROJECT_DIR: workspace };
}

async function connect(workspace) {
  const { mcpServers } = JSON.parse(read(join(root, '.mcp.json')));
  const { command, args } = mcpServers.agents;
  heading('1. Start the server as .mcp.json says');
  tell(`$ ${command} ${args.join(' ')}`);
  const client = new Client({ name: 'troupe-demo', version: '1' });
  const env = environment(workspace);
  const transport = new StdioClientTransport({ command, args, cwd: root, env });
  const began = performance.now();
  await client.connect(transport);
  const { tools } = await client.listTools();
  const { name, version } = client.getServerVersion();
  tell(`${name} ${version} is ready after ${since(began)}. Its tools:`);
  tell(tools.map((tool) => tool.name).join(' '));
  return client;
}

async function call(client, name, input) {
  told('→', `${name} ${shortened(JSON.stringify(input), 150)}`);
  const answer = await client.callTool({ name, arguments: input }, undefined, {
    onprogress: ({ message }) => told('…', dim(shortened(message, 120)))
  });
  const facts = JSON.parse(answer.content[0].text);
  if (answer.isError) throw new Error(`${name}: ${facts.error} ${facts.hint}`);
  return facts;
}

async function spawn(client, engine, prompt) {
  const began = performance.now();
  const input = { prompt, access: 'read', timeout };
  const agent = await call(client, `spawn_${engine}`, input);
  told('←', `${id(agent.agent_id)} ${agent.status}, after ${since(began)}`);
  if (agent.error) told('', mark(agent));
  return agent.agent_id;
}

/** Waits as a client must: until no agent is left, call after call. */
async function waitForAll(client, ids) {
  for (;;) {
    const answer = await call(client, 'wait_for_agents', { agent_ids: ids });
    told('←', `${answer.status} after ${answer.elapsed_seconds} s`);
    if (answer.status === 'timeout') continue;
    for (const agent of answer.results) told('', mark(agent));
    return answer.results;
  }
}

function mark({ agent_id, agent_type, status, result, error, error_code }) {
  const said = result?.trim().split('\n').at(-1);
  return status === 'completed'
    ? `${green('✓')} ${id(agent_id)} ${agent_type} ${status}: ${shortened(said, 100)}`
    : `${red('✗')} ${id(agent_id)} ${agent_type} ${status} (${error_code}): ${shortened(error, 100)}`;
}

async function perform(workspace, forced) {
  writeFileSync(join(workspace, 'notes.md'), notes);
  const config = join(workspace, 'troupe.config.json');
  writeFileSync(config, JSON.stringify(settings, null, 2));
  const engines = chooseEngines(workspace, forced);
  const client = await connect(workspace);
  try {
    heading('2. Spawn agents: each call answers at once, the agents go on');
    const scripts = rehearsals.slice(0, Math.max(1, 3 - engines.length));
    const ids = [];
    for (const engine of engines) {
      const tool = engine.replaceAll('-', '_');
      ids.push(await spawn(client, tool, question));
    }
    for (const script of scripts)
      ids.push(await spawn(client, 'rehearsal', script));

    heading('3. See who is at work');
    const { running, queued } = await call(client, 'list', {});
    told('←', `${running.length} running, ${queued.length} queued`);
    for (const { id: agent, type, sec, task } of running)
      told('', `${id(agent)} ${type}, ${sec} s: ${shortened(task, 60)}`);

    heading('4. Wait for them; your own work could come first');
    const results = await waitForAll(client, ids);

    heading('5. Read one answer whole');
    const best = results.find(({ success }) => success) ?? results[0];
    const { agent_id } = best;
    const { result, ...facts } = await call(client, 'result', { agent_id });
    told('←', `${facts.status} in ${facts.duration_seconds} s, ${cost(facts)}`);
    for (const line of (result || facts.error).split('\n')) told('', dim(line));
    check(results);
  } finally {
    await client.close();
  }
}

/** The stand-in always does what its script says; other engines may fail. */
function check(results) {
  const [first] = results.filter(
    ({ agent_type }) => agent_type === 'rehearsal'
  );
  if (first?.status !== 'completed')
    throw new Error(`The rehearsal agent ended as ${first?.status}.`);
}

function showLogs(workspace) {
  heading('6. What people read afterwards: logs/IAC.md');
  console.log(`${read(join(workspace, 'logs', 'IAC.md')).trimEnd()}\n`);
  const spawns = join(workspace, '.agents', 'spawns');
  tell('Beside it: logs/CONTEXT.md (who is at work), logs/iac.jsonl (the');
  tell('journal IAC.md is made from), and a folder per agent:');
  for (const agent of readdirSync(spawns).filter((name) => name[0] !== '.'))
    tell(
      `.agents/spawns/${agent}/ ${readdirSync(join(spawns, agent)).join(' ')}`
    );
}

function showNext() {
  heading('Next: give it to your own agent');
  tell(
    "Put this into your project's .mcp.json (Claude Code), start the client"
  );
  tell('and say "delegate this to Codex". Other clients: docs/clients.md.');
  const entry = { command: 'node', args: [troupe, 'mcp'] };
  console.log(
    `\n${JSON.stringify({ mcpServers: { agents: { type: 'stdio', ...entry } } }, null, 2)}\n`
  );
}

function cost({ cost_usd, usage }) {
  const dollars = cost_usd === null ? 'cost unknown' : `$${cost_usd}`;
  return `${dollars}, ${usage ? `${usage.total_tokens} tokens` : 'tokens unknown'}`;
}

const colours = process.stdout.isTTY && !process.env.NO_COLOR;
const painted = (code) => (text) =>
  colours ? `\u001b[${code}m${text}\u001b[0m` : text;
const [bold, dim, red, green] = [1, 2, 31, 32].map(painted);

const read = (path) => readFileSync(path, 'utf8');
const id = (agentId) => `#${agentId}`;
const heading = (text) => console.log(`\n${bold(text)}`);
const tell = (text) => console.log(`   ${text}`);
const told = (arrow, text) => console.log(`   ${arrow.padEnd(1)} ${text}`);
const since = (began) => `${Math.round(performance.now() - began)} ms`;

function shortened(text, length) {
  const line = (text ?? '').replace(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

const { values } = parseArgs({
  options: { rehearsal: { type: 'boolean' }, keep: { type: 'boolean' } }
});
const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-demo-')));
const remove = () => {
  if (values.keep) return;
  rmSync(workspace, { recursive: true, force: true, maxRetries: 5 });
};
process.once('SIGINT', () => {
  remove();
  process.exit(130);
});
try {
  if (!existsSync(troupe))
    throw new Error('dist/ is missing. Run "npm run build" first.');
  await perform(workspace, values.rehearsal ?? false);
  showLogs(workspace);
  showNext();
  if (values.keep) tell(`The workspace was kept: ${workspace}`);
} catch (error) {
  console.error(`\nThe demo did not work: ${error.message}`);
  process.exitCode = 1;
} finally {
  remove();
}

function enginesIn(report) {
  try {
    return JSON.parse(report).engines;
  } catch {
    return undefined;
  }
}
