/**
 * An agent that puts out 100 MB: time and the server's peak memory, against
 * `cat` of the same bytes into a file. Once as plain text, where the output is
 * the answer, and once as JSON lines, folded by a plugin's `read`.
 */
import { closeSync, existsSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fact, row } from './statistics.mjs';
import {
  createWorkspace,
  runBench,
  startServer,
  timeChild,
  until
} from './support.mjs';

const totalBytes = 100 * 1024 * 1024;
const answerChars = 1024 * 1024;
const names = ['plain', 'lines'];
const meanings = { plain: 'plain text', lines: 'JSON lines' };

await runBench(5, async (options) => {
  const workspace = createWorkspace();
  const agents = { plain: plainAgent(workspace), lines: lineAgent(workspace) };
  workspace.offer(...names.map((name) => agents[name].plugin));
  const floors = { plain: [], lines: [] };
  const samples = { plain: [], lines: [] };
  try {
    for (let run = 0; run < options.runs; run += 1)
      for (const name of names) {
        floors[name].push(await timeCat(workspace, agents[name].output));
        samples[name].push(
          await runOnce(options, workspace, name, agents[name])
        );
      }
  } finally {
    workspace.remove();
  }
  return {
    title: '100 MB of output',
    rows: names.flatMap((name) => rowsOf(name, samples[name], floors[name])),
    notes: [
      'Floor of the times: `cat` of the same bytes into a file. A fresh server each time; memory is its VmHWM.'
    ]
  };
});

/** One run in a server of its own, pinged all the while. */
async function runOnce(options, workspace, name, { output, chars }) {
  const server = await startServer(options, workspace);
  try {
    await server.request('tools/list');
    const before = server.memory().now;
    const cpuBefore = server.cpuMs();
    const from = performance.now();
    const { data } = await server.call(`spawn_${name}`, { prompt: 'Go.' });
    const folder = join(workspace.path, '.agents', 'spawns', data.agent_id);
    const outcome = join(folder, 'outcome.json');
    let lag = 0;
    const ended = until(folder, () => existsSync(outcome), 120_000);
    for (;;) {
      const asked = performance.now();
      lag = Math.max(lag, (await server.request('ping')).at - asked);
      if (existsSync(outcome)) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const ms = (await ended) - from;
    const settled = server.memory().peak;
    const cpu = server.cpuMs() - cpuBefore;
    const result = await server.call('result', { agent_id: data.agent_id });
    const told = result.data.total_chars ?? result.data.result.length;
    const kept = statSync(join(folder, 'stdout')).size;
    const right =
      result.data.success && told === chars && kept === statSync(output).size;
    const answered = server.memory().peak;
    const resultMs = result.ms;
    return { before, ms, cpu, lag, settled, answered, resultMs, right, told };
  } finally {
    await server.close();
  }
}

function rowsOf(name, samples, floor) {
  const of = (what) => samples.map((sample) => sample[what]);
  const meant = meanings[name];
  const megabytes = { unit: 'MB' };
  return [
    row(`${meant}: spawn called → outcome on disk`, of('ms'), { floor }),
    row(`${meant}: processor time of the server`, of('cpu')),
    row(`${meant}: slowest ping meanwhile`, of('lag')),
    row(`${meant}: \`result\` answered`, of('resultMs')),
    row(`${meant}: memory before`, of('before'), megabytes),
    row(`${meant}: most memory until the outcome`, of('settled'), megabytes),
    row(`${meant}: most memory after \`result\``, of('answered'), megabytes),
    fact(
      `${meant}: size of the answer, bytes on disk`,
      of('right').every(Boolean),
      `${samples[0].told} characters`
    )
  ];
}

/** The whole output is the answer; a few of its characters are not ASCII. */
function plainAgent(workspace) {
  const text = `${'The quick brown fox jumps over it. '.repeat(29)}…\n`;
  const output = fill(workspace, 'plain.txt', text, '');
  const lines = statSync(output).size / Buffer.byteLength(text);
  return {
    output,
    chars: lines * text.length,
    plugin: writePlugin(workspace, 'plain', output, '')
  };
}

/** Events of about 1 KB, and an answer of 1 MB in the last. */
function lineAgent(workspace) {
  const event = { type: 'progress', text: 'word '.repeat(200) };
  const last = { type: 'done', text: 'a'.repeat(answerChars) };
  const output = fill(
    workspace,
    'lines.jsonl',
    `${JSON.stringify(event)}\n`,
    `${JSON.stringify(last)}\n`
  );
  const read = `read: (reply, event) => event.type === 'done'
    ? { ...reply, text: event.text, finished: true }
    : { ...reply, progress: event.text.slice(0, 60) },`;
  return {
    output,
    chars: answerChars,
    plugin: writePlugin(workspace, 'lines', output, read)
  };
}

/** A file of about 100 MB: one text over and over, and an end. */
function fill(workspace, name, text, end) {
  const path = workspace.file(name, '');
  const file = openSync(path, 'a');
  const block = Buffer.from(text.repeat(1000));
  const blocks = Math.ceil(totalBytes / block.length);
  for (let written = 0; written < blocks; written += 1) writeSync(file, block);
  writeSync(file, end);
  closeSync(file);
  return path;
}

function writePlugin(workspace, name, output, read) {
  const program = workspace.file(
    name,
    `#!/bin/sh\nexec cat ${output}\n`,
    0o755
  );
  return workspace.file(
    `${name}.mjs`,
    `export default {
  kind: 'cli',
  name: '${name}',
  description: 'Puts out 100 MB.',
  command: ${JSON.stringify(program)},
  ${read}
  args: () => []
};
`
  );
}

async function timeCat(workspace, output) {
  const copy = openSync(join(workspace.base, 'copy'), 'w');
  try {
    return await timeChild('cat', [output], {
      stdio: ['ignore', copy, 'ignore']
    });
  } finally {
    closeSync(copy);
  }
}
