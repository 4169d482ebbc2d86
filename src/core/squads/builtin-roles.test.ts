import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../test/kit/judges/documents.ts';
import { RoleRepository } from './role-repository.ts';

const builtin = join(packageRoot, 'agents');
const directories = { builtin, own: join(builtin, 'none') };
const { roles, faults } = await new RoleRepository(
  directories,
  () => undefined
).all();

const ids = roles.map(({ id }) => id);

/** Matches in the roles' files, as `id:line: match`. */
function matchesOf(pattern: RegExp, ...apartFrom: string[]): string[] {
  return roles.flatMap(({ id, path }) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        [...line.matchAll(pattern)]
          .map(([what]) => what)
          .filter((what) => !apartFrom.includes(what))
          .map((what) => `${id}:${index + 1}: ${what}`)
      )
  );
}

test('there are enough roles, among them the most requested ones', () => {
  expect(faults).toEqual([]);
  expect(ids.length).toBeGreaterThanOrEqual(24);
  for (const id of [
    'frontend-developer',
    'backend-developer',
    'qa-engineer',
    'architect'
  ])
    expect(ids).toContain(id);
});

test('an id is lower case with hyphens, and equals the name', () => {
  for (const { id, name } of roles) {
    expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(name).toBe(id);
  }
});

test('a head has name and description, optionally access, and nothing else', () => {
  for (const { id, path } of roles) {
    const [, head = ''] = readFileSync(path, 'utf8').split(/^---$/m);
    const keys = [...head.matchAll(/^(\w+):/gm)].map(([, key]) => key);
    expect(keys.slice(0, 2), id).toEqual(['name', 'description']);
    expect(['', 'access'], id).toContain(keys.slice(2).join());
  }
});

test('a description has 80 to 240 characters', () => {
  const wrong = roles
    .map(({ id, description }) => `${id}: ${description.length}`)
    .filter((line) => !/: (8\d|9\d|1\d\d|2[0-3]\d|240)$/.test(line));
  expect(wrong).toEqual([]);
});

/** Words that may be ids, such as `data-engineer` and `planner`. */
function namedIn(description: string): string[] {
  const lastParts = new Set(ids.map((id) => id.split('-').at(-1) ?? ''));
  return [...description.matchAll(/\b[a-z]+(?:-[a-z]+)*\b/g)]
    .map(([word]) => word)
    .filter(
      (word) =>
        ids.includes(word) ||
        (word.includes('-') && lastParts.has(word.split('-').at(-1) ?? ''))
    );
}

test('every role that a description names exists and is a different role', () => {
  expect(namedIn('Ask the chief-architect, a planner or third-party.')).toEqual(
    ['chief-architect', 'planner']
  );
  for (const { id, description } of roles) {
    const named = namedIn(description);
    expect(named, `${id} tells no neighbour apart`).not.toEqual([]);
    for (const other of named) {
      expect(ids, id).toContain(other);
      expect(other).not.toBe(id);
    }
  }
});

test('a body has 40 to 120 lines', () => {
  for (const { id, body } of roles) {
    const lines = body.split('\n').length;
    expect(lines, id).toBeGreaterThanOrEqual(40);
    expect(lines, id).toBeLessThanOrEqual(120);
  }
});

test('a body fits between "# Role" and "---"', () => {
  expect(matchesOf(/^# .*/g)).toEqual([]);
  for (const { id, body } of roles) {
    expect(body, id).not.toMatch(/^(---|===)[-=]*\s*$/m);
    expect((body.match(/^ *(```|~~~)/gm) ?? []).length % 2, id).toBe(0);
  }
});

test('files are ASCII without tabs or trailing blanks, up to 100 columns wide', () => {
  expect(matchesOf(/[^\x20-\x7e]/g)).toEqual([]);
  expect(matchesOf(/ +$/g)).toEqual([]);
  const long = roles.flatMap(({ id, body }) =>
    body
      .split('\n')
      .filter((line) => line.length > 100)
      .map((line) => `${id}: ${line}`)
  );
  expect(long).toEqual([]);
});

test('no role names a vendor, a model or a part of troupe', () => {
  const vendors =
    /\b(anthropic|claude|sonnet|opus|haiku|openai|chatgpt|gpt|codex|copilot|gemini|gemma|grok|mistral|codestral|llama|deepseek|qwen|cursor-agent|aider|devin|windsurf)\b/gi;
  const ours =
    /\b(troupe|mcp|squads?|orchestrat\w*|rehearsal|subagents?|sub-agents?|list_roles|start_squad_members|chatId)\b/gi;
  expect(matchesOf(vendors)).toEqual([]);
  // Only with a capital: in lower case, a cursor is a position in a list.
  expect(matchesOf(/\bCursor\b/g)).toEqual([]);
  expect(matchesOf(ours)).toEqual([]);
});

test('no role has a phrase that would fit any role', () => {
  const stock =
    /\b(world[- ]class|best[- ]practices?|high[- ]quality|ensure quality|cutting[- ]edge|state[- ]of[- ]the[- ]art|industry[- ]standard|industry[- ]leading|enterprise[- ]grade|production[- ]ready|battle[- ]tested|seamless\w*|leverag(e|es|ing)|holistic\w*|synerg\w+|meticulous\w*|passionate\w*|deep understanding|deep expertise|extensive experience|years of experience|expert in|seasoned|unparalleled|elevate|empower\w*|delve|deliver value|attention to detail|proven track record|you are an? (expert|experienced|senior|highly))\b/gi;
  expect(matchesOf(stock)).toEqual([]);
});

/** All sequences of three words. */
function shingles(text: string): Set<string> {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return new Set(
    words
      .slice(2)
      .map((word, index) => [words[index], words[index + 1], word].join(' '))
  );
}

/** The share of the shorter text's sequences that the other text has, too. */
function similarity(one: string, other: string): number {
  const [few, many] = [shingles(one), shingles(other)].sort(
    (a, b) => a.size - b.size
  );
  if (!few || !many || few.size === 0) return 1;
  return [...few].filter((run) => many.has(run)).length / few.size;
}

/** Independent texts on such subjects share about 2 %. */
const maximumSimilarity = 0.08;

test('no two bodies are alike', () => {
  const pairs = roles
    .flatMap((one, index) =>
      roles.slice(index + 1).map((other) => ({
        share: similarity(one.body, other.body),
        pair: `${one.id} and ${other.id}`
      }))
    )
    .sort((a, b) => b.share - a.share);
  const [worst] = pairs;
  const message = `${worst?.pair} share ${((worst?.share ?? 1) * 100).toFixed(1)} % of their runs of three words`;
  console.info(message);
  expect(worst?.share, message).toBeLessThan(maximumSimilarity);
});

test('a copy with every fifth word changed is detected', () => {
  for (const { id, body } of roles) {
    const copy = body
      .split(/\s+/)
      .map((word, index) => (index % 5 === 0 ? `other${index}` : word))
      .join(' ');
    expect(similarity(body, copy), id).toBeGreaterThan(3 * maximumSimilarity);
  }
});

test('no two descriptions are alike', () => {
  for (const [index, one] of roles.entries())
    for (const other of roles.slice(index + 1))
      expect(
        similarity(one.description, other.description),
        `${one.id} and ${other.id}`
      ).toBeLessThan(0.25);
});
