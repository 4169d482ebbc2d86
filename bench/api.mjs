/**
 * Measures a whole run of an API engine, with a provider on loopback that
 * answers at once, against a new Node process that makes one `fetch`: the
 * difference is the process, the SDK, the supervisor and the finalization.
 * Then measures one second_opinion of four engines, against the slowest alone.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { median, row } from './statistics.mjs';
import {
  cleanEnvironment,
  createWorkspace,
  runBench,
  startServer,
  timeChild
} from './support.mjs';

const engines = ['grok', 'gemini', 'mistral', 'claude-api'];

/** The end of a request's path → the provider's whole answer. */
const answers = {
  responses: {
    status: 'completed',
    model: 'bench',
    output: [
      { type: 'message', content: [{ type: 'output_text', text: 'ok' }] }
    ]
  },
  generateContent: {
    candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }]
  },
  completions: {
    id: 'b',
    object: 'chat.completion',
    created: 1,
    model: 'bench',
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'ok' },
        finish_reason: 'stop'
      }
    ]
  },
  messages: {
    model: 'bench',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn'
  }
};

await runBench(15, async (options) => {
  const provider = createServer((request, response) => {
    request.resume();
    const known = Object.entries(answers).find(([path]) =>
      request.url.endsWith(path)
    );
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(known?.[1] ?? {}));
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const baseUrl = `http://127.0.0.1:${provider.address().port}`;
  const workspace = createWorkspace();
  configure(workspace, baseUrl);
  const floorProgram = workspace.file(
    'fetch.mjs',
    `await (await fetch('${baseUrl}/v1/responses', { method: 'POST' })).json();`
  );
  const server = await startServer(options, workspace);
  const samples = Object.fromEntries(
    ['floor', 'together', ...engines].map((name) => [name, []])
  );
  try {
    for (let run = -1; run < options.runs; run += 1) {
      const floor = await timeChild(options.node, [floorProgram], {
        env: cleanEnvironment(workspace),
        stdio: 'ignore'
      });
      const alone = [];
      for (const engine of engines) alone.push(await runOf(server, engine));
      const { ms } = await server.call('second_opinion', {
        question: 'Say ok.',
        engines
      });
      if (run < 0) continue;
      samples.floor.push(floor);
      samples.together.push(ms);
      for (const [index, engine] of engines.entries())
        samples[engine].push(alone[index]);
    }
  } finally {
    await server.close();
    workspace.remove();
    provider.close();
  }
  const { floor, together } = samples;
  const slowest =
    samples[
      engines.toSorted((a, b) => median(samples[b]) - median(samples[a]))[0]
    ];
  return {
    title: 'A whole run of an API engine',
    rows: [
      row('floor: a Node process that makes one fetch', floor),
      ...engines.map((engine) =>
        row(
          `${engine}: spawn called → wait_for_agents answered`,
          samples[engine],
          {
            floor
          }
        )
      ),
      row(
        'second_opinion of all four; floor: the slowest of them alone',
        together,
        {
          floor: slowest
        }
      )
    ],
    notes: [
      'The agents of an engine share a process, which loads the SDK once and ends five seconds after its last agent. The first agent of an engine waits for its start; so do four at once on two processors.'
    ]
  };
});

/** Milliseconds from the spawn call to the answer of `wait_for_agents`. */
async function runOf(server, engine) {
  const from = performance.now();
  const tool = `spawn_${engine.replace('-', '_')}`;
  const { data } = await server.call(tool, { prompt: 'Say ok.' });
  const { data: waited } = await server.call('wait_for_agents', {
    agent_ids: [data.agent_id]
  });
  const [result] = waited.results;
  if (result.status !== 'completed') throw new Error(JSON.stringify(result));
  return performance.now() - from;
}

function configure(workspace, baseUrl) {
  const settings = { baseUrl, stream: false };
  const config = {
    engines: Object.fromEntries(engines.map((name) => [name, settings]))
  };
  const keys = Object.fromEntries(
    ['XAI', 'GEMINI', 'MISTRAL', 'ANTHROPIC'].map((name) => [
      `${name}_API_KEY`,
      'a-key-for-the-bench'
    ])
  );
  const write = (name, value) =>
    writeFileSync(join(workspace.path, name), JSON.stringify(value), {
      mode: 0o600
    });
  write('.trouperc.json', config);
  write('api_keys.json', keys);
}
