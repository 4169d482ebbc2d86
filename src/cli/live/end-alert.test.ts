import { expect, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import type { OnEnd } from '../../config/schema.ts';
import type { Run } from '../../core/runs/run.ts';
import { EndAlert } from './end-alert.ts';

const began = new Date('2030-01-01T10:00:00Z');

function ended(more: Partial<Run['record']> = {}): Run {
  const completed_at = '2030-01-01T10:00:01.000Z';
  return {
    record: recordWith({ engine: 'codex', ...more }),
    status: 'completed',
    outcome: outcomeWith({ completed_at, duration_ms: 32_000 })
  };
}

function written(onEnd: Partial<OnEnd>, runs: Run[], isTTY = true): string {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  const settings = { bell: false, minSeconds: 0, ...onEnd };
  const alert = new EndAlert(settings, { isTTY, write }, began);
  alert.report(runs);
  alert.report(runs);
  return text;
}

test('an end rings the bell once, and only on a terminal', () => {
  const { outcome: _, ...atWork } = ended({ agent_id: '00000001' });
  expect(written({ bell: true }, [ended(), atWork])).toBe('\u0007');
  expect(written({ bell: true, osc: 9 }, [ended()], false)).toBe('');
  expect(written({}, [ended()])).toBe('');
});

test.each([
  [9 as const, '\u001b]9;troupe: codex 0badcafe completed after 32 s\u001b\\'],
  [
    777 as const,
    '\u001b]777;notify;troupe;codex 0badcafe completed after 32 s\u001b\\'
  ]
])('OSC %i names the agent and how it ended', (osc, text) => {
  expect(written({ osc }, [ended()])).toBe(text);
});

test('no words of an agent or a plugin get into a sequence', () => {
  const hostile = ended({
    engine: 'x\u001b]0;y\u0007;z',
    label: 'evil\u0007',
    task: 'evil'
  });
  const text = written({ osc: 777 }, [hostile]);
  expect(text).toContain(';x_0_y_z 0badcafe completed');
  expect(text).not.toMatch(/evil|\u0007/);
});

test('short runs and earlier ends are not reported', () => {
  expect(written({ bell: true, minSeconds: 33 }, [ended()])).toBe('');
  const old = ended();
  const outcome = outcomeWith({ completed_at: '2030-01-01T09:59:59.999Z' });
  expect(written({ bell: true }, [{ ...old, outcome }])).toBe('');
});
