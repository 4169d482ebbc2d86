import { expect, test } from 'vitest';
import type { CliEngine, EngineRequest } from '../plugin.ts';
import { flagsOf } from './flags-of.ts';

function engine(
  args: CliEngine['args'],
  rest: Partial<CliEngine> = {}
): CliEngine {
  const name = 'test';
  return { kind: 'cli', name, description: 'x', command: 'x', args, ...rest };
}

test('flags are found whatever stands around them, each once', () => {
  const args = () => ['exec', '-p', '--json', '--mode=yolo', '-p', '-'];
  expect(flagsOf(engine(args))).toEqual(['--json', '--mode', '-p']);
});

test('a value is no flag, nor is what stands after "--"', () => {
  const args = ({ model = 'none' }: EngineRequest) => [
    ...['-c', 'key="--not-a-flag"', '--model', model, '--tools', 'a,b'],
    ...['--depth', '-1', '--', '--session']
  ];
  expect(flagsOf(engine(args))).toEqual([
    '--depth',
    '--model',
    '--tools',
    '-c'
  ]);
});

test('every kind of run is asked for', () => {
  const args = (request: EngineRequest) => [
    `--${request.access}`,
    ...(request.asRoot ? ['--root'] : []),
    ...(request.model ? ['--model'] : []),
    ...(request.systemPrompt ? ['--brief'] : []),
    ...(request.newSessionId ? ['--new'] : []),
    ...(request.baseUrl ? ['--url'] : []),
    ...(request.sessionId ? ['--resume'] : []),
    ...(request.sessionId && request.systemPrompt ? ['--brief-again'] : [])
  ];
  const always = '--brief --full --model --read --root --url --write';
  expect(flagsOf(engine(args))).toEqual(always.split(' '));
  const able = { resumes: true, takesSessionId: true };
  const more = ['--brief-again', '--new', '--resume'];
  expect(flagsOf(engine(args, able))).toEqual(
    [...always.split(' '), ...more].sort()
  );
});
