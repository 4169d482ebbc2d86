import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { emptyState, stateSchema } from './state.ts';
import { StateFile } from './state-file.ts';

/** A file that the published `agents-council` 0.4.0 wrote. */
const recorded = readFileSync(
  join(import.meta.dirname, 'fixtures/agents-council-0.4.0.json'),
  'utf8'
);

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'troupe-published-'));
  path = join(directory, 'state.json');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('a file of the published program, version 1', () => {
  test('is read with our key names, without losing any text', () => {
    const state = fileWith(recorded).read();
    const file = JSON.parse(recorded);
    const [request] = file.requests;
    const { conclusion } = file.session;
    expect(state).toEqual({
      version: 1,
      session: {
        id: file.session.id,
        status: 'closed',
        created_at: file.session.createdAt,
        current_request_id: request.id,
        conclusion: {
          author: conclusion.author,
          content: 'Done\n👩‍👩‍👧',
          created_at: conclusion.createdAt
        }
      },
      requests: [
        {
          id: request.id,
          content: 'Which name?\nOne line 😀 "quoted" \\ createdAt',
          created_by: 'alice',
          created_at: request.createdAt,
          status: 'closed'
        }
      ],
      feedback: [
        ['bob 한글', 'First 😀\n\n## heading\ttab'],
        ['alice', 'Second \u0007']
      ].map(([author, content], index) => ({
        id: file.feedback[index].id,
        request_id: request.id,
        author,
        content,
        created_at: file.feedback[index].createdAt
      })),
      participants: ['alice', 'bob 한글'].map((agent_name, index) => ({
        agent_name,
        last_seen: file.participants[index].lastSeen,
        last_request_seen: request.id,
        last_feedback_seen: file.feedback[1].id
      }))
    });
  });

  test('is unchanged after a read', () => {
    fileWith(recorded).read();
    expect(readdirSync(directory)).toEqual(['state.json']);
    expect(text('state.json')).toBe(recorded);
  });

  test('is backed up byte for byte before the first write', () => {
    const file = fileWith(recorded);
    file.write(file.read());
    expect(text('state.json.v1.bak')).toBe(recorded);
    expect(stateSchema().parse(JSON.parse(text('state.json')))).toEqual(
      fileWith(recorded).read()
    );
  });

  test('is backed up under a number if an earlier backup has the name', () => {
    for (const request of ['one', 'two', 'two', 'three']) {
      const file = fileWith(recorded.replace('Which name?', request));
      file.write(file.read());
    }
    const backups = ['', '.2', '.3'].map((more) =>
      text(`state.json.v1.bak${more}`)
    );
    expect(backups).toEqual(
      ['one', 'two', 'three'].map((request) =>
        recorded.replace('Which name?', request)
      )
    );
    expect(existsSync(join(directory, 'state.json.v1.bak.4'))).toBe(false);
  });

  test('keeps unknown keys, and values that look like our names', () => {
    const odd = { ...JSON.parse(recorded), madeBy: { theirKey: 'aValue' } };
    expect(fileWith(JSON.stringify(odd)).read()).toMatchObject({
      made_by: { their_key: 'aValue' }
    });
  });
});

describe('a file of the published program, version 2', () => {
  test('is read as its active session; a write archives the others', () => {
    const original = secondVersion('s2');
    const file = fileWith(original);
    const state = file.read();
    expect(state).toMatchObject({
      version: 1,
      session: { id: 's2', current_request_id: 'r-s2' },
      requests: [{ id: 'r-s2', content: 'request of s2' }],
      feedback: [{ id: 'f-s2', author: 'bob', content: 'words in s2' }],
      participants: [{ agent_name: 'bob', last_feedback_seen: 'f-s2' }]
    });
    expect(state.feedback).toHaveLength(1);
    file.write(state);
    expect(text('state.json.v2.bak')).toBe(original);
    expect(archived()).toEqual(['s1.json', 's3.json']);
    for (const id of ['s1', 's3'])
      expect(
        stateSchema().parse(JSON.parse(text(`history/${id}.json`)))
      ).toMatchObject({
        session: { id },
        requests: [{ content: `request of ${id}` }],
        feedback: [{ content: `words in ${id}` }],
        participants: [{ agent_name: 'bob' }]
      });
  });

  for (const active of [null, 'gone'])
    test(`has no current session when the active one is ${active}, and archives all`, () => {
      const file = fileWith(secondVersion(active));
      const state = file.read();
      expect(state).toMatchObject({ session: null, feedback: [] });
      file.write(state);
      expect(archived()).toEqual(['s1.json', 's2.json', 's3.json']);
    });

  test('never names a file outside history, whatever its session ids are', () => {
    const original = secondVersion('s2').replaceAll('"s1"', '"../../s1"');
    const file = fileWith(original);
    file.write(file.read());
    expect(archived()).toEqual(['Li4vLi4vczE.json', 's3.json']);
  });
});

describe('a file that is not a council', () => {
  const wrong = {
    'is empty': '',
    'has only white space': ' \n',
    'is not JSON': '{"version": 1,',
    'is a list': '[]',
    'has a later version': '{"version": 3, "sessions": []}',
    'has nothing but a version': '{"version": 1}',
    'lacks the author of a response': recorded.replace('"author"', '"by"'),
    'lacks the id of a session': secondVersion('s2').replace('"id":"s1",', '')
  };
  for (const [what, contents] of Object.entries(wrong))
    test(`and ${what} is reported, and left unchanged`, () => {
      const file = fileWith(contents);
      const invalid = expect.objectContaining({
        code: 'state_invalid',
        message: expect.stringContaining(path)
      });
      expect(() => file.read()).toThrow(invalid);
      expect(() => file.write(emptyState)).toThrow(invalid);
      expect(text('state.json')).toBe(contents);
      expect(readdirSync(directory)).toEqual(['state.json']);
    });

  test('and is a symbolic link is not followed', () => {
    writeFileSync(join(directory, 'elsewhere.json'), recorded);
    symlinkSync(join(directory, 'elsewhere.json'), path);
    expect(() => new StateFile(path).read()).toThrow(/symbolic link/);
  });
});

function fileWith(contents: string): StateFile {
  writeFileSync(path, contents);
  return new StateFile(path);
}

function text(name: string): string {
  return readFileSync(join(directory, name), 'utf8');
}

function archived(): string[] {
  const names = readdirSync(join(directory, 'history'));
  return names.filter((name) => name !== '.gitignore').sort();
}

function secondVersion(activeSessionId: string | null): string {
  const at = '2026-01-02T03:04:05.678Z';
  const ids = ['s1', 's2', 's3'];
  return JSON.stringify({
    version: 2,
    activeSessionId,
    sessions: ids.map((id) => ({
      id,
      status: id === 's2' ? 'active' : 'closed',
      createdAt: at,
      currentRequestId: `r-${id}`,
      conclusion:
        id === 's2' ? null : { author: 'bob', content: 'so', createdAt: at }
    })),
    requests: ids.map((id) => ({
      id: `r-${id}`,
      sessionId: id,
      content: `request of ${id}`,
      createdBy: 'alice',
      createdAt: at,
      status: id === 's2' ? 'open' : 'closed'
    })),
    feedback: ids.map((id) => ({
      id: `f-${id}`,
      sessionId: id,
      requestId: `r-${id}`,
      author: 'bob',
      content: `words in ${id}`,
      createdAt: at
    })),
    participants: ids.map((id) => ({
      sessionId: id,
      agentName: 'bob',
      lastSeen: at,
      lastRequestSeen: `r-${id}`,
      lastFeedbackSeen: `f-${id}`
    }))
  });
}
