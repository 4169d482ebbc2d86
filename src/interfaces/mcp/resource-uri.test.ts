import { describe, expect, test } from 'vitest';
import { placeOf, ResourceError } from './resource-uri.ts';

function refusalOf(uri: string): ResourceError {
  try {
    placeOf(uri);
  } catch (error) {
    if (error instanceof ResourceError) return error;
    throw error;
  }
  throw new Error(`${uri} was taken.`);
}

describe('the URI of a resource', () => {
  test.each([
    ['agent://1a2b3c4d/outbox', 'outbox', 200],
    ['agent://1a2b3c4d/outbox?tail=1', 'outbox', 1],
    ['agent://1a2b3c4d/outbox?tail=1000', 'outbox', 1000],
    ['agent://1a2b3c4d/meta', 'meta', 200],
    ['run://1a2b3c4d/broadcast', 'broadcast', 200],
    ['run://1a2b3c4d/broadcast?tail=37', 'broadcast', 37]
  ])('%s leads to its place', (uri, kind, tail) => {
    expect(placeOf(uri)).toEqual({
      kind,
      uri: uri.split('?')[0],
      id: '1a2b3c4d',
      tail
    });
  });

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
  ])('refuses tail=%s and says what it may be', (tail, shown) => {
    const { code, message } = refusalOf(`agent://1a2b3c4d/outbox?tail=${tail}`);
    expect(code).toBe(-32602);
    expect(message).toBe(
      `tail is one whole number from 1 to 1000, not ${shown}. events_read tells all events, page by page.`
    );
  });

  test.each([
    ['agent://1a2b3c4d/meta?tail=5', 'tail'],
    ['agent://1a2b3c4d/outbox?since=5', 'since'],
    ['run://1a2b3c4d/broadcast?tail=5&x', 'x']
  ])('refuses a parameter that the resource has not: %s', (uri, name) => {
    const { code, message } = refusalOf(uri);
    expect(code).toBe(-32602);
    expect(message).toContain(`no parameter "${name}"`);
  });

  test.each([
    'agent://1a2b3c4d/inbox',
    'agent://1a2b3c4d/outbox/',
    'agent://1a2b3c4d',
    'agent:///outbox',
    'agent://1a2b3c4d/broadcast',
    'run://1a2b3c4d/outbox',
    'file:///etc/hosts',
    'agent://1a2b3c4d/outbox#end',
    'not a uri'
  ])('names the resources there are, where there is none: %s', (uri) => {
    const { code, message, data } = refusalOf(uri);
    expect(code).toBe(-32002);
    expect(message).toContain(`There is no resource "${uri}".`);
    expect(message).toContain('agent://<agent_id>/outbox');
    expect(data).toEqual({ uri });
  });
});
