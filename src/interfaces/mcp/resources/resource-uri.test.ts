import { describe, expect, test } from 'vitest';
import { ProtocolError } from '../transport/protocol.ts';
import { parseUri } from './resource-uri.ts';

function refusalOf(uri: string): ProtocolError {
  try {
    parseUri(uri);
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
  throw new Error(`${uri} was accepted.`);
}

describe('the URI of a resource', () => {
  test.each([
    ['agent://1a2b3c4d/outbox', 'outbox', 200],
    ['agent://1a2b3c4d/outbox?tail=1', 'outbox', 1],
    ['agent://1a2b3c4d/outbox?tail=1000', 'outbox', 1000],
    ['agent://1a2b3c4d/meta', 'meta', 200],
    ['run://1a2b3c4d/broadcast', 'broadcast', 200],
    ['run://1a2b3c4d/broadcast?tail=37', 'broadcast', 37]
  ])('%s is parsed', (uri, kind, tail) => {
    expect(parseUri(uri)).toEqual({
      kind,
      uri: uri.split('?')[0],
      id: '1a2b3c4d',
      tail
    });
  });

  test.each([
    ['agents/1a2b3c4d/output', 'output', '1a2b3c4d', undefined],
    ['agents/1a2b3c4d/output?offset=0', 'output', '1a2b3c4d', 0],
    ['agents/1a2b3c4d/output?offset=20000', 'output', '1a2b3c4d', 20_000],
    ['agents/1a2b3c4d/record', 'record', '1a2b3c4d', undefined],
    ['log/IAC.md', 'log', 'IAC.md', undefined],
    ['log/CONTEXT.md?offset=5', 'log', 'CONTEXT.md', 5]
  ])('troupe://%s is parsed', (rest, kind, id, offset) => {
    const uri = `troupe://${rest}`;
    const [plain] = uri.split('?');
    expect(parseUri(uri)).toMatchObject({ kind, uri: plain, id });
    expect(parseUri(uri).offset).toBe(offset);
  });

  test.each(['-1', '1.5', '1e3', '', 'x', '1&offset=2', '9'.repeat(16)])(
    'refuses offset=%s',
    (offset) => {
      const uri = `troupe://agents/1a2b3c4d/output?offset=${offset}`;
      const { code, message } = refusalOf(uri);
      expect(code).toBe(-32602);
      expect(message).toMatch(/^offset is one whole number of characters/);
    }
  );

  test.each([
    ['0', '"0"'],
    ['-1', '"-1"'],
    ['+1', '" 1"'],
    ['01', '"01"'],
    ['1.5', '"1.5"'],
    ['1e2', '"1e2"'],
    ['abc', '"abc"'],
    ['', '""'],
    ['1001', '"1001"'],
    ['9'.repeat(400), `"${'9'.repeat(60)}…"`],
    ['%31', '"1"'],
    ['1&tail=2', '"1", "2"']
  ])('refuses tail=%s and names the valid range', (tail, shown) => {
    const { code, message } = refusalOf(`agent://1a2b3c4d/outbox?tail=${tail}`);
    expect(code).toBe(-32602);
    expect(message).toBe(
      `tail is one whole number from 1 to 1000, not ${shown}. events_read returns all events, page by page.`
    );
  });

  test.each([
    ['agent://1a2b3c4d/meta?tail=5', 'tail'],
    ['agent://1a2b3c4d/outbox?since=5', 'since'],
    ['run://1a2b3c4d/broadcast?tail=5&x', 'x'],
    ['troupe://agents/1a2b3c4d/output?tail=5', 'tail'],
    ['troupe://agents/1a2b3c4d/record?offset=5', 'offset'],
    ['troupe://log/IAC.md?tail=5', 'tail']
  ])('refuses a parameter that the resource does not have: %s', (uri, name) => {
    const { code, message } = refusalOf(uri);
    expect(code).toBe(-32602);
    expect(message).toContain(`no parameter "${name}"`);
  });

  test('an error does not repeat an endless URI', () => {
    const many = 'tail=x&'.repeat(100_000);
    for (const uri of [`file:///${many}`, `agent://1a2b3c4d/outbox?${many}`])
      expect(JSON.stringify(refusalOf(uri)).length).toBeLessThan(1000);
  });

  test.each([
    'agent://1a2b3c4d/inbox',
    'agent://1a2b3c4d/outbox/',
    'agent://1a2b3c4d',
    'agent:///outbox',
    'agent://1a2b3c4d/broadcast',
    'run://1a2b3c4d/outbox',
    'troupe://log/iac.jsonl',
    'troupe://log/../IAC.md',
    'troupe://agents/1a2b3c4d',
    'troupe://agents/1a2b3c4d/stderr',
    'file:///etc/hosts',
    'agent://1a2b3c4d/outbox#end',
    'not a uri'
  ])('an error for an unknown URI lists the known ones: %s', (uri) => {
    const { code, message, data } = refusalOf(uri);
    expect(code).toBe(-32002);
    expect(message).toContain(`There is no resource "${uri}".`);
    expect(message).toContain('agent://<agent_id>/outbox');
    expect(data).toEqual({ uri });
  });
});
