#!/usr/bin/env node
/**
 * `npm run demo`: shows within seconds how an MCP client uses troupe. Starts
 * the server of .mcp.json in a temporary workspace, with read access. Needs no
 * network, no key and no account.
 *
 *   npm run demo                   uses engines that are ready, else rehearsal
 *   npm run demo -- --rehearsal    uses only rehearsal, which calls no model
 *   npm run demo -- --keep         keeps the workspace
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { chooseEngines } from './demo-engines.mjs';
import {
  came,
  ending,
  goingOn,
  heading,
  listed,
  price,
  quiet,
  sent,
  showLog,
  showNext,
  since,
  tell
} from './demo-output.mjs';

const root = join(import.meta.dirname, '..');
const troupe = join(root, 'dist', 'troupe.cjs');
/** Short, so that the demo does not wait for a slow model. */
const timeoutSeconds = 60;

const settings = (engines) => ({
  engines: Object.fromEntries(
    [...engines, 'rehearsal'].map((name) => [name, { timeoutSeconds }])
  ),
  maxAccess: 'read',
  onDisconnect: 'stop'
});

const notes = `# Jobs
1. The report needs the parser.
2. The parser drops the last line.
3. The cache needs the parser.
`;

/** Scripts of the rehearsal engine (docs/start/rehearsal.md). */
const scripts = [
  `Which job in notes.md comes first?
sleep 1
say The parser: the other two jobs need it.`,
  `Tick off the jobs in notes.md.
sleep 1
write notes.md all done`,
  `Fail, to show what that looks like.
sleep 1
fail rate_limited the provider asks to wait`
];

const question =
  'Read notes.md in this directory. Which job comes first, and why? Answer in one sentence and change nothing.';

/** The environment of a client. The record is in the temporary folder, too. */
function environment(workspace) {
  const choice = /^TROUPE_(ENGINES|TOOLSETS|ON_DISCONNECT|MAX_)/;
  const kept = Object.entries(process.env).filter(
    ([name]) => !choice.test(name)
  );
  return {
    ...Object.fromEntries(kept),
    CLAUDE_PROJECT_DIR: workspace,
    TROUPE_HOME: join(workspace, '..', 'record')
  };
}

async function connect(workspace) {
  const { mcpServers } = JSON.parse(
    readFileSync(join(root, '.mcp.json'), 'utf8')
  );
  const { command, args } = mcpServers.agents;
  await heading('1. Start the server as .mcp.json says');
  tell(`$ ${command} ${args.join(' ')}`);
  const client = new Client({ name: 'troupe-demo', version: '1' });
  const env = environment(workspace);
  const transport = new StdioClientTransport({ command, args, cwd: root, env });
  const began = performance.now();
  await client.connect(transport);
  const { tools } = await client.listTools();
  const { name, version } = client.getServerVersion();
  const names = tools.map((tool) => tool.name);
  tell(`${name} ${version} is ready after ${since(began)}. Its tools:`);
  listed('', names, ' ');
  return client;
}

async function call(client, name, input) {
  sent(name, input);
  const answer = await client.callTool({ name, arguments: input }, undefined, {
    onprogress: ({ message }) => quiet(message)
  });
  const facts = JSON.parse(answer.content[0].text);
  if (answer.isError) throw new Error(`${name}: ${facts.error} ${facts.hint}`);
  return facts;
}

async function spawn(client, engine, prompt) {
  const began = performance.now();
  const tool = `spawn_${engine.replaceAll('-', '_')}`;
  const agent = await call(client, tool, { prompt, access: 'read' });
  came(`#${agent.agent_id} ${agent.status}, after ${since(began)}`);
  if (agent.error) ending(agent);
  return agent.agent_id;
}

/** Calls `wait_for_agents` until all agents have ended, as clients have to. */
async function waitForAll(client, ids) {
  for (;;) {
    const answer = await call(client, 'wait_for_agents', { agent_ids: ids });
    came(`${answer.status} after ${answer.elapsed_seconds} s`);
    if (answer.status === 'timeout') continue;
    for (const agent of answer.results) ending(agent);
    return answer.results;
  }
}

async function perform(client, engines) {
  await heading('2. Start agents: each call answers at once, the agents go on');
  const ids = [];
  for (const engine of engines) ids.push(await spawn(client, engine, question));
  for (const script of scripts.slice(0, Math.max(1, 3 - engines.length)))
    ids.push(await spawn(client, 'rehearsal', script));

  goingOn('3. See who is at work');
  const { running, queued } = await call(client, 'list', {});
  came(`${running.length} running, ${queued.length} queued`);
  for (const { id, type, sec, task } of running)
    quiet(`#${id} ${type}, ${sec} s: ${task}`);

  goingOn('4. Wait for them; your own work could come first');
  const results = await waitForAll(client, ids);

  await heading('5. Read one answer whole');
  const { agent_id } = results.find(({ success }) => success) ?? results[0];
  const answer = await call(client, 'result', { agent_id });
  came(`${answer.status} in ${answer.duration_seconds} s, ${price(answer)}:`);
  for (const line of (answer.result || answer.error).split('\n')) quiet(line);
  check(results);
}

/** @throws Error when the rehearsal agent fails; other engines may fail */
function check(results) {
  const rehearsal = results.find(
    ({ agent_type: type }) => type === 'rehearsal'
  );
  if (rehearsal?.status !== 'completed')
    throw new Error(`The rehearsal agent ended as ${rehearsal?.status}.`);
}

/** @returns names of the engines to use in addition to `rehearsal` */
async function choose(workspace, forced) {
  await heading('Engines');
  const env = environment(workspace);
  const engines = forced
    ? []
    : chooseEngines({ troupe, workspace, environment: env });
  const why = forced ? 'as asked for' : 'as no other engine is ready';
  tell(
    `rehearsal: a real process that asks no model${engines.length > 0 ? '' : `, ${why}`}`
  );
  if (engines.length > 0)
    tell('Their models are asked one question, which may cost some cents.');
  return engines;
}

async function demonstrate(workspace, forced) {
  if (!existsSync(troupe))
    throw new Error('dist/ is missing. Run "npm run build" first.');
  console.log('troupe lets one coding agent start, follow and combine others.');
  console.log('This does what your agent would do, in a temporary directory.');
  const engines = await choose(workspace, forced);
  writeFileSync(join(workspace, 'notes.md'), notes);
  writeFileSync(
    join(workspace, 'troupe.config.json'),
    JSON.stringify(settings(engines), null, 2)
  );
  const client = await connect(workspace);
  try {
    await perform(client, engines);
  } finally {
    await client.close();
  }
  await showLog(workspace);
  await showNext(troupe);
}

const { values } = parseArgs({
  options: { rehearsal: { type: 'boolean' }, keep: { type: 'boolean' } }
});
const stage = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-demo-')));
const workspace = join(stage, 'workspace');
mkdirSync(workspace);
process.once('exit', () => {
  if (values.keep) tell(`The workspace was kept: ${workspace}`);
  else rmSync(stage, { recursive: true, force: true, maxRetries: 5 });
});
process.once('SIGINT', () => process.exit(130));
// The reader of a pipe may close it, as in `npm run demo | head`.
process.stdout.on('error', () => undefined);
try {
  await demonstrate(workspace, values.rehearsal ?? false);
} catch (error) {
  console.error(`\nThe demo did not work: ${error.message}`);
  process.exitCode = 1;
}
