import { describe, it } from 'vitest';
import type { ApiEngine } from '../src/plugin/plugin.ts';
import {
  type ApiFixture,
  describeEngine
} from '../test/contract/engine-contract.ts';
import {
  recordedEngines,
  recordingsOf
} from '../test/kit/agents/recordings.ts';
import { endsAfter, fails, says } from '../test/provider-fake/answers.ts';
import { apiEngines } from '../test/provider-fake/asked.ts';
import { startProviderFake } from '../test/provider-fake/fake.ts';
import { builtinEngines, optionalEngines } from './index.ts';

const answer = 'Grüße — 日本語 "quoted" \\ and\nmore.';

for (const engine of [...builtinEngines, ...optionalEngines]) {
  const fixtures =
    engine.kind === 'api' ? await answersTo(engine) : outputsOf(engine.name);
  describeEngine(engine, fixtures, { describe, it });
}

/** The recordings of an engine; recordings.test.ts has their verdicts. */
function outputsOf(name: string) {
  if (!recordedEngines().includes(name)) return [];
  return recordingsOf(name).map((recording) =>
    recording.case === 'success'
      ? {
          ...recording,
          expected: { status: 'completed' as const, text: 'All done.' }
        }
      : recording
  );
}

/** Responses of a provider on loopback, stored to be truncated and read. */
async function answersTo(engine: ApiEngine): Promise<ApiFixture[]> {
  const name = apiEngines.find((known) => known === engine.name);
  if (!name) throw new Error(`No provider for ${engine.name} in the tests`);
  const fake = await startProviderFake(name);
  fake.plan('whole', says(answer));
  fake.plan('cut', endsAfter('Half an'));
  fake.plan('key', fails('key'));
  const record = async (prompt: string, stream: boolean) => {
    const response = { status: 0, contentType: '', body: '' };
    const keep: typeof fetch = async (input, init) => {
      const got = await fetch(input, init);
      response.status = got.status;
      response.contentType = got.headers.get('content-type') ?? '';
      response.body = await got.clone().text();
      return got;
    };
    const { signal } = new AbortController();
    const tools = { apiKey: fake.key, signal, fetch: keep, onText: () => {} };
    const question = { prompt, model: 'some', turns: [], baseUrl: fake.url };
    await engine
      .generate({ ...question, stream }, tools)
      .catch(() => undefined);
    return {
      case: `${prompt}, ${stream ? 'streamed' : 'in one'}`,
      stream,
      response
    };
  };
  const whole = { status: 'completed' as const, text: answer };
  const fixtures = [
    { ...(await record('whole', true)), expected: whole },
    { ...(await record('whole', false)), expected: whole },
    { ...(await record('cut', true)), expected: { status: 'failed' as const } },
    {
      ...(await record('key', true)),
      expected: { status: 'failed' as const, error_code: 'auth' as const }
    }
  ];
  await fake.close();
  return fixtures;
}
