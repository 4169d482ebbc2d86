import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostileText } from '../../../test/kit/judges/hostile-text.ts';
import {
  openCouncil,
  responseOf
} from '../../../test/kit/servers/council-states.ts';
import { requestOf } from './state.ts';
import { summonPrompt } from './summon-prompt.ts';

const request = requestOf(openCouncil());
if (!request) throw new Error('There is no request.');

test('the request comes first, byte for byte', () => {
  fc.assert(
    fc.property(hostileText, (content) => {
      const prompt = summonPrompt('codex', { ...request, content }, []);
      expect(prompt.startsWith(`${content}\n\n# What this is\n`)).toBe(true);
      expect(prompt).not.toContain('# The responses so far');
    })
  );
});

test('neither a response nor a name can add a heading', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(hostileText, hostileText), { minLength: 1 }),
      (pairs) => {
        const responses = pairs.map(([author, content], index) =>
          responseOf(`r${index}`, author, content)
        );
        const prompt = summonPrompt('codex', request, responses);
        const [, quoted = ''] = prompt.split('\n# The responses so far\n');
        const lines = quoted.split('\n');
        expect(lines.filter((line) => /^#/.test(line))).toHaveLength(
          pairs.length
        );
        expect(
          lines
            .filter((line) => line.startsWith('> '))
            .map((line) => line.slice(2))
        ).toEqual(pairs.flatMap(([, content]) => content.split('\n')));
      }
    )
  );
});

test('of many responses the newest are included, with the count of the rest', () => {
  const responses = [1, 2, 3, 4].map((number) =>
    responseOf(`r${number}`, `agent-${number}`, `${number}`.repeat(90_000))
  );
  const prompt = summonPrompt('codex', request, responses);
  expect(prompt).toContain('The 2 before these are left out here.');
  expect(prompt.match(/^## .*$/gm)).toEqual(['## agent-3', '## agent-4']);
});

test('the last response is always included, truncated to the limit', () => {
  const responses = [
    responseOf('r1', 'grok', 'Short.'),
    responseOf('r2', 'codex', 'x'.repeat(300_000))
  ];
  const prompt = summonPrompt('claude', request, responses);
  expect(prompt.match(/^## .*$/gm)).toEqual(['## codex']);
  expect(prompt).toContain(`> ${'x'.repeat(200_000)} …`);
});
