import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

/** Programs that speak as the real ones do when their model fails. */
const failing = {
  codex: `let tries = 0;
    setInterval(() => {
      tries += 1;
      const message = 'Reconnecting... ' + tries + '/5 (unexpected status 503)';
      console.log(JSON.stringify({ type: 'error', message }));
    }, 100);`,
  gemini: `let tries = 0;
    setInterval(() => {
      tries += 1;
      console.error('Attempt ' + tries + ' failed with status 429. ' +
        'Retrying with backoff... _ApiError: {"error":{"code":429,' +
        '"message":"Slow down","status":"RESOURCE_EXHAUSTED"}}');
    }, 100);`,
  // A quota that is used up for hours.
  sleeping: `console.error('Attempt 1 failed: You have exhausted your ' +
      'capacity on this model. Your quota will reset after 3h12m5s.. ' +
      'Retrying after 12844484ms...');
    setTimeout(() => {}, 12844484);`,
  // One that is renewed soon, three times.
  waiting: `const say = (event) => console.log(JSON.stringify(event));
    const wait = (left) => {
      if (left > 0) {
        console.error('Attempt ' + (4 - left) + ' failed: Please wait.. ' +
          'Retrying after 1300ms...');
        return setTimeout(wait, 1300, left - 1);
      }
      say({ type: 'message', role: 'assistant', content: 'At last.' });
      say({ type: 'result', status: 'success', stats: {} });
    };
    wait(3);`,
  // Every step needs a second try, and is done.
  stumbling: `const say = (event) => console.log(JSON.stringify(event));
    const fail = (n) => say({ type: 'error', message: 'Reconnecting... ' + n });
    let steps = 0;
    const timer = setInterval(() => {
      const item = { type: 'agent_message', text: 'Step ' + steps };
      fail(1);
      if (steps === 40) fail(2);
      say({ type: 'item.completed', item });
      fail(1);
      steps += 1;
      if (steps < 45) return;
      clearInterval(timer);
      say({ type: 'item.completed', item });
      say({ type: 'turn.completed', usage: {} });
    }, 100);`,
  // Its model answers at last, long after the limit, and without a word.
  patient: `const say = (event) => console.log(JSON.stringify(event));
    say({ type: 'error', message: 'Reconnecting... 1/5 (status 500)' });
    setTimeout(() => {
      const item = { type: 'agent_message', text: 'At last.' };
      say({ type: 'item.completed', item });
      say({ type: 'turn.completed', usage: {} });
    }, 4000);`
};

async function serve(programs: Record<string, string>, engines: object) {
  const workspace = createTempWorkspace();
  for (const [name, body] of Object.entries(programs))
    workspace.program(name, body);
  workspace.write('troupe.config.json', JSON.stringify({ engines }));
  const env = { PATH: `${workspace.bin}:/usr/bin:/bin` };
  const start = () => startServer(workspace, { env });
  const server = await start();
  onTestFinished(async () => {
    await server.close();
    workspace.remove();
  });
  return { server, start };
}

async function ended(
  server: Awaited<ReturnType<typeof startServer>>,
  id: unknown
) {
  return until(
    'the end',
    async () => {
      const { data } = await server.call('result', { agent_id: id });
      return data.status === 'running' ? undefined : data;
    },
    20_000
  );
}

for (const [tool, program, error_code, error] of [
  ['spawn_codex', 'codex', 'provider_error', /again and again.*status 503/],
  ['spawn_gemini_cli', 'gemini', 'rate_limited', /again and again.*Slow down/]
] as const)
  test(`${program} that does nothing but try again has failed`, async () => {
    const { server } = await serve(
      { [program]: failing[program] },
      { codex: { retrySeconds: 2 } }
    );
    const { data } = await server.call(tool, { prompt: 'hello' });
    const { agent_id } = data;
    await until('word of it', async () => {
      const { data } = await server.call('result', { agent_id });
      return /reconnecting|retry/i.test(String(data.message)) || undefined;
    });
    const result = await ended(server, agent_id);
    expect(result).toMatchObject({ status: 'failed', error_code });
    expect(result.error).toMatch(error);
  });

test('a program that would sleep past its time limit ends at once, with the time of its quota', async () => {
  const { server } = await serve({ gemini: failing.sleeping }, {});
  const { data } = await server.call('spawn_gemini_cli', { prompt: 'hello' });
  const result = await ended(server, data.agent_id);
  expect(result).toMatchObject({ status: 'failed', error_code: 'quota' });
  expect(result.error).toMatch(
    /^Gemini CLI would wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC, .* and was stopped: You have exhausted .* reset after 3h12m5s/
  );
});

test('one that waits for moments goes on, however often', async () => {
  const { server } = await serve({ gemini: failing.waiting }, {});
  const { data } = await server.call('spawn_gemini_cli', { prompt: 'hello' });
  expect(await ended(server, data.agent_id)).toMatchObject({
    status: 'completed',
    result: 'At last.'
  });
});

test('the next server ends it too', async () => {
  const { server, start } = await serve(
    { codex: failing.codex },
    { codex: { retrySeconds: 2 } }
  );
  const { data } = await server.call('spawn_codex', { prompt: 'hello' });
  server.child.kill('SIGKILL');
  await server.exited;
  const next = await start();
  onTestFinished(async () => {
    await next.close();
  });
  expect(await ended(next, data.agent_id)).toMatchObject({
    status: 'failed',
    error_code: 'provider_error'
  });
});

for (const [what, program, result] of [
  ['one failure and a long silence', failing.patient, 'At last.'],
  ['a failure at every step', failing.stumbling, 'Step 44']
] as const)
  test(`${what} is no reason to end a run`, async () => {
    const { server } = await serve(
      { codex: program },
      { codex: { retrySeconds: 1 } }
    );
    const { data } = await server.call('spawn_codex', { prompt: 'hello' });
    expect(await ended(server, data.agent_id)).toMatchObject({
      status: 'completed',
      result
    });
  });

test('with retrySeconds 0 it may try until its time is over', async () => {
  const { server } = await serve(
    { codex: failing.codex },
    { codex: { retrySeconds: 0 } }
  );
  const input = { prompt: 'hello', timeout: 5 };
  const { data } = await server.call('spawn_codex', input);
  expect(await ended(server, data.agent_id)).toMatchObject({
    status: 'timeout',
    error: expect.stringContaining('Reconnecting')
  });
});
