import { expect, test } from 'vitest';
import type { Ask, AskAnswer } from '../../core/asks/ask.ts';
import { resumePrompt } from './resume-prompt.ts';

const at = '2026-11-26T10:00:00.000Z';
const ask: Ask = {
  v: 1,
  ...{ ask_id: '1a2b3c4d-1', agent_id: '1a2b3c4d', kind: 'permission' },
  ...{ tool: 'Bash', subject: { command: 'make' }, needs: 'full' },
  ...{ asked_at: at, expires_at: at },
  bridge: { pid: 3, start: '4', place: 'here' }
};
const question: Ask = {
  ...{ ...ask, kind: 'question', tool: 'ask_coordinator' },
  subject: { question: 'Tabs?' }
};
const answer: AskAnswer = {
  v: 1,
  ...{ decision: 'allow', text: null, by: 'coordinator', at }
};
const call = '["Bash",{"command":"make"}]';
const unanswered = { decision: null, by: 'timeout' } as const;

test.each<[string, Ask, Partial<AskAnswer>, string]>([
  [
    'an allowed call',
    ask,
    {},
    'Your call of Bash with {"command":"make"} is now allowed, once. Make exactly this call again.'
  ],
  [
    'a denied call',
    ask,
    { decision: 'deny', text: 'Use npm.' },
    'Your call of Bash with {"command":"make"} is denied by the coordinator. Do not make it again. Use npm.'
  ],
  [
    'a call that was not decided in time',
    ask,
    { decision: 'deny', by: 'timeout' },
    'Your call of Bash with {"command":"make"} is denied, because no answer came in time. Do not make it again.'
  ],
  [
    'a question with an answer',
    question,
    { decision: null, text: 'spaces' },
    'Your question was: Tabs?\nThe answer of the coordinator is: spaces'
  ],
  [
    'a question without one',
    question,
    unanswered,
    'Your question was: Tabs?\nNo answer came. Decide yourself, and say in your result what you assumed.'
  ]
])('%s is described in the prompt', (_title, one, given, text) => {
  const decided = { ask: one, answer: { ...answer, ...given }, call };
  expect(resumePrompt([decided]).split('\n\n')[1]).toBe(text);
});

test('all answers are in one prompt', () => {
  const decided = [
    { ask, answer, call: undefined },
    { ask: question, answer: { ...answer, ...unanswered }, call: undefined }
  ];
  const prompt = resumePrompt(decided);
  expect(prompt).toContain('Your call of Bash with its input is now allowed');
  expect(prompt).toContain('Your question was: Tabs?');
  expect(prompt).toMatch(/Then go on with your task\.$/);
});
