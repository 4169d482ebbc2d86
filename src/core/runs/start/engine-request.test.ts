import { expect, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import { EngineRegistry } from '../../engines/engine-registry.ts';
import type { RunRecord } from '../run.ts';
import { engineRequestOf } from './engine-request.ts';

const registry = new EngineRegistry([], {});
const requestOf = (changes: Partial<RunRecord>) =>
  engineRequestOf(recordWith(changes), 'a prompt', registry);

test('an engine lets an agent ask only if the agent was started to ask', () => {
  expect(requestOf({})).not.toHaveProperty('asks');
  expect(requestOf({ ask: 'person' })).toMatchObject({ asks: true });
  expect(requestOf({ ask: 'coordinator' })).toMatchObject({ asks: true });
});
